//! The sequence models.

use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use firefly_ops::ArgumentError;

use super::block::{Mixer, SequenceBlock, over_channels};
use super::config::{HyenaConfig, LongConvConfig, S4dConfig};
use super::hyena::HyenaOperator;
use super::kernels::{DiagonalStateSpace, DirectKernel};
use crate::channel_linear::ChannelLinear;
use crate::ensure;

/// Stack of residual blocks between a linear layer over channels and a linear layer on the mean over samples.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::S4dConfig;
///
/// let stack = S4dConfig::new().with_width(8).with_layers(2).with_outputs(3).init(&Device::flex()).stack;
/// assert_eq!(stack.blocks.len(), 2);
/// assert_eq!(stack.head.weight.dims(), [8, 3]);
/// ```
#[derive(Module, Debug)]
pub struct SequenceStack {
    /// Linear layer from the channels of the input to the width.
    pub encoder: ChannelLinear,
    /// The blocks.
    pub blocks: Vec<SequenceBlock>,
    /// Normalisation behind the blocks.
    pub norm: LayerNorm,
    /// Linear layer from the mean over samples to the outputs.
    pub head: Linear,
}

/// Sizes that all sequence models have.
struct SequenceSizes {
    in_channels: usize,
    width: usize,
    layers: usize,
    outputs: usize,
}

impl SequenceStack {
    fn new(sizes: &SequenceSizes, device: &Device, mixer: impl Fn() -> Mixer) -> Self {
        Self {
            encoder: ChannelLinear::new(sizes.in_channels, sizes.width, device),
            blocks: (0..sizes.layers).map(|_| SequenceBlock::new(mixer(), sizes.width, device)).collect(),
            norm: LayerNormConfig::new(sizes.width).init(device),
            head: LinearConfig::new(sizes.width, sizes.outputs).init(device),
        }
    }

    /// Values of every sample `[batch, width, n]` of a signal `[batch, in_channels, n]`, each a function of the samples
    /// up to it.
    fn try_features(&self, signal: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        let encoded = self.encoder.forward(signal);
        let features = self.blocks.iter().try_fold(encoded, |signal, block| block.try_forward(signal))?;
        Ok(over_channels(&self.norm, features))
    }

    fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<2>, ArgumentError> {
        let mean: Tensor<2> = self.try_features(signal)?.mean_dim(2).squeeze_dim(2);
        Ok(self.head.forward(mean))
    }
}

/// Declares a model: its configuration, its mixer, and the longest signal it takes.
macro_rules! sequence_model {
    ($(#[$doc:meta])* $model:ident, $config:ident, $mixer:expr, $longest:expr) => {
        $(#[$doc])*
        #[derive(Module, Debug)]
        pub struct $model {
            /// The layers.
            pub stack: SequenceStack,
            #[module(skip)]
            config: $config,
        }

        configured! { $model by $config }

        impl $model {
            fn new(config: &$config, device: &Device) -> Result<Self, ArgumentError> {
                let $config { in_channels, width, layers, outputs, .. } = *config;
                let mixer: fn(&$config, &Device) -> Mixer = $mixer;
                let sizes = SequenceSizes { in_channels, width, layers, outputs };
                let stack = SequenceStack::new(&sizes, device, || mixer(config, device));
                Ok(Self { stack, config: config.clone() })
            }

            or_panic! { forward = try_forward(signal: Tensor<3>) -> Tensor<2> }

            /// Outputs `[batch, outputs]` for signals `[batch, in_channels, n]`.
            ///
            /// # Errors
            /// [`ArgumentError`] for a signal of other channels, without samples, or longer than the model takes.
            pub fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<2>, ArgumentError> {
                self.check(&signal)?;
                self.stack.try_forward(signal)
            }

            or_panic! { features = try_features(signal: Tensor<3>) -> Tensor<3> }

            /// Values of every sample before the mean, `[batch, width, n]`: each a function of the samples up to it.
            ///
            /// # Errors
            /// As [`try_forward`](Self::try_forward).
            pub fn try_features(&self, signal: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
                self.check(&signal)?;
                self.stack.try_features(signal)
            }

            fn check(&self, signal: &Tensor<3>) -> Result<(), ArgumentError> {
                let longest: fn(&$config) -> usize = $longest;
                let (dims, channels) = (signal.dims(), self.config.in_channels);
                let longest = longest(&self.config);
                let is_signal = dims[1] == channels && (1..=longest).contains(&dims[2]);
                let limit = if longest == usize::MAX { String::new() } else { format!(" and at most {longest}") };
                let expected = format!("[batch, {channels}, samples], with at least 1 sample{limit}");
                ensure(is_signal, stringify!($model), "signal", format_args!("{dims:?}"), expected)
            }
        }
    };
}

sequence_model! {
    /// Sequence model of convolutions whose kernels are as long as the signal, learned tap by tap.
    ///
    /// Residual blocks of normalisation over channels, a [`DirectKernel`], a Gaussian error linear unit and a gated
    /// linear unit; the outputs are a linear layer on the mean over samples.
    ///
    /// After D. Fu et al., "Simple Hardware-Efficient Long Convolutions for Sequence Modeling" (2023).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::LongConvConfig;
    ///
    /// let device = Device::flex();
    /// let model = LongConvConfig::new().with_width(8).with_layers(2).with_length(100).init(&device);
    /// let signal = Tensor::<3>::ones([4, 1, 100], &device); // [batch, channels, samples]
    /// assert_eq!(model.forward(signal.clone()).dims(), [4, 10]);
    /// assert_eq!(model.features(signal).dims(), [4, 8, 100]); // of every sample
    /// ```
    LongConv, LongConvConfig,
    |config, device| {
        Mixer::Direct(DirectKernel::new(config.width, config.length, config.threshold, device))
    },
    |_| usize::MAX
}

sequence_model! {
    /// Sequence model of convolutions with the impulse responses of diagonal state spaces (S4D).
    ///
    /// Residual blocks as those of [`LongConv`], with a [`DiagonalStateSpace`] in each; kernels are as long as the
    /// signal.
    ///
    /// After A. Gu et al., "On the Parameterization and Initialization of Diagonal State Space Models" (2022).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::S4dConfig;
    ///
    /// let device = Device::flex();
    /// let model = S4dConfig::new().with_width(8).with_layers(2).with_states(4).init(&device);
    /// let signal = Tensor::<3>::ones([4, 1, 100], &device); // [batch, channels, samples]
    /// assert_eq!(model.forward(signal.clone()).dims(), [4, 10]);
    /// assert_eq!(model.features(signal).dims(), [4, 8, 100]); // of every sample
    /// ```
    S4d, S4dConfig,
    |config, device| Mixer::Diagonal(DiagonalStateSpace::new(config.width, config.states, device)),
    |_| usize::MAX
}

sequence_model! {
    /// Sequence model of [`HyenaOperator`]s: long convolutions with implicit filters, between products by projections.
    ///
    /// Blocks of two residual connections, around the operator and around two linear layers, each behind a
    /// normalisation.
    ///
    /// After M. Poli et al., "Hyena Hierarchy: Towards Larger Convolutional Language Models" (2023).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::HyenaConfig;
    ///
    /// let device = Device::flex();
    /// let model = HyenaConfig::new().with_width(8).with_layers(2).with_length(100).init(&device);
    /// let signal = Tensor::<3>::ones([4, 1, 100], &device); // [batch, channels, samples]
    /// assert_eq!(model.forward(signal.clone()).dims(), [4, 10]);
    /// assert_eq!(model.features(signal).dims(), [4, 8, 100]); // of every sample
    /// ```
    Hyena, HyenaConfig,
    |config, device| Mixer::Hyena(HyenaOperator::new(config, device)),
    |config| config.length
}
