//! FITS: forecasting by interpolation in the frequency domain.

use firefly_ops::fft::{irfft, rfft};

use crate::prelude::*;

config! {
    /// Configuration of [`Fits`](crate::Fits).
    ///
    /// ```
    /// use firefly_models::FitsConfig;
    ///
    /// // A harmonic of a daily period in hourly data, and five more, of 30 days.
    /// let config = FitsConfig::new().with_look_back(720).with_cut_off(FitsConfig::harmonics(720, 24, 6));
    /// assert_eq!((config.cut_off, config.bins()), (196, 222));
    /// assert!(config.with_cut_off(400).validate().unwrap_err().to_string().contains("`cut_off` is 400"));
    /// ```
    FitsConfig;
    /// Samples that a forecast is made from, at least 2.
    look_back: usize = 360;
    /// Samples of a forecast, at least 1.
    horizon: usize = 96;
    /// Channels of a series.
    channels: usize = 7;
    /// Bins of the spectrum that are kept, from 0 hertz on: at most `look_back / 2 + 1`.
    cut_off: usize = 106;
    /// Whether every channel has a layer of its own, or else all channels share one.
    individual: bool = false;
}

impl FitsConfig {
    /// Samples that the model computes: those of the look-back and of the forecast.
    pub fn samples(&self) -> usize {
        self.look_back + self.horizon
    }

    /// Bins of the interpolated spectrum: those kept, times the ratio of the lengths, rounded down, and no more than a
    /// spectrum has.
    pub fn bins(&self) -> usize {
        (self.cut_off * self.samples() / self.look_back).min(self.samples() / 2 + 1)
    }

    /// Bins that hold `order` harmonics of a period in a look-back, with a margin, as the authors choose them:
    /// ⌊look_back / period + 1⌋ · order + 10.
    pub fn harmonics(look_back: usize, period: usize, order: usize) -> usize {
        (look_back / period.max(1) + 1) * order + 10
    }

    fn check_fields(&self) -> Result<()> {
        const NAME: &str = "FitsConfig";
        ensure_least!(self, NAME, look_back: 2.0, horizon: 1.0, channels: 1.0)?;
        let bins = self.look_back / 2 + 1;
        let are_bins = (1..=bins).contains(&self.cut_off);
        ensure(are_bins, NAME, "cut_off", self.cut_off, format_args!("from 1 to {bins} bins"))
    }
}

/// Added to a variance before its square root.
const VARIANCE_OFFSET: f64 = 1e-5;
/// Least rows of a group of spectra, which are multiplied by the weights apart from others.
///
/// The gradient of the weights is a sum over the rows of a group. A GPU computes it with one cube per tile of weights and
/// group, of which one group has too few.
const GROUP_ROWS: usize = 256;

/// Forecasting by interpolation in the frequency domain.
///
/// Each channel is standardised to mean 0 and variance 1 (reversible instance normalisation). One complex linear layer
/// maps the lowest bins of its spectrum to the spectrum of a longer series. The inverse transform, with mean and
/// variance restored, is the reconstructed look-back followed by the forecast.
///
/// After Z. Xu, A. Zeng and Q. Xu, "FITS: Modeling time series with 10k parameters" (2024). As in the authors' program,
/// weights and bias are real at first, drawn uniformly from ±1/√(bins kept).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::FitsConfig;
///
/// let device = Device::flex();
/// let model = FitsConfig::new().with_look_back(48).with_horizon(12).with_channels(2).with_cut_off(9).init(&device);
/// let series = Tensor::<3>::ones([4, 48, 2], &device); // [batch, look_back, channels]
/// assert_eq!(model.forward(series.clone()).dims(), [4, 60, 2]);
/// assert_eq!(model.forecast(series).dims(), [4, 12, 2]);
/// ```
#[derive(Module, Debug)]
pub struct Fits {
    /// Real parts of the weights, `[1 or channels, bins kept, bins interpolated]`.
    pub weight_re: Param<Tensor<3>>,
    /// Imaginary parts of the weights.
    pub weight_im: Param<Tensor<3>>,
    /// Real parts of the bias, `[1 or channels, 1, bins interpolated]`.
    pub bias_re: Param<Tensor<3>>,
    /// Imaginary parts of the bias.
    pub bias_im: Param<Tensor<3>>,
    #[module(skip)]
    config: FitsConfig,
}

configured! { Fits by FitsConfig }

impl Fits {
    fn new(config: &FitsConfig, device: &Device) -> Result<Self> {
        let layers = if config.individual { config.channels } else { 1 };
        let bound = (config.cut_off as f64).sqrt().recip();
        let uniform = Initializer::Uniform { min: -bound, max: bound };
        let part = |initializer: &Initializer, rows| initializer.init([layers, rows, config.bins()], device);
        Ok(Self {
            weight_re: part(&uniform, config.cut_off),
            weight_im: part(&Initializer::Zeros, config.cut_off),
            bias_re: part(&uniform, 1),
            bias_im: part(&Initializer::Zeros, 1),
            config: config.clone(),
        })
    }

    or_panic! { forward = try_forward(series: Tensor<3>) -> Tensor<3> }

    /// The look-back as the model reconstructs it, and the forecast behind it: `[batch, look_back + horizon, channels]`
    /// for `series` `[batch, look_back, channels]`, in its unit.
    ///
    /// # Errors
    /// [`ArgumentError`] for a series of another length or number of channels.
    pub fn try_forward(&self, series: Tensor<3>) -> Result<Tensor<3>> {
        let FitsConfig { look_back, channels, cut_off, individual, .. } = self.config;
        let dims @ [batch, length, count] = series.dims();
        let expected = format!("[batch, {look_back}, {channels}]");
        ensure([length, count] == [look_back, channels], "Fits", "series", format_args!("{dims:?}"), expected)?;
        // Normalisation per channel.
        let mean = series.clone().mean_dim(1);
        let centred = series - mean.clone();
        let deviation = ((centred.clone().square().sum_dim(1) / (look_back - 1) as f64) + VARIANCE_OFFSET).sqrt();
        let rows = (centred / deviation.clone()).swap_dims(1, 2);

        // Lowest bins of each channel, as the rows of one matrix per layer or group.
        let kept = rfft(rows)?.map(|part| part.narrow(2, 0, cut_off));
        let groups = groups(batch, channels);
        let layers = |part: Tensor<3>| -> Tensor<3> {
            if individual { part.swap_dims(0, 1) } else { part.reshape([groups, batch / groups * channels, cut_off]) }
        };
        let weight = ComplexTensor::new(self.weight_re.val(), self.weight_im.val());
        let bias = ComplexTensor::new(self.bias_re.val(), self.bias_im.val());
        let interpolated = kept.map(layers).matmul(weight) + bias;
        let bins = self.config.bins();
        let channels_of = |part: Tensor<3>| -> Tensor<3> {
            if individual { part.swap_dims(0, 1) } else { part.reshape([batch, channels, bins]) }
        };

        // The transform of a longer series has larger values for the same amplitude.
        let samples = self.config.samples();
        let rows = irfft(interpolated.map(channels_of), samples)?;
        let longer = rows.swap_dims(1, 2) * (samples as f64 / look_back as f64);
        Ok(longer * deviation + mean)
    }

    /// The forecast alone, `[batch, horizon, channels]`.
    ///
    /// # Panics
    /// As [`forward`](Self::forward).
    #[track_caller]
    pub fn forecast(&self, series: Tensor<3>) -> Tensor<3> {
        self.forward(series).narrow(1, self.config.look_back, self.config.horizon)
    }
}

/// Groups of equally many items, of [`GROUP_ROWS`] rows at least where there are so many.
fn groups(batch: usize, channels: usize) -> usize {
    let most = (batch * channels / GROUP_ROWS).clamp(1, batch.max(1));
    (1..=most).rev().find(|groups| batch.is_multiple_of(*groups)).unwrap_or(1)
}

impl Family for Fits {
    configured_by! { FitsConfig, "fits" }

    fn variants() -> Vec<Variant<FitsConfig>> {
        // Look-back and bins with the lowest validation error on hourly ETT data.
        let config = FitsConfig::new().with_look_back(360).with_cut_off(181);
        let of_horizon = |horizon| config.clone().with_horizon(horizon);
        let tiny = config.clone().with_look_back(24).with_horizon(6).with_channels(2).with_cut_off(8);
        vec![
            Variant::new("fits", "96 samples from 360 of 7 channels, all 181 bins", config.clone()),
            Variant::new("fits_192", "192 samples from 360 of 7 channels, all 181 bins", of_horizon(192)),
            Variant::new("fits_336", "336 samples from 360 of 7 channels, all 181 bins", of_horizon(336)),
            Variant::new("fits_720", "720 samples from 360 of 7 channels, all 181 bins", of_horizon(720)),
            Variant::new("fits_tiny", "6 samples from 24 of 2 channels, 8 bins", tiny),
        ]
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        let FitsConfig { look_back, channels, .. } = *Fits::config(self);
        vec![Input::new("series", [batch, look_back, channels])]
    }

    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>> {
        const NAME: &str = "Fits";
        let FitsConfig { look_back, horizon, .. } = *Fits::config(self);
        let [series] = exactly(NAME, inputs)?;
        let longer = self.try_forward(series.try_float::<3>(NAME, "series")?)?;
        Ok(vec![longer.clone().narrow(1, look_back, horizon).into(), longer.narrow(1, 0, look_back).into()])
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Distribution, TensorData, Tolerance};

    use super::*;

    #[test]
    fn a_batch_of_three_groups_has_the_forecasts_and_gradients_of_its_parts() {
        let device = Device::flex().autodiff();
        device.seed(7);
        let model = FitsConfig::new().with_look_back(16).with_horizon(4).with_channels(2).with_cut_off(9).init(&device);
        let series = Tensor::<3>::random([384, 16, 2], Distribution::Default, &device);
        assert_eq!([128, 384].map(|batch| groups(batch, 2)), [1, 3]);
        let of = |series: Tensor<3>| {
            let longer = model.forward(series);
            let gradients = longer.clone().square().sum().backward();
            let weight = model.weight_im.val().grad(&gradients).unwrap();
            (longer.inner(), weight)
        };
        let (whole, gradient) = of(series.clone());
        let (parts, gradients): (Vec<_>, Vec<_>) = series.split(128, 0).into_iter().map(of).unzip();
        let close = |a: TensorData, b: TensorData| a.assert_approx_eq::<f32>(&b, Tolerance::rel_abs(1e-4, 1e-3));
        close(whole.into_data(), Tensor::cat(parts, 0).into_data());
        let sum = gradients.into_iter().reduce(|a, b| a + b).unwrap();
        close(gradient.into_data(), sum.into_data());
    }

    #[test]
    fn groups_are_equal_and_have_enough_rows() {
        assert_eq!([0, 1, 36, 64, 74, 1024, 1021].map(|batch| groups(batch, 7)), [1, 1, 1, 1, 2, 16, 1]);
        assert_eq!(groups(12, 300), 12);
    }
}
