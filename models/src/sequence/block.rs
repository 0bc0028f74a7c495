//! Residual blocks of sequence models, and their mixers: causal convolutions with kernels that are learned tap by tap,
//! with those of diagonal state spaces, and with the implicit filters of the Hyena operator.

use std::f64::consts::{LN_10, PI, TAU};

use burn::module::ParamId;
use burn::tensor::Distribution;
use burn::tensor::activation::{gelu, glu, soft_shrink};
use firefly_ops::long_conv;

use super::HyenaConfig;
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
    fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<3>> {
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
    pub fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<3>> {
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

/// Causal convolution of every channel of `signal` `[batch, channels, n]` with its row of `kernel` `[channels, k]`,
/// plus `skip` `[channels]` times the signal, times a gate.
///
/// # Errors
/// As [`long_conv`].
fn convolve(signal: Tensor<3>, kernel: Tensor<2>, skip: Tensor<1>, gate: Option<Tensor<3>>) -> Result<Tensor<3>> {
    let [channels, taps] = kernel.dims();
    // A skip weight is part of the first tap.
    let skip: Tensor<2> = skip.reshape([channels, 1]).pad([(0, 0), (0, taps - 1)], 0.0);
    long_conv(signal, kernel + skip, gate)
}

/// Weights of the sample itself, and others, at first.
const STANDARD_NORMAL: Initializer = Initializer::Normal { mean: 0.0, std: 1.0 };
/// Standard deviation of the first taps at first.
const DEVIATION: f64 = 0.02;

/// Parameter of a shape whose first values are computed when they are used: a model that is only counted has none.
fn drawn_when_used(
    shape: [usize; 2],
    device: &Device,
    values: impl FnOnce(&Device) -> Tensor<2> + Send + Sync + 'static,
) -> Param<Tensor<2>> {
    let first = |device: &Device, tracked| values(device).set_require_grad(tracked);
    Param::uninitialized(ParamId::new(), first, device.clone(), true, shape.into())
}

/// Causal convolution with a kernel per channel whose taps are parameters, moved towards 0 by a threshold.
///
/// Initial taps are normal random numbers times an exponential decay, exp(−(C/2)^(c/C) t/n) at tap t of n in channel c
/// of C, so that channels have different ranges.
///
/// ```
/// use burn::module::Param;
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::sequence::DirectKernel;
///
/// // The sample before, without a threshold.
/// let device = Device::flex();
/// let mut kernel = DirectKernel::new(1, 2, 0.0, &device);
/// kernel.taps = Param::from_tensor(Tensor::from_floats([[0.0, 1.0]], &device));
/// kernel.skip = Param::from_tensor(Tensor::zeros([1], &device));
/// let signal = Tensor::<3>::from_floats([[[1.0, 2.0, 3.0]]], &device);
/// let delayed: Vec<f32> = kernel.forward(signal).into_data().iter().collect();
/// assert!(delayed.iter().zip([0.0, 1.0, 2.0]).all(|(got, expected)| (got - expected).abs() < 1e-5));
/// ```
#[derive(Module, Debug)]
pub struct DirectKernel {
    /// Taps, `[channels, n]`.
    pub taps: Param<Tensor<2>>,
    /// Weight of the sample itself, `[channels]`.
    pub skip: Param<Tensor<1>>,
    #[module(skip)]
    threshold: f64,
}

impl DirectKernel {
    /// The untrained kernels of `channels`, of `length` taps.
    pub fn new(channels: usize, length: usize, threshold: f64, device: &Device) -> Self {
        let taps = drawn_when_used([channels, length], device, move |device| {
            let rate = |channel: usize| (channels as f64 / 2.0).powf(channel as f64 / channels as f64);
            let decay =
                |channel| (0..length).map(move |tap| (-rate(channel) * tap as f64 / length as f64).exp() as f32);
            let decay: Vec<f32> = (0..channels).flat_map(decay).collect();
            let decay = Tensor::<2>::from_data(TensorData::new(decay, [channels, length]), device);
            Tensor::random([channels, length], Distribution::Normal(0.0, DEVIATION), device) * decay
        });
        Self { taps, skip: STANDARD_NORMAL.init([channels], device), threshold }
    }

    or_panic! { forward = try_forward(signal: Tensor<3>) -> Tensor<3> }

    /// Convolution of a signal `[batch, channels, n]`, of any length.
    ///
    /// # Errors
    /// As [`long_conv`](firefly_ops::long_conv).
    pub fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<3>> {
        convolve(signal, soft_shrink(self.taps.val(), self.threshold), self.skip.val(), None)
    }
}

/// Logarithms of the least and greatest time step at first, 0.001 and 0.1.
const LOG_STEPS: [f64; 2] = [-3.0 * LN_10, -LN_10];

/// Causal convolution with the impulse response of a diagonal state space per channel.
///
/// With states A_n, time step Δ and weights C_n, the kernel is K_t = 2 Re Σ_n C_n (exp(ΔA_n) − 1)/A_n · exp(ΔA_n t):
/// the response of x' = Ax + u, y = Cx, held over each step. States start as −½ + iπn (S4D-Lin), time steps log-uniform
/// from 0.001 to 0.1, weights normal.
///
/// After A. Gu et al., "On the Parameterization and Initialization of Diagonal State Space Models" (2022).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::sequence::DiagonalStateSpace;
///
/// let device = Device::flex();
/// let spaces = DiagonalStateSpace::new(3, 16, &device); // three channels, 16 states each
/// assert_eq!(spaces.kernel(200).dims(), [3, 200]);
/// assert_eq!(spaces.forward(Tensor::<3>::ones([2, 3, 200], &device)).dims(), [2, 3, 200]);
/// ```
#[derive(Module, Debug)]
pub struct DiagonalStateSpace {
    /// Natural logarithm of the time step, `[channels]`.
    pub log_step: Param<Tensor<1>>,
    /// Natural logarithm of the negative real part of the states, `[channels, states]`.
    pub log_decay: Param<Tensor<2>>,
    /// Imaginary part of the states.
    pub frequency: Param<Tensor<2>>,
    /// Real part of the weights.
    pub weight_re: Param<Tensor<2>>,
    /// Imaginary part of the weights.
    pub weight_im: Param<Tensor<2>>,
    /// Weight of the sample itself, `[channels]`.
    pub skip: Param<Tensor<1>>,
}

impl DiagonalStateSpace {
    /// The untrained state spaces of `channels`, of `states` each.
    pub fn new(channels: usize, states: usize, device: &Device) -> Self {
        let shape = [channels, states];
        let [min, max] = LOG_STEPS;
        // Both parts of a complex normal variable of variance 1.
        let weight = Initializer::Normal { mean: 0.0, std: 0.5f64.sqrt() };
        Self {
            log_step: Initializer::Uniform { min, max }.init([channels], device),
            log_decay: Initializer::Constant { value: 0.5f64.ln() }.init(shape, device),
            frequency: drawn_when_used(shape, device, move |device| {
                let row: Vec<f32> = (0..states).map(|state| (PI * state as f64) as f32).collect();
                Tensor::<2>::from_data(TensorData::new(row, [1, states]), device).repeat_dim(0, channels)
            }),
            weight_re: weight.init(shape, device),
            weight_im: weight.init(shape, device),
            skip: STANDARD_NORMAL.init([channels], device),
        }
    }

    /// The first `length` taps of every kernel, `[channels, length]`.
    pub fn kernel(&self, length: usize) -> Tensor<2> {
        let step = self.log_step.val().exp().unsqueeze_dim::<2>(1);
        let states = ComplexTensor::new(-self.log_decay.val().exp(), self.frequency.val());
        let exponents = states.clone().map(|part| part * step.clone());
        let weights = self.held_weights(states, &exponents);

        // exp(ΔA(s + Sb)) is a product of two powers: kernels are matrix products over states.
        let short = (length as f64).sqrt().ceil() as usize;
        let blocks = length.div_ceil(short);
        let [channels, states] = exponents.dims();
        let fine = powers(&exponents, short, 1);
        let coarse = powers(&exponents, blocks, short) * weights.map(|part| part.reshape([channels, states, 1]));
        let coarse = coarse.map(|part| part.swap_dims(1, 2));
        let kernel = coarse.re.matmul(fine.re) - coarse.im.matmul(fine.im);
        kernel.reshape([channels, blocks * short]).narrow(1, 0, length) * 2.0
    }

    /// C (exp(ΔA) − 1)/A: the weights of an input that is held over each step.
    fn held_weights(&self, states: ComplexTensor<2>, exponents: &ComplexTensor<2>) -> ComplexTensor<2> {
        let ComplexTensor { re, im } = exponents.clone();
        let grown = ComplexTensor::from_polar(re.exp(), im);
        let grown = ComplexTensor::new(grown.re - 1.0, grown.im);
        let inverse = states.clone().abs_squared().recip();
        ComplexTensor::new(self.weight_re.val(), self.weight_im.val()) * grown * states.conj().scale(inverse)
    }

    or_panic! { forward = try_forward(signal: Tensor<3>) -> Tensor<3> }

    /// Convolution of a signal `[batch, channels, n]`, of any length.
    ///
    /// # Errors
    /// As [`long_conv`](firefly_ops::long_conv).
    pub fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<3>> {
        let [_, _, length] = signal.dims();
        convolve(signal, self.kernel(length), self.skip.val(), None)
    }
}

/// exp(z · stride · p) for p from 0 to `count` − 1 on a new last dimension.
fn powers(exponents: &ComplexTensor<2>, count: usize, stride: usize) -> ComplexTensor<3> {
    let [channels, states] = exponents.dims();
    let steps: Vec<f32> = (0..count).map(|power| (power * stride) as f32).collect();
    let options = (&exponents.re.device(), exponents.re.dtype());
    let steps = Tensor::<3>::from_data(TensorData::new(steps, [1, 1, count]), options);
    let ComplexTensor { re, im } = exponents.clone().map(|part| part.reshape([channels, states, 1]) * steps.clone());
    ComplexTensor::from_polar(re.exp(), im)
}

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
    pub fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<3>> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_those_of_the_definition() {
        let (channels, states, length) = (3, 4, 50);
        let spaces = DiagonalStateSpace::new(channels, states, &Device::flex());
        let values = |tensor: Tensor<2>| tensor.into_data().try_to_vec_as::<f64>().unwrap();
        let step = values(spaces.log_step.val().unsqueeze());
        let [decay, frequency] = [&spaces.log_decay, &spaces.frequency].map(|part| values(part.val()));
        let [re, im] = [&spaces.weight_re, &spaces.weight_im].map(|part| values(part.val()));
        let kernel = values(spaces.kernel(length));
        for channel in 0..channels {
            let dt = step[channel].exp();
            for tap in 0..length {
                let of_state = |state: usize| {
                    let at = channel * states + state;
                    let (a, b) = (-decay[at].exp(), frequency[at]);
                    let exponential =
                        |t: f64| ((a * dt * t).exp() * (b * dt * t).cos(), (a * dt * t).exp() * (b * dt * t).sin());
                    let times = |x: (f64, f64), y: (f64, f64)| (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0);
                    let grown = exponential(1.0);
                    let size = a * a + b * b;
                    let held = times((grown.0 - 1.0, grown.1), (a / size, -b / size));
                    2.0 * times(times((re[at], im[at]), held), exponential(tap as f64)).0
                };
                let expected: f64 = (0..states).map(of_state).sum();
                let got = kernel[channel * length + tap];
                assert!((got - expected).abs() < 1e-5, "tap {tap} of channel {channel}: {got}, not {expected}");
            }
        }
    }
}
