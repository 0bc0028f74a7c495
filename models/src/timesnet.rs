//! TimesNet: a series as pictures of its periods.

use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{Dropout, DropoutConfig, PaddingConfig2d};
use burn::tensor::activation::{gelu, softmax};
use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use firefly_ops::fft::rfft;
use firefly_ops::top_k;

use crate::dropout::dropped;
use crate::prelude::*;

config! {
    /// Configuration of [`TimesNet`]; the defaults are those of the paper for ETTh1.
    ///
    /// ```
    /// use firefly_models::TimesNetConfig;
    ///
    /// assert!(TimesNetConfig::new().validate().is_ok());
    /// let error = TimesNetConfig::new().with_look_back(8).with_horizon(4).with_periods(7).validate().unwrap_err();
    /// assert!(error.to_string().contains("`periods` is 7"));
    /// ```
    TimesNetConfig;
    /// Samples that a forecast is made from, at least 2.
    look_back: usize = 96;
    /// Samples of a forecast, at least 1.
    horizon: usize = 96;
    /// Channels of a series.
    channels: usize = 7;
    /// Features of a sample between the blocks.
    features: usize = 16;
    /// Features within a block.
    hidden: usize = 32;
    /// Number of blocks.
    blocks: usize = 2;
    /// Periods per block: from 1 to half of `look_back + horizon`, rounded down.
    periods: usize = 5;
    /// Kernels of a convolution, of 1, 3, 5, … rows and columns; at most 64.
    kernels: usize = 6;
    /// Share of embedded values that training drops, from 0 to below 1.
    dropout: f64 = 0.1;
}

/// Largest number of kernels of a convolution: the largest has 127 rows and columns.
const MAX_KERNELS: usize = 64;

impl TimesNetConfig {
    /// Samples that a block works on: those of the look-back and of the forecast.
    pub fn samples(&self) -> usize {
        self.look_back + self.horizon
    }

    fn check_fields(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "TimesNetConfig";
        ensure_least!(self, NAME, look_back: 2.0, horizon: 1.0, channels: 1.0, features: 1.0, hidden: 1.0)?;
        ensure_least!(self, NAME, blocks: 1.0, kernels: 1.0)?;
        ensure_most(NAME, "blocks", self.blocks, MAX_DEPTH)?;
        ensure_most(NAME, "kernels", self.kernels, MAX_KERNELS)?;
        ensure_table(NAME, "features", self.features, self.look_back)?;
        let most = self.samples() / 2;
        let are_periods = (1..=most).contains(&self.periods);
        ensure(are_periods, NAME, "periods", self.periods, format_args!("from 1 to {most}"))?;
        ensure((0.0..1.0).contains(&self.dropout), NAME, "dropout", self.dropout, "from 0 to below 1")
    }
}

/// Added to squared amplitudes, whose root has no finite gradient at 0.
const OFFSET: f64 = 1e-12;

/// Strongest periods of a batch of series.
#[derive(Debug, Clone)]
pub struct Periods {
    /// Frequencies, in periods per series, strongest first: `[k]`.
    pub frequencies: Tensor<1, Int>,
    /// Weight of each frequency in each series, the softmax of its amplitude: `[batch, k]`.
    pub weights: Tensor<2>,
}

/// The `k` frequencies with the largest amplitudes, averaged over batch and channels and without the mean, of `series`
/// `[batch, samples, channels]`.
///
/// After H. Wu, T. Hu, Y. Liu, H. Zhou, J. Wang and M. Long, "TimesNet: Temporal 2D-variation modeling for general time
/// series analysis" (2023), equation 1. Differentiable in the series through the weights.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use firefly_models::timesnet::find_periods;
///
/// // Six periods in 48 samples.
/// let time = Tensor::<1, Int>::arange(0..48, &Device::flex()).float();
/// let series = (time * (6.0 * std::f32::consts::TAU / 48.0)).sin().reshape([1, 48, 1]);
/// let periods = find_periods(series, 2)?;
/// assert_eq!(periods.frequencies.into_data().iter::<i64>().next(), Some(6));
/// # Ok::<(), firefly_models::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for a `k` of 0 or more than half the samples.
pub fn find_periods(series: Tensor<3>, k: usize) -> Result<Periods, ArgumentError> {
    let [batch, samples, _] = series.dims();
    let most = samples / 2;
    let expected = format!("from 1 to half the samples, {most}");
    ensure((1..=most).contains(&k), "find_periods", "k", k, expected)?;
    let squares = rfft(series.swap_dims(1, 2))?.abs_squared();
    let amplitudes: Tensor<2> = (squares + OFFSET).sqrt().mean_dim(1).reshape([batch, most + 1]);
    // Without the mean, at frequency 0.
    let mean = amplitudes.clone().mean_dim(0).narrow(1, 1, most);
    let frequencies = top_k(mean, k)?.bins.reshape([k]) + 1;
    let weights = softmax(amplitudes.select(1, frequencies.clone()), 1);
    Ok(Periods { frequencies, weights })
}

/// Mean of convolutions with kernels of 1, 3, 5, … rows and columns.
#[derive(Module, Debug)]
struct Inception {
    convolutions: Vec<Conv2d>,
}

impl Inception {
    /// Weights drawn from a normal distribution of variance 2 / outputs of a kernel, and a bias of 0.
    fn new(from: usize, to: usize, kernels: usize, device: &Device) -> Self {
        let initializer = Initializer::KaimingNormal { gain: 2f64.sqrt(), fan_out_only: true };
        let convolution = |reach: usize| {
            let side = 2 * reach + 1;
            let padding = PaddingConfig2d::Explicit(reach, reach, reach, reach);
            let config = Conv2dConfig::new([from, to], [side, side]).with_padding(padding).with_bias(false);
            let mut convolution = config.with_initializer(initializer.clone()).init(device);
            convolution.bias = Some(Param::from_tensor(Tensor::zeros([to], device)));
            convolution
        };
        Self { convolutions: (0..kernels).map(convolution).collect() }
    }

    /// The single convolution that is the mean of the convolutions: with the mean of their kernels, the smaller ones with
    /// zeros around them.
    fn merged(&self) -> impl Fn(Tensor<4>) -> Tensor<4> {
        let reach = self.convolutions.len() - 1;
        let kernel = |(of_kernel, convolution): (usize, &Conv2d)| {
            let around = (reach - of_kernel, reach - of_kernel);
            convolution.weight.val().pad([(0, 0), (0, 0), around, around], 0.0)
        };
        let kernels = self.convolutions.iter().enumerate().map(kernel).collect();
        let biases =
            self.convolutions.iter().filter_map(|convolution| Some(convolution.bias.as_ref()?.val())).collect();
        let kernel: Tensor<4> = Tensor::stack::<5>(kernels, 0).mean_dim(0).squeeze_dim(0);
        let bias: Tensor<1> = Tensor::stack::<2>(biases, 0).mean_dim(0).squeeze_dim(0);
        move |picture| {
            let options = ConvOptions::new([1, 1], [reach, reach], [1, 1], 1);
            conv2d(picture, kernel.clone(), Some(bias.clone()), options)
        }
    }
}

/// Block of TimesNet. For each of its strongest periods, the series is folded into an image with a period per row, to
/// which two layers of convolutions are applied. The mean of the results, weighted by amplitude, is added to the
/// series.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_models::timesnet::TimesBlock;
/// use firefly_models::TimesNetConfig;
///
/// let device = Device::flex();
/// let config = TimesNetConfig::new().with_features(4).with_hidden(4).with_kernels(2).with_periods(2);
/// let block = TimesBlock::new(&config, &device);
/// let series = Tensor::<3>::random([3, 36, 4], Distribution::Default, &device); // [batch, samples, features]
/// assert_eq!(block.forward(series).dims(), [3, 36, 4]);
/// ```
#[derive(Module, Debug)]
pub struct TimesBlock {
    first: Inception,
    second: Inception,
    #[module(skip)]
    periods: usize,
}

impl TimesBlock {
    /// The untrained block of a configuration.
    pub fn new(config: &TimesNetConfig, device: &Device) -> Self {
        let TimesNetConfig { features, hidden, kernels, periods, .. } = *config;
        let first = Inception::new(features, hidden, kernels, device);
        Self { first, second: Inception::new(hidden, features, kernels, device), periods }
    }

    or_panic! { forward = try_forward(series: Tensor<3>) -> Tensor<3> }

    /// `series` `[batch, samples, features]` after the block, of the same shape. Reads the periods back from the
    /// device.
    ///
    /// # Errors
    /// [`ArgumentError`] for a series of fewer than two samples per period.
    pub fn try_forward(&self, series: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        let [batch, samples, features] = series.dims();
        let periods = find_periods(series.clone(), self.periods)?;
        // A period is a length of rows: the host has to know it.
        let frequencies: Vec<i64> = periods.frequencies.into_data().iter().collect();
        let [first, second] = [&self.first, &self.second].map(Inception::merged);
        let mut sum = series.clone();
        for (place, frequency) in frequencies.into_iter().enumerate() {
            let period = samples / frequency.max(1) as usize;
            let rows = samples.div_ceil(period);
            let padded = series.clone().pad([(0, 0), (0, rows * period - samples), (0, 0)], 0.0);
            let picture: Tensor<4> = padded.swap_dims(1, 2).reshape([batch, features, rows, period]);
            let picture = second(gelu(first(picture)));
            let result: Tensor<3> = picture.reshape([batch, features, rows * period]);
            let weight: Tensor<3> = periods.weights.clone().narrow(1, place, 1).reshape([batch, 1, 1]);
            sum = sum + result.swap_dims(1, 2).narrow(1, 0, samples) * weight;
        }
        Ok(sum)
    }
}

/// Added to a variance before its square root.
const VARIANCE_OFFSET: f64 = 1e-5;
/// Longest wave of the positions, over 2π.
const LONGEST_WAVE: f64 = 10_000.0;

/// Forecasting by convolutions over pictures of a series' periods.
///
/// A series, brought to mean 0 and variance 1 per channel, is embedded by a circular convolution over three samples and
/// the sines of its positions, extended by a linear layer along time, and goes through residual blocks
/// ([`TimesBlock`]). A linear layer makes channels of features again.
///
/// After H. Wu, T. Hu, Y. Liu, H. Zhou, J. Wang and M. Long, "TimesNet: Temporal 2D-variation modeling for general time
/// series analysis" (2023), without the embedding of dates. Weights are drawn as in the authors' program.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_models::TimesNetConfig;
///
/// let device = Device::flex();
/// let config = TimesNetConfig::new().with_look_back(24).with_horizon(12).with_channels(2).with_kernels(2);
/// let model = config.with_periods(2).init(&device);
/// let series = Tensor::<3>::random([3, 24, 2], Distribution::Default, &device); // [batch, look_back, channels]
/// assert_eq!(model.forward(series).dims(), [3, 12, 2]);
/// ```
#[derive(Module, Debug)]
pub struct TimesNet {
    /// Convolution over three samples as a matrix, `[3 · channels, features]`.
    pub embedding: Param<Tensor<2>>,
    /// Sines of the positions, `[1, look_back, features]`.
    positions: Tensor<3>,
    dropout: Dropout,
    extension: Linear,
    blocks: Vec<TimesBlock>,
    norm: LayerNorm,
    projection: Linear,
    #[module(skip)]
    config: TimesNetConfig,
}

configured! { TimesNet by TimesNetConfig }

/// Sines and cosines of the positions in waves of growing length, `[1, length, features]`.
fn positions(length: usize, features: usize, device: &Device) -> Tensor<3> {
    let value = |position: usize, feature: usize| {
        let wave = LONGEST_WAVE.powf(-((feature / 2 * 2) as f64) / features as f64);
        let angle = position as f64 * wave;
        (if feature.is_multiple_of(2) { angle.sin() } else { angle.cos() }) as f32
    };
    let values = (0..length).flat_map(|position| (0..features).map(move |feature| value(position, feature)));
    Tensor::from_data(TensorData::new(values.collect::<Vec<_>>(), [1, length, features]), device)
}

impl TimesNet {
    fn new(config: &TimesNetConfig, device: &Device) -> Result<Self, ArgumentError> {
        // Of a leaky rectifier with a slope of 0.01.
        let embedding =
            Initializer::KaimingNormal { gain: (2.0 / (1.0 + 0.01f64.powi(2))).sqrt(), fan_out_only: false };
        let inputs = 3 * config.channels;
        Ok(Self {
            embedding: embedding.init_with([inputs, config.features], Some(inputs), Some(config.features), device),
            positions: positions(config.look_back, config.features, device),
            dropout: DropoutConfig::new(config.dropout).init(),
            extension: LinearConfig::new(config.look_back, config.samples()).init(device),
            blocks: (0..config.blocks).map(|_| TimesBlock::new(config, device)).collect(),
            norm: LayerNormConfig::new(config.features).init(device),
            projection: LinearConfig::new(config.features, config.channels).init(device),
            config: config.clone(),
        })
    }

    or_panic! { forward = try_forward(series: Tensor<3>) -> Tensor<3> }

    /// Forecast of `series` `[batch, look_back, channels]`, `[batch, horizon, channels]`, in its unit. Reads periods
    /// back from the device.
    ///
    /// # Errors
    /// [`ArgumentError`] for a series of another length or number of channels.
    pub fn try_forward(&self, series: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        let TimesNetConfig { look_back, horizon, channels, .. } = self.config;
        let dims @ [_, length, count] = series.dims();
        let expected = format!("[batch, {look_back}, {channels}]");
        ensure([length, count] == [look_back, channels], "TimesNet", "series", format_args!("{dims:?}"), expected)?;
        let mean = series.clone().mean_dim(1).detach();
        let centred = series - mean.clone();
        let deviation = (centred.clone().square().mean_dim(1) + VARIANCE_OFFSET).sqrt();
        let embedded = self.embedded(centred / deviation.clone());
        let longer = self.extension.forward(embedded.swap_dims(1, 2)).swap_dims(1, 2);
        let block = |series, block: &TimesBlock| Ok(self.norm.forward(block.try_forward(series)?));
        let features = self.blocks.iter().try_fold(longer, block)?;
        let forecast = self.projection.forward(features.narrow(1, look_back, horizon));
        Ok(forecast * deviation + mean)
    }

    /// Features of each sample, from it, its neighbours (around the ends) and its position.
    fn embedded(&self, series: Tensor<3>) -> Tensor<3> {
        let length = self.config.look_back;
        let (last, first) = (series.clone().narrow(1, length - 1, 1), series.clone().narrow(1, 0, 1));
        let before = Tensor::cat(vec![last, series.clone().narrow(1, 0, length - 1)], 1);
        let after = Tensor::cat(vec![series.clone().narrow(1, 1, length - 1), first], 1);
        let neighbours = Tensor::cat(vec![before, series, after], 2);
        dropped(&self.dropout, neighbours.matmul(self.embedding.val().unsqueeze()) + self.positions.clone())
    }
}

impl Family for TimesNet {
    configured_by! { TimesNetConfig, "timesnet" }

    const CAPTURE_UNSUPPORTED: Option<&'static str> = Some("shapes depend on the periods of the series");

    fn variants() -> Vec<Variant<TimesNetConfig>> {
        let config = TimesNetConfig::new();
        let tiny = config.clone().with_look_back(16).with_horizon(4).with_channels(2).with_features(4).with_hidden(4);
        let tiny = tiny.with_blocks(1).with_periods(2).with_kernels(2);
        vec![
            Variant::new("timesnet", "96 samples from 96 of 7 channels", config),
            Variant::new("timesnet_tiny", "4 samples from 16 of 2 channels", tiny),
        ]
    }

    applied_to! { series [look_back, channels]: Tensor<3> => Tensor<3>, "TimesNet" }
}
