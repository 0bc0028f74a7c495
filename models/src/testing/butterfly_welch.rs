//! Welch peaks by Firefly's butterfly transform, stage by stage.

use burn::tensor::{Device, FloatDType, Int, Tensor};
use firefly_ops::{ArgumentError, Direction, Peaks, WelchOptions, butterfly, exact_twiddles};

use super::one_sided;
use crate::welch_peaks::WelchPeaksConfig;

/// Exact Welch peaks in two steps, the complex spectrum of every segment and the peaks of the spectra: the form in
/// which a spectrum is available between them.
///
/// Power is not scaled and segments are not detrended, whatever the configuration says. The order of peaks of equal
/// power is unspecified.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::WelchPeaksConfig;
/// use firefly_models::testing::ButterflyWelchPeaks;
///
/// let device = Device::flex();
/// let model = ButterflyWelchPeaks::new(&WelchPeaksConfig::new().with_n_fft(64).with_k(3), &device)?;
/// let spectra = model.spectra(Tensor::ones([5, 96], &device))?; // two segments per frame
/// assert_eq!(spectra.0.dims(), [10, 64]);
/// assert_eq!(model.peaks(spectra).bins.dims(), [5, 3]);
/// # Ok::<(), firefly_models::ArgumentError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ButterflyWelchPeaks {
    options: WelchOptions,
    k: usize,
    /// `[1, 1, n_fft]`.
    window: Tensor<3>,
    /// Twiddle factors of the exact forward transform, `[log2 n_fft, n_fft/2, 2]`.
    twiddles: Tensor<3>,
    /// `[1, bins]`.
    one_sided: Tensor<2>,
}

impl ButterflyWelchPeaks {
    /// The model of a configuration on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field of the configuration that is out of range.
    pub fn new(config: &WelchPeaksConfig, device: &Device) -> Result<Self, ArgumentError> {
        config.validate()?;
        let options = config.options();
        let n_fft = options.n_fft;
        Ok(Self {
            options,
            k: config.k,
            window: config.window.tensor(n_fft, config.symmetry, FloatDType::F32, device).reshape([1, 1, n_fft]),
            twiddles: exact_twiddles(n_fft, Direction::Forward, FloatDType::F32, device)?,
            one_sided: one_sided(n_fft, device).unsqueeze(),
        })
    }

    /// Complex spectrum of every segment: frames `[batch, frame]`, exactly as long as the segments need, to real and
    /// imaginary parts `[batch · segments, n_fft]`.
    ///
    /// # Errors
    /// As [`butterfly`].
    pub fn spectra(&self, signal: Tensor<2>) -> Result<(Tensor<2>, Tensor<2>), ArgumentError> {
        let WelchOptions { n_fft, hop, segments, .. } = self.options;
        let [batch, _] = signal.dims();
        let cut: Tensor<3> = signal.unfold(1, n_fft, hop);
        let samples = (cut * self.window.clone()).reshape([batch * segments, n_fft]);
        let zeros = Tensor::zeros(samples.dims(), &samples.device());
        butterfly(samples, zeros, self.twiddles.clone(), None)
    }

    /// Peaks of [`spectra`](Self::spectra): bins and power `[batch, k]`.
    pub fn peaks(&self, (re, im): (Tensor<2>, Tensor<2>)) -> Peaks<2> {
        let (bins, segments) = (self.options.bins(), self.options.segments);
        let [rows, _] = re.dims();
        let [re, im] = [re, im].map(|part| part.narrow(1, 0, bins));
        let power = (re.powi_scalar(2) + im.powi_scalar(2)).reshape([rows / segments, segments, bins]);
        let power: Tensor<2> = power.mean_dim(1).squeeze_dim(1);
        let (power, bins): (_, Tensor<2, Int>) = (power * self.one_sided.clone()).topk_with_indices(self.k, 1);
        Peaks { bins, power }
    }
}
