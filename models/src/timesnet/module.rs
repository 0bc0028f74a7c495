//! The forecasting model.

use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Initializer, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_ops::ArgumentError;

use super::block::TimesBlock;
use super::config::TimesNetConfig;
use crate::expect_valid;

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

impl TimesNetConfig {
    /// The untrained module on `device`.
    ///
    /// # Panics
    /// With the message of [`try_init`](Self::try_init)'s error.
    #[track_caller]
    pub fn init(&self, device: &Device) -> TimesNet {
        expect_valid(self.try_init(device))
    }

    /// The untrained module on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn try_init(&self, device: &Device) -> Result<TimesNet, ArgumentError> {
        self.validate()?;
        // Of a leaky rectifier with a slope of 0.01.
        let embedding =
            Initializer::KaimingNormal { gain: (2.0 / (1.0 + 0.01f64.powi(2))).sqrt(), fan_out_only: false };
        let inputs = 3 * self.channels;
        Ok(TimesNet {
            embedding: embedding.init_with([inputs, self.features], Some(inputs), Some(self.features), device),
            positions: positions(self.look_back, self.features, device),
            dropout: DropoutConfig::new(self.dropout).init(),
            extension: LinearConfig::new(self.look_back, self.samples()).init(device),
            blocks: (0..self.blocks).map(|_| TimesBlock::new(self, device)).collect(),
            norm: LayerNormConfig::new(self.features).init(device),
            projection: LinearConfig::new(self.features, self.channels).init(device),
            config: self.clone(),
        })
    }
}

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
    /// Forecast of `series` `[batch, look_back, channels]`, `[batch, horizon, channels]`, in its unit. Reads periods
    /// back from the device.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, series: Tensor<3>) -> Tensor<3> {
        expect_valid(self.try_forward(series))
    }

    /// Forecast of a series, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// [`ArgumentError`] for a series of another length or number of channels.
    pub fn try_forward(&self, series: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        let TimesNetConfig { look_back, horizon, channels, .. } = self.config;
        let [_, length, count] = series.dims();
        if [length, count] != [look_back, channels] {
            let expected = format!("[batch, {look_back}, {channels}]");
            return Err(ArgumentError::new("TimesNet", "series", format!("{:?}", series.dims()), expected));
        }
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
        self.dropout.forward(neighbours.matmul(self.embedding.val().unsqueeze()) + self.positions.clone())
    }

    /// Configuration of the model.
    pub fn config(&self) -> &TimesNetConfig {
        &self.config
    }
}
