//! The forecasting model.

use burn::module::{Module, Param};
use burn::tensor::{Device, Distribution, Tensor};
use firefly_ops::fft::{ComplexTensor, irfft, rfft};
use firefly_ops::{ArgumentError, Norm};

use super::config::FitsConfig;
use crate::expect_valid;

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

impl FitsConfig {
    /// The untrained module on `device`.
    ///
    /// # Panics
    /// With the message of [`try_init`](Self::try_init)'s error.
    #[track_caller]
    pub fn init(&self, device: &Device) -> Fits {
        expect_valid(self.try_init(device))
    }

    /// The untrained module on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn try_init(&self, device: &Device) -> Result<Fits, ArgumentError> {
        self.validate()?;
        let layers = if self.individual { self.channels } else { 1 };
        let bound = (self.cut_off as f64).sqrt().recip();
        let drawn = |rows| {
            let shape = [layers, rows, self.bins()];
            Param::from_tensor(Tensor::random(shape, Distribution::Uniform(-bound, bound), device))
        };
        let zeros = |rows| Param::from_tensor(Tensor::zeros([layers, rows, self.bins()], device));
        Ok(Fits {
            weight_re: drawn(self.cut_off),
            weight_im: zeros(self.cut_off),
            bias_re: drawn(1),
            bias_im: zeros(1),
            config: self.clone(),
        })
    }
}

impl Fits {
    /// The look-back as the model reconstructs it, and the forecast behind it: `[batch, look_back + horizon, channels]`
    /// for `series` `[batch, look_back, channels]`, in its unit.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, series: Tensor<3>) -> Tensor<3> {
        expect_valid(self.try_forward(series))
    }

    /// Reconstruction and forecast, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// [`ArgumentError`] for a series of another length or number of channels.
    pub fn try_forward(&self, series: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        let FitsConfig { look_back, channels, cut_off, individual, .. } = self.config;
        let [batch, length, count] = series.dims();
        if [length, count] != [look_back, channels] {
            let expected = format!("[batch, {look_back}, {channels}]");
            return Err(ArgumentError::new("Fits", "series", format!("{:?}", series.dims()), expected));
        }
        // Normalisation per channel.
        let mean = series.clone().mean_dim(1);
        let centred = series - mean.clone();
        let deviation = ((centred.clone().square().sum_dim(1) / (look_back - 1) as f64) + VARIANCE_OFFSET).sqrt();
        let rows = (centred / deviation.clone()).swap_dims(1, 2);

        // Lowest bins of each channel, as the rows of one matrix per layer or group.
        let kept = rfft(rows, None, 2, Norm::Backward)?.map(|part| part.narrow(2, 0, cut_off));
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
        let rows = irfft(interpolated.map(channels_of), Some(samples), 2, Norm::Backward)?;
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

    /// Configuration of the model.
    pub fn config(&self) -> &FitsConfig {
        &self.config
    }
}

/// Groups of equally many items, of [`GROUP_ROWS`] rows at least where there are so many.
fn groups(batch: usize, channels: usize) -> usize {
    let most = (batch * channels / GROUP_ROWS).clamp(1, batch.max(1));
    (1..=most).rev().find(|groups| batch.is_multiple_of(*groups)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{TensorData, Tolerance};

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
