//! Sequence models whose layers are long convolutions: learned kernels, state spaces, and Hyena.

mod block;

use crate::channel_linear::ChannelLinear;
use crate::prelude::*;
use block::over_channels;
pub use block::{
    Channels, DiagonalStateSpace, DirectKernel, FeedForward, HyenaFilter, HyenaOperator, Mixer, SequenceBlock,
};

/// Declares a configuration with the fields that all sequence models have.
macro_rules! sequence_config {
    ($(#[$doc:meta])* $config:ident; $($field:tt)*) => {
        limited_config! {
            $(#[$doc])* $config;
            /// Channels of the input.
            in_channels: usize = 1, 1.0;
            /// Values of the output.
            outputs: usize = 10, 1.0;
            /// Channels of the layers.
            width: usize = 64, 1.0;
            /// Number of layers.
            layers: usize = 4, 1.0, MAX_DEPTH;
            /// Samples of the declared inputs.
            length: usize = 1024, 2.0;
            $($field)*
        }
    };
}

sequence_config! {
    /// Configuration of [`LongConv`].
    ///
    /// ```
    /// use firefly_models::LongConvConfig;
    ///
    /// let config = LongConvConfig::new().with_width(32).with_length(8_000);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_layers(0).validate().unwrap_err().to_string().contains("`layers` is 0"));
    /// ```
    LongConvConfig;
    /// Soft threshold: taps are moved towards 0 by this distance before they are used, and smaller ones become 0.
    threshold: f64 = 0.001, 0.0;
}

sequence_config! {
    /// Configuration of [`S4d`].
    ///
    /// ```
    /// use firefly_models::S4dConfig;
    ///
    /// let config = S4dConfig::new().with_length(8_000).with_states(64);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_states(0).validate().unwrap_err().to_string().contains("`states` is 0"));
    /// ```
    S4dConfig;
    /// Complex states per channel; each stands for itself and its conjugate.
    states: usize = 32, 1.0;
}

sequence_config! {
    /// Configuration of [`Hyena`].
    ///
    /// ```
    /// use firefly_models::HyenaConfig;
    ///
    /// let config = HyenaConfig::new().with_length(8_000).with_order(3);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_order(1).validate().unwrap_err().to_string().contains("`order` is 1"));
    /// ```
    HyenaConfig;
    /// Products by a projection of the input, at most 64: one more than there are long convolutions.
    order: usize = 2, 2.0, 64;
    /// Number of frequencies whose sine and cosine at the position are inputs of the filters' network.
    frequencies: usize = 1, 1.0;
    /// Hidden units of the filters' network.
    filter_width: usize = 64, 1.0;
}

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

impl SequenceStack {
    /// The untrained stack of a block per mixer.
    fn new([in_channels, width, outputs]: [usize; 3], mixers: impl Iterator<Item = Mixer>, device: &Device) -> Self {
        Self {
            encoder: ChannelLinear::new(in_channels, width, device),
            blocks: mixers.map(|mixer| SequenceBlock::new(mixer, width, device)).collect(),
            norm: LayerNormConfig::new(width).init(device),
            head: LinearConfig::new(width, outputs).init(device),
        }
    }

    /// Values of every sample `[batch, width, n]` of a signal `[batch, in_channels, n]`, each a function of the samples
    /// up to it.
    fn try_features(&self, signal: Tensor<3>) -> Result<Tensor<3>> {
        let encoded = self.encoder.forward(signal);
        let features = self.blocks.iter().try_fold(encoded, |signal, block| block.try_forward(signal))?;
        Ok(over_channels(&self.norm, features))
    }

    fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<2>> {
        let mean: Tensor<2> = self.try_features(signal)?.mean_dim(2).squeeze_dim(2);
        Ok(self.head.forward(mean))
    }
}

/// Declares a model and its family: name, configuration, mixer, the longest signal it takes, card and variants.
macro_rules! sequence_model {
    (
        $(#[$doc:meta])* $model:ident, $config:ident, $mixer:expr, $longest:expr;
        $name:literal;
        $variants:expr
    ) => {
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
            fn new(config: &$config, device: &Device) -> Result<Self> {
                let $config { in_channels, width, layers, outputs, .. } = *config;
                let mixer: fn(&$config, &Device) -> Mixer = $mixer;
                let mixers = (0..layers).map(|_| mixer(config, device));
                let stack = SequenceStack::new([in_channels, width, outputs], mixers, device);
                Ok(Self { stack, config: config.clone() })
            }

            or_panic! { forward = try_forward(signal: Tensor<3>) -> Tensor<2> }

            /// Outputs `[batch, outputs]` for signals `[batch, in_channels, n]`.
            ///
            /// # Errors
            /// [`ArgumentError`] for a signal of other channels, without samples, or longer than the model takes.
            pub fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<2>> {
                self.check(&signal)?;
                self.stack.try_forward(signal)
            }

            or_panic! { features = try_features(signal: Tensor<3>) -> Tensor<3> }

            /// Values of every sample before the mean, `[batch, width, n]`: each a function of the samples up to it.
            ///
            /// # Errors
            /// As [`try_forward`](Self::try_forward).
            pub fn try_features(&self, signal: Tensor<3>) -> Result<Tensor<3>> {
                self.check(&signal)?;
                self.stack.try_features(signal)
            }

            fn check(&self, signal: &Tensor<3>) -> Result<()> {
                let longest: fn(&$config) -> usize = $longest;
                let (dims, channels) = (signal.dims(), self.config.in_channels);
                let longest = longest(&self.config);
                let is_signal = dims[1] == channels && (1..=longest).contains(&dims[2]);
                let limit = if longest == usize::MAX { String::new() } else { format!(" and at most {longest}") };
                let expected = format!("[batch, {channels}, samples], with at least 1 sample{limit}");
                ensure(is_signal, stringify!($model), "signal", format_args!("{dims:?}"), expected)
            }
        }

        impl Family for $model {
            configured_by! { $config, $name }

            fn variants() -> Vec<Variant<$config>> {
                $variants
            }

            applied_to! { signal [in_channels, length]: Tensor<3> => Tensor<2>, $name }
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
    |_| usize::MAX;
    "long_conv";
    {
        let config = LongConvConfig::new();
        let tiny = config.clone().with_width(6).with_layers(2).with_length(40).with_outputs(3);
        vec![
            Variant::new("long_conv", "4 layers of 64 channels, 1,024 samples", config),
            Variant::new("long_conv_tiny", "2 layers of 6 channels, 40 samples, for tests", tiny),
        ]
    }
}

sequence_model! {
    /// Sequence model of convolutions with the impulse responses of diagonal state spaces (S4D).
    ///
    /// Residual blocks as those of [`LongConv`], with a [`DiagonalStateSpace`] in each; kernels are as long as the
    /// signal.
    ///
    /// After A. Gu et al., "On the Parameterization and Initialization of Diagonal State Space Models" (2022).
    S4d, S4dConfig,
    |config, device| Mixer::Diagonal(DiagonalStateSpace::new(config.width, config.states, device)),
    |_| usize::MAX;
    "s4d";
    {
        let config = S4dConfig::new();
        let digits = config.clone().with_length(8_000);
        let tiny = config.clone().with_width(6).with_layers(2).with_states(4).with_length(40).with_outputs(3);
        vec![
            Variant::new("s4d", "4 layers of 64 channels with 32 pairs of states, 1,024 samples", config),
            Variant::new("s4d_digits", "the same for one second at 8 kHz", digits),
            Variant::new("s4d_tiny", "2 layers of 6 channels with 4 pairs of states, for tests", tiny),
        ]
    }
}

sequence_model! {
    /// Sequence model of [`HyenaOperator`]s: long convolutions with implicit filters, between products by projections.
    ///
    /// Blocks of two residual connections, around the operator and around two linear layers, each behind a
    /// normalisation.
    ///
    /// After M. Poli et al., "Hyena Hierarchy: Towards Larger Convolutional Language Models" (2023).
    Hyena, HyenaConfig,
    |config, device| Mixer::Hyena(HyenaOperator::new(config, device)),
    |config| config.length;
    "hyena";
    {
        let config = HyenaConfig::new();
        let digits = config.clone().with_length(8_000);
        let tiny = config.clone().with_width(6).with_layers(2).with_filter_width(8).with_length(40).with_outputs(3);
        vec![
            Variant::new("hyena", "order 2, 4 layers of 64 channels, up to 1,024 samples", config),
            Variant::new("hyena_digits", "the same for one second at 8 kHz", digits),
            Variant::new("hyena_tiny", "order 2, 2 layers of 6 channels, for tests", tiny.clone()),
            Variant::new("hyena_order_3_tiny", "order 3, 2 layers of 6 channels, for tests", tiny.with_order(3)),
        ]
    }
}
