//! The encoder.

use burn::module::{Initializer, Module};
use burn::nn::{Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::activation::{gelu_approximate, tanh};
use burn::tensor::{Device, Int, Tensor};
use firefly_ops::fft::fftn;
use firefly_ops::{ArgumentError, Norm};

use super::config::FNetConfig;
use crate::expect_valid;

/// Standard deviation of weights at first.
const DEVIATION: f64 = 0.02;
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
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::FNetConfig;
///
/// let device = Device::flex();
/// let model = FNetConfig::new().with_vocabulary(50).with_width(16).with_feed_forward(32).with_layers(1).init(&device);
/// assert_eq!(model.blocks[0].forward(Tensor::<3>::ones([3, 20, 16], &device)).dims(), [3, 20, 16]);
/// ```
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

impl FNetConfig {
    /// The untrained encoder on `device`.
    ///
    /// # Panics
    /// With the message of [`try_init`](Self::try_init)'s error.
    #[track_caller]
    pub fn init(&self, device: &Device) -> FNet {
        expect_valid(self.try_init(device))
    }

    /// The untrained encoder on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn try_init(&self, device: &Device) -> Result<FNet, ArgumentError> {
        self.validate()?;
        let width = self.width;
        let initializer = Initializer::Normal { mean: 0.0, std: DEVIATION };
        let embedding = |count| EmbeddingConfig::new(count, width).with_initializer(initializer.clone()).init(device);
        let norm = || LayerNormConfig::new(width).with_epsilon(VARIANCE_OFFSET).init(device);
        let linear = |inputs, outputs| {
            let mut layer = LinearConfig::new(inputs, outputs).with_initializer(initializer.clone()).init(device);
            layer.bias = Some(Initializer::Zeros.init([outputs], device));
            layer
        };
        let block = |_| FNetBlock {
            mixing_norm: norm(),
            hidden: linear(width, self.feed_forward),
            output: linear(self.feed_forward, width),
            output_norm: norm(),
        };
        Ok(FNet {
            tokens: embedding(self.vocabulary),
            positions: embedding(self.length),
            norm: norm(),
            projection: linear(width, width),
            blocks: (0..self.layers).map(block).collect(),
            pooler: linear(width, width),
            config: self.clone(),
        })
    }
}

impl FNet {
    /// Values of each token, `[batch, tokens, width]`, for `tokens` `[batch, tokens]` below the size of the vocabulary.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        expect_valid(self.try_forward(tokens))
    }

    /// Values of each token, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// [`ArgumentError`] for sequences without tokens, or with more than the model has positions.
    pub fn try_forward(&self, tokens: Tensor<2, Int>) -> Result<Tensor<3>, ArgumentError> {
        let [_, length] = tokens.dims();
        if !(1..=self.config.length).contains(&length) {
            let expected = format!("[batch, tokens], from 1 to {} tokens", self.config.length);
            return Err(ArgumentError::new("FNet", "tokens", format!("{:?}", tokens.dims()), expected));
        }
        let positions = self.positions.weight.val().narrow(0, 0, length).unsqueeze();
        let embedded = self.norm.forward(self.tokens.forward(tokens) + positions);
        self.blocks.iter().try_fold(self.projection.forward(embedded), |values, block| block.try_forward(values))
    }

    /// Values of a whole sequence, `[batch, width]`: the hyperbolic tangent of a linear layer on the first token's
    /// values of `values` `[batch, tokens, width]`.
    pub fn pooled(&self, values: Tensor<3>) -> Tensor<2> {
        tanh(self.pooler.forward(values.narrow(1, 0, 1).squeeze_dim(1)))
    }

    /// Configuration of the model.
    pub fn config(&self) -> &FNetConfig {
        &self.config
    }
}

impl FNetBlock {
    /// The block on values `[batch, tokens, width]`.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, values: Tensor<3>) -> Tensor<3> {
        expect_valid(self.try_forward(values))
    }

    /// Values after the block, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`fftn`].
    pub fn try_forward(&self, values: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        let mixed = fftn(values.clone(), None, Some(&[1, 2]), Norm::Backward)?.re;
        let values = self.mixing_norm.forward(values + mixed);
        let hidden = gelu_approximate(self.hidden.forward(values.clone()));
        Ok(self.output_norm.forward(values + self.output.forward(hidden)))
    }
}
