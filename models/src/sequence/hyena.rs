//! The Hyena operator, and its implicit filters: taps as a function of their position.

use std::f64::consts::{LN_10, TAU};

use burn::module::{Initializer, Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_ops::ArgumentError;

use super::HyenaConfig;
use super::kernels::{STANDARD_NORMAL, convolve};
use crate::channel_linear::ChannelLinear;

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
/// use firefly_models::sequence::Mixer;
/// use firefly_models::HyenaConfig;
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
        let uniform = Initializer::Uniform { min: -bound, max: bound };
        Self {
            projection: ChannelLinear::new(width, projected, device),
            short_taps: uniform.init([projected, SHORT_TAPS], device),
            short_bias: uniform.init([projected], device),
            filter: HyenaFilter::new(convolutions * width, frequencies, filter_width, length, device),
            skip: STANDARD_NORMAL.init([convolutions, width], device),
            output: ChannelLinear::new(width, width, device),
            order,
        }
    }

    or_panic! { forward = try_forward(signal: Tensor<3>) -> Tensor<3> }

    /// The operator on a signal `[batch, width, n]`.
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

/// Least and greatest decay rate of a filter: to 1 % within 1.5 and within 0.3 times the whole length.
const DECAY: [f64; 2] = [2.0 * LN_10 / 1.5, 2.0 * LN_10 / 0.3];
/// Frequency of the first pair of sine and cosine, in periods per length.
const FIRST_FREQUENCY: f64 = 1e-4;

/// Network from the position of a tap to the taps of all filters, under windows that decay at different rates.
///
/// The position and its sines and cosines are the inputs of four linear layers, the last one without bias. Between them
/// are sines, whose frequencies are parameters.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::sequence::HyenaFilter;
///
/// let filter = HyenaFilter::new(6, 4, 32, 1_000, &Device::flex());
/// assert_eq!(filter.forward(250).dims(), [6, 250]);
/// ```
#[derive(Module, Debug)]
pub struct HyenaFilter {
    /// The linear layers.
    pub layers: Vec<Linear>,
    /// Frequencies of the sines behind each layer but the last, `[hidden]`.
    pub sines: Vec<Param<Tensor<1>>>,
    #[module(skip)]
    shape: FilterShape,
}

/// Filters, frequencies of a position, and the length that positions are relative to.
#[derive(Debug, Clone, Copy)]
struct FilterShape {
    filters: usize,
    frequencies: usize,
    length: usize,
}

impl HyenaFilter {
    /// The untrained network of `filters`, for at most `length` taps.
    pub fn new(filters: usize, frequencies: usize, hidden: usize, length: usize, device: &Device) -> Self {
        let linear = |inputs, outputs| LinearConfig::new(inputs, outputs).init(device);
        let last = LinearConfig::new(hidden, filters).with_bias(false).init(device);
        Self {
            layers: vec![linear(1 + 2 * frequencies, hidden), linear(hidden, hidden), linear(hidden, hidden), last],
            sines: (0..3).map(|_| Initializer::Ones.init([hidden], device)).collect(),
            shape: FilterShape { filters, frequencies, length },
        }
    }

    /// The first `taps` taps of every filter, `[filters, taps]`.
    pub fn forward(&self, taps: usize) -> Tensor<2> {
        let device = self.sines[0].val().device();
        let table = |columns: usize, value: &dyn Fn(usize, usize) -> f64| {
            let values = (0..taps * columns).map(|index| value(index / columns, index % columns) as f32).collect();
            Tensor::<2>::from_data(TensorData::new(values, [taps, columns]), &device)
        };
        let mut hidden = table(1 + 2 * self.shape.frequencies, &|tap, column| self.shape.position(tap, column));
        let (last, inner) = self.layers.split_last().expect("there are four layers");
        for (layer, frequency) in inner.iter().zip(&self.sines) {
            hidden = (layer.forward(hidden) * frequency.val().unsqueeze()).sin();
        }
        let windows = table(self.shape.filters, &|tap, filter| self.shape.window(tap, filter));
        (last.forward(hidden) * windows).transpose()
    }
}

impl FilterShape {
    /// An input of the network: the position, then cosines, then sines with a negative sign.
    fn position(&self, tap: usize, column: usize) -> f64 {
        if column == 0 {
            return tap as f64 / (self.length - 1) as f64;
        }
        let pair = (column - 1) % self.frequencies;
        let spacing = (self.frequencies as f64 - 1.0 - FIRST_FREQUENCY) / (self.frequencies.max(2) - 1) as f64;
        let frequency = FIRST_FREQUENCY + pair as f64 * spacing;
        let angle = frequency * TAU * tap as f64 / self.length as f64;
        if column <= self.frequencies { angle.cos() } else { -angle.sin() }
    }

    fn window(&self, tap: usize, filter: usize) -> f64 {
        let [least, greatest] = DECAY;
        let share = filter as f64 / (self.filters.max(2) - 1) as f64;
        let rate = least + (greatest - least) * share;
        (-rate * tap as f64 / (self.length - 1) as f64).exp()
    }
}
