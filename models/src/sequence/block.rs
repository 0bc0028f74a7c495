//! Residual blocks of sequence models.

use burn::tensor::activation::{gelu, glu};

use super::kernels::{DiagonalStateSpace, DirectKernel, HyenaOperator};
use crate::channel_linear::ChannelLinear;
use crate::prelude::*;

/// Hidden channels of linear layers behind a Hyena operator, per channel of it.
const FEED_FORWARD_FACTOR: usize = 4;

/// Mixer of the samples of a block.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "a model has a handful of blocks")]
pub enum Mixer {
    /// Convolution with learned taps.
    Direct(DirectKernel),
    /// Convolution with the responses of state spaces.
    Diagonal(DiagonalStateSpace),
    /// Hyena operator.
    Hyena(HyenaOperator),
}

impl Mixer {
    fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        match self {
            Self::Direct(kernel) => kernel.try_forward(signal),
            Self::Diagonal(spaces) => spaces.try_forward(signal),
            Self::Hyena(operator) => operator.try_forward(signal),
        }
    }
}

/// Layers over channels behind the mixer of a block.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "a model has a handful of blocks")]
pub enum Channels {
    /// Gaussian error linear unit, and a gated linear unit.
    Gated(ChannelLinear),
    /// Residual connection, and a second one around two linear layers.
    FeedForward(FeedForward),
}

/// Normalisation, and two linear layers over channels with a Gaussian error linear unit between them.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::sequence::Channels;
/// use firefly_models::HyenaConfig;
///
/// let model = HyenaConfig::new().with_width(8).init(&Device::flex());
/// let Channels::FeedForward(layers) = &model.stack.blocks[0].channels else { panic!("{}", model.config()) };
/// assert_eq!(layers.hidden.weight.dims(), [32, 8]); // [out, in]
/// assert_eq!(layers.output.weight.dims(), [8, 32]);
/// ```
#[derive(Module, Debug)]
pub struct FeedForward {
    /// The normalisation.
    pub norm: LayerNorm,
    /// Linear layer to four times as many channels.
    pub hidden: ChannelLinear,
    /// Back again.
    pub output: ChannelLinear,
}

/// Residual block of a sequence model.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::S4dConfig;
///
/// let device = Device::flex();
/// let model = S4dConfig::new().with_width(8).init(&device);
/// let block = &model.stack.blocks[0];
/// assert_eq!(block.forward(Tensor::<3>::ones([4, 8, 100], &device)).dims(), [4, 8, 100]);
/// ```
#[derive(Module, Debug)]
pub struct SequenceBlock {
    /// Normalisation over channels, before the mixer.
    pub norm: LayerNorm,
    /// Mixer of samples.
    pub mixer: Mixer,
    /// Layers over channels.
    pub channels: Channels,
}

impl SequenceBlock {
    /// The untrained block of `width` channels around a mixer.
    pub(super) fn new(mixer: Mixer, width: usize, device: &Device) -> Self {
        let norm = || LayerNormConfig::new(width).init(device);
        let channels = match mixer {
            Mixer::Direct(_) | Mixer::Diagonal(_) => Channels::Gated(ChannelLinear::new(width, 2 * width, device)),
            Mixer::Hyena(_) => {
                let hidden = FEED_FORWARD_FACTOR * width;
                Channels::FeedForward(FeedForward {
                    norm: norm(),
                    hidden: ChannelLinear::new(width, hidden, device),
                    output: ChannelLinear::new(hidden, width, device),
                })
            }
        };
        Self { norm: norm(), mixer, channels }
    }

    or_panic! { forward = try_forward(signal: Tensor<3>) -> Tensor<3> }

    /// The block on a signal `[batch, width, n]`.
    ///
    /// # Errors
    /// As [`long_conv`](firefly_ops::long_conv); for a signal of another number of channels.
    pub fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        let ([_, channels, _], [width]) = (signal.dims(), self.norm.gamma.dims());
        let (got, expected) = (format!("of {channels} channels"), format!("of {width}"));
        ensure(channels == width, "SequenceBlock", "signal", got, expected)?;
        let mixed = self.mixer.try_forward(over_channels(&self.norm, signal.clone()))?;
        Ok(match &self.channels {
            Channels::Gated(linear) => signal + glu(linear.forward(gelu(mixed)), 1),
            Channels::FeedForward(layers) => {
                let sum = signal + mixed;
                let hidden = layers.hidden.forward(over_channels(&layers.norm, sum.clone()));
                sum + layers.output.forward(gelu(hidden))
            }
        })
    }
}

/// Normalisation over the channels of a signal `[batch, channels, n]`.
pub(super) fn over_channels(norm: &LayerNorm, signal: Tensor<3>) -> Tensor<3> {
    norm.forward(signal.swap_dims(1, 2)).swap_dims(1, 2)
}
