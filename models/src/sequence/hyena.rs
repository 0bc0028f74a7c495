//! The Hyena operator.

use burn::module::{Module, Param};
use burn::tensor::{Device, Distribution, Tensor};
use firefly_ops::ArgumentError;

use super::causal::convolve;
use super::config::HyenaConfig;
use super::hyena_filter::HyenaFilter;
use crate::channel_linear::ChannelLinear;
use crate::expect_valid;

/// Taps of the short convolutions behind the projections.
const SHORT_TAPS: usize = 3;

/// Hyena operator: long convolutions between products by projections of the input.
///
/// Order + 1 projections of the input, v and x₀, x₁ …, each through a causal convolution of three taps; v is multiplied
/// by the last x, convolved with an implicit filter, multiplied by the x before it, and so on down to x₀; a linear
/// layer follows.
///
/// After M. Poli et al., "Hyena Hierarchy: Towards Larger Convolutional Language Models" (2023).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::{HyenaConfig, Mixer};
///
/// let device = Device::flex();
/// let model = HyenaConfig::new().with_width(8).with_length(100).init(&device);
/// let Mixer::Hyena(operator) = &model.stack.blocks[0].mixer else { panic!("another mixer") };
/// assert_eq!(operator.forward(Tensor::<3>::ones([4, 8, 60], &device)).dims(), [4, 8, 60]);
/// ```
#[derive(Module, Debug)]
pub struct HyenaOperator {
    /// Projections, to (order + 1) · width channels.
    pub projection: ChannelLinear,
    /// Taps of the short convolutions, that of the sample itself first, `[(order + 1) · width, 3]`.
    pub short_taps: Param<Tensor<2>>,
    /// Bias of the short convolutions.
    pub short_bias: Param<Tensor<1>>,
    /// The implicit filters, order − 1 per channel.
    pub filter: HyenaFilter,
    /// Weights of the sample itself in each long convolution, `[order − 1, width]`.
    pub skip: Param<Tensor<2>>,
    /// The last linear layer.
    pub output: ChannelLinear,
    #[module(skip)]
    order: usize,
}

impl HyenaOperator {
    pub(super) fn new(config: &HyenaConfig, device: &Device) -> Self {
        let HyenaConfig { width, order, frequencies, filter_width, length, .. } = *config;
        let (projected, convolutions) = ((order + 1) * width, order - 1);
        let bound = (SHORT_TAPS as f64).sqrt().recip();
        let uniform = Distribution::Uniform(-bound, bound);
        Self {
            projection: ChannelLinear::new(width, projected, device),
            short_taps: Param::from_tensor(Tensor::random([projected, SHORT_TAPS], uniform, device)),
            short_bias: Param::from_tensor(Tensor::random([projected], uniform, device)),
            filter: HyenaFilter::new(convolutions * width, frequencies, filter_width, length, device),
            skip: Param::from_tensor(Tensor::random([convolutions, width], Distribution::Normal(0.0, 1.0), device)),
            output: ChannelLinear::new(width, width, device),
            order,
        }
    }

    /// The operator on a signal `[batch, width, n]`.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, signal: Tensor<3>) -> Tensor<3> {
        expect_valid(self.try_forward(signal))
    }

    /// The operator on a signal, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`long_conv`](firefly_ops::long_conv).
    pub fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        let [_, width, taps] = signal.dims();
        let projected = self.short_convolution(self.projection.forward(signal));
        let part = |index: usize| projected.clone().narrow(1, index * width, width);
        let filters = self.filter.forward(taps);
        let mut value = part(self.order) * part(self.order - 1);
        for convolution in 0..self.order - 1 {
            let filter = filters.clone().narrow(0, convolution * width, width);
            let skip = self.skip.val().narrow(0, convolution, 1).reshape([width]);
            value = convolve(value, filter, skip, Some(part(self.order - 2 - convolution)))?;
        }
        Ok(self.output.forward(value))
    }

    /// Causal convolution of every channel with its three taps.
    fn short_convolution(&self, signal: Tensor<3>) -> Tensor<3> {
        let [_, channels, samples] = signal.dims();
        let padded = signal.pad([(0, 0), (0, 0), (SHORT_TAPS - 1, 0)], 0.0);
        let delayed = |taps: usize| padded.clone().narrow(2, SHORT_TAPS - 1 - taps, samples);
        let bias = self.short_bias.val().reshape([1, channels, 1]);
        let tap = |tap: usize| self.short_taps.val().narrow(1, tap, 1).reshape([1, channels, 1]);
        (1..SHORT_TAPS).fold(delayed(0) * tap(0), |sum, delay| sum + delayed(delay) * tap(delay)) + bias
    }
}
