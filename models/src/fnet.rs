//! FNet: an encoder of tokens whose mixer is a Fourier transform.

use burn::nn::{Embedding, EmbeddingConfig};
use burn::tensor::DType;
use burn::tensor::activation::{gelu_approximate, tanh};
use firefly_ops::Norm;
use firefly_ops::fft::fftn_with;

use crate::prelude::*;

limited_config! {
    /// Configuration of [`FNet`]; the defaults are those of the paper's base model.
    ///
    /// ```
    /// use firefly_models::FNetConfig;
    ///
    /// let config = FNetConfig::new().with_width(128).with_layers(2);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_vocabulary(0).validate().unwrap_err().to_string().contains("`vocabulary` is 0"));
    /// ```
    FNetConfig;
    /// Number of different tokens.
    vocabulary: usize = 32_000, 1.0;
    /// Largest number of tokens of a sequence, and tokens of the declared inputs.
    length: usize = 512, 1.0;
    /// Values per token.
    width: usize = 768, 1.0;
    /// Hidden values of a block's linear layers.
    feed_forward: usize = 3072, 1.0;
    /// Number of blocks.
    layers: usize = 12, 1.0, MAX_DEPTH;
}

/// Added to a variance before its square root.
const VARIANCE_OFFSET: f64 = 1e-12;

/// Encoder of tokens whose blocks mix by the real part of a Fourier transform along tokens and values.
///
/// Embeddings of tokens and of positions are added, normalised and projected. A block is the normalised sum of its
/// input and the real part of its two-dimensional transform, then the normalised sum of that and two linear layers with
/// a Gaussian error linear unit (by its tanh approximation) between them. Weights are normal with a deviation of 0.02
/// at first, biases 0.
///
/// After J. Lee-Thorp et al., "FNet: Mixing Tokens with Fourier Transforms" (2021), for sequences of one segment.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use firefly_models::FNetConfig;
///
/// let device = Device::flex();
/// let config = FNetConfig::new().with_vocabulary(50).with_width(16).with_feed_forward(32).with_layers(2);
/// let model = config.init(&device);
/// let tokens = Tensor::<2, Int>::ones([3, 20], &device); // [batch, tokens]
/// assert_eq!(model.forward(tokens.clone()).dims(), [3, 20, 16]);
/// assert_eq!(model.pooled(model.forward(tokens)).dims(), [3, 16]);
/// ```
#[derive(Module, Debug)]
pub struct FNet {
    /// Embedding of tokens.
    pub tokens: Embedding,
    /// Embedding of positions.
    pub positions: Embedding,
    /// Normalisation of their sum.
    pub norm: LayerNorm,
    /// Projection of the normalised sum.
    pub projection: Linear,
    /// The blocks.
    pub blocks: Vec<FNetBlock>,
    /// Linear layer on the first token's values.
    pub pooler: Linear,
    #[module(skip)]
    config: FNetConfig,
}

/// Block of [`FNet`].
#[derive(Module, Debug)]
pub struct FNetBlock {
    /// Normalisation behind the transform.
    pub mixing_norm: LayerNorm,
    /// First linear layer.
    pub hidden: Linear,
    /// Second linear layer.
    pub output: Linear,
    /// Normalisation behind the linear layers.
    pub output_norm: LayerNorm,
}

configured! { FNet by FNetConfig }

impl FNet {
    fn new(config: &FNetConfig, device: &Device) -> Result<Self> {
        let width = config.width;
        let embedding = |count| EmbeddingConfig::new(count, width).with_initializer(NORMAL).init(device);
        let norm = || LayerNormConfig::new(width).with_epsilon(VARIANCE_OFFSET).init(device);
        let linear = |inputs, outputs| normal_linear(inputs, outputs, device);
        let block = |_| FNetBlock {
            mixing_norm: norm(),
            hidden: linear(width, config.feed_forward),
            output: linear(config.feed_forward, width),
            output_norm: norm(),
        };
        Ok(Self {
            tokens: embedding(config.vocabulary),
            positions: embedding(config.length),
            norm: norm(),
            projection: linear(width, width),
            blocks: (0..config.layers).map(block).collect(),
            pooler: linear(width, width),
            config: config.clone(),
        })
    }

    or_panic! { forward = try_forward(tokens: Tensor<2, Int>) -> Tensor<3> }

    /// Values of each token, `[batch, tokens, width]`, for `tokens` `[batch, tokens]` below the size of the vocabulary.
    ///
    /// # Errors
    /// [`ArgumentError`] for sequences without tokens, or with more than the model has positions.
    pub fn try_forward(&self, tokens: Tensor<2, Int>) -> Result<Tensor<3>> {
        let (dims @ [_, length], most) = (tokens.dims(), self.config.length);
        let expected = format!("[batch, tokens], from 1 to {most} tokens");
        ensure((1..=most).contains(&length), "FNet", "tokens", format_args!("{dims:?}"), expected)?;
        let positions = self.positions.weight.val().narrow(0, 0, length).unsqueeze();
        let embedded = self.norm.forward(self.tokens.forward(tokens) + positions);
        self.blocks.iter().try_fold(self.projection.forward(embedded), |values, block| block.try_forward(values))
    }

    /// Values of a whole sequence, `[batch, width]`: the hyperbolic tangent of a linear layer on the first token's
    /// values of `values` `[batch, tokens, width]`.
    pub fn pooled(&self, values: Tensor<3>) -> Tensor<2> {
        tanh(self.pooler.forward(values.narrow(1, 0, 1).squeeze_dim(1)))
    }
}

impl FNetBlock {
    or_panic! { forward = try_forward(values: Tensor<3>) -> Tensor<3> }

    /// The block on values `[batch, tokens, width]`.
    ///
    /// # Errors
    /// As [`fftn`](firefly_ops::fft::fftn).
    pub fn try_forward(&self, values: Tensor<3>) -> Result<Tensor<3>> {
        let mixed = fftn_with(values.clone(), None, &[1, 2], Norm::Backward)?.re;
        let values = self.mixing_norm.forward(values + mixed);
        let hidden = gelu_approximate(self.hidden.forward(values.clone()));
        Ok(self.output_norm.forward(values + self.output.forward(hidden)))
    }
}

impl Family for FNet {
    configured_by! { FNetConfig, "fnet" }

    fn variants() -> Vec<Variant<FNetConfig>> {
        let base = FNetConfig::new();
        let large = base.clone().with_width(1024).with_feed_forward(4096).with_layers(24);
        let tiny = base.clone().with_vocabulary(11).with_length(12).with_width(8).with_feed_forward(16).with_layers(2);
        vec![
            Variant::new("fnet", "the paper's base model: 12 blocks of 768 values", base),
            Variant::new("fnet_large", "the paper's large model: 24 blocks of 1,024 values", large),
            Variant::new("fnet_tiny", "2 blocks of 8 values, for tests", tiny),
        ]
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        vec![Input::new("tokens", [batch, FNet::config(self).length]).with_dtype(DType::I64)]
    }

    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>> {
        let [tokens] = exactly("fnet", inputs)?;
        let values = self.try_forward(tokens.try_int::<2>("fnet", "tokens")?)?;
        Ok(vec![values.clone().into(), self.pooled(values).into()])
    }
}
