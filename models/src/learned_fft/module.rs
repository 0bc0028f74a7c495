//! The learned transform and its exact twin.

use burn::module::{Module, Param};
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use firefly_ops::fft::{ComplexTensor, rfft};
use firefly_ops::{
    ArgumentError, Direction, MelBands, Norm, Peaks, WindowSymmetry, butterfly, exact_twiddles, mel_filters, top_k,
};

use super::config::{LearnedFftConfig, SpectralFeatures};
use crate::expect_valid;
use crate::rows::Leading;

/// Least value that the logarithm of a mel band is taken of.
const MEL_FLOOR: f64 = 1e-10;

impl LearnedFftConfig {
    /// The untrained module on `device`.
    ///
    /// # Panics
    /// With the message of [`try_init`](Self::try_init)'s error.
    #[track_caller]
    pub fn init(&self, device: &Device) -> LearnedFft {
        expect_valid(self.try_init(device))
    }

    /// The untrained module on `device`: exact twiddles, open gates.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn try_init(&self, device: &Device) -> Result<LearnedFft, ArgumentError> {
        self.validate()?;
        let (n, bins) = (self.n_fft, self.bins());
        let sides: Vec<f32> = (0..bins).map(|bin| if bin == 0 || bin == n / 2 { 1.0 } else { 2.0 }).collect();
        // A column per band.
        let filters = if self.features == SpectralFeatures::LogMel {
            let filters = mel_filters(n, &MelBands::new(self.sample_rate, self.bands))?;
            let weights: Vec<f32> = filters.concat().into_iter().map(|weight| weight as f32).collect();
            let weights = Tensor::<2>::from_data(TensorData::new(weights, [self.bands, bins]), device);
            Some(weights.transpose())
        } else {
            None
        };
        Ok(LearnedFft {
            twiddles: Param::from_tensor(exact_twiddles(n, Direction::Forward, FloatDType::F32, device)?),
            gate_logits: Param::from_tensor(Tensor::full(
                [n.trailing_zeros() as usize, n / 2],
                self.open_logit,
                device,
            )),
            window: self.window.tensor(n, WindowSymmetry::Periodic, FloatDType::F32, device),
            sides: Tensor::from_data(TensorData::new(sides, [bins]), device),
            filters,
            config: self.clone(),
        })
    }
}

/// Gated butterfly transform with learned twiddles in place of an exact transform, before power, mel bands or peaks.
///
/// The untrained model is the exact transform. Training closes gates where the loss allows; each open gate is one
/// butterfly that is computed. [`exact`](Self::exact) computes the same features by an exact transform, for comparison.
/// Gates are hard concrete variables, as in [`LearnedWelchPeaks`](crate::LearnedWelchPeaks).
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_models::LearnedFftConfig;
///
/// let device = Device::flex();
/// let model = LearnedFftConfig::new().with_n_fft(64).init(&device);
/// let frames = Tensor::<2>::random([5, 64], Distribution::Default, &device);
/// let (learned, exact) = (model.forward(frames.clone(), model.hard_gates()), model.exact(frames));
/// assert_eq!(learned.dims(), [5, 33]);
/// assert!((learned - exact.clone()).abs().max().into_scalar::<f32>() < 1e-4 * exact.max().into_scalar::<f32>());
/// ```
#[derive(Module, Debug)]
pub struct LearnedFft {
    /// Twiddle factors, real part first, `[log2 n_fft, n_fft/2, 2]`.
    pub twiddles: Param<Tensor<3>>,
    /// Logits of the butterflies' gates, `[log2 n_fft, n_fft/2]`.
    pub gate_logits: Param<Tensor<2>>,
    window: Tensor<1>,
    /// Factor on the power of each bin, `[bins]`: 2 but for DC and Nyquist.
    sides: Tensor<1>,
    /// Mel filters, `[bins, bands]`.
    filters: Option<Tensor<2>>,
    #[module(skip)]
    config: LearnedFftConfig,
}

impl LearnedFft {
    /// Features of each frame of `frames` `[.., n_fft]`, `[.., values]`, by the learned transform with `gates`
    /// `[log2 n_fft, n_fft/2]`.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward<const D: usize>(&self, frames: Tensor<D>, gates: Tensor<2>) -> Tensor<D> {
        expect_valid(self.try_forward(frames, gates))
    }

    /// Features by the learned transform, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// [`ArgumentError`] for frames of another length, or gates of another shape.
    pub fn try_forward<const D: usize>(&self, frames: Tensor<D>, gates: Tensor<2>) -> Result<Tensor<D>, ArgumentError> {
        self.features(self.squared_magnitude(frames, gates)?)
    }

    /// The same features by an exact transform.
    ///
    /// # Panics
    /// With the message of [`try_exact`](Self::try_exact)'s error.
    #[track_caller]
    pub fn exact<const D: usize>(&self, frames: Tensor<D>) -> Tensor<D> {
        expect_valid(self.try_exact(frames))
    }

    /// Features by an exact transform, as [`exact`](Self::exact).
    ///
    /// # Errors
    /// [`ArgumentError`] for frames of another length.
    pub fn try_exact<const D: usize>(&self, frames: Tensor<D>) -> Result<Tensor<D>, ArgumentError> {
        self.features(self.exact_squared_magnitude(frames)?)
    }

    /// One-sided power of every bin of each frame of `frames` `[.., n_fft]`, `[.., bins]`, by the learned transform,
    /// whatever the features are.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::LearnedFftConfig;
    ///
    /// // All gates closed: nothing is transformed.
    /// let device = Device::flex();
    /// let model = LearnedFftConfig::new().with_n_fft(64).init(&device);
    /// let frame = Tensor::<1>::ones([64], &device);
    /// let power = model.power(frame.clone(), Tensor::zeros([6, 32], &device));
    /// assert_eq!(power.dims(), model.exact_power(frame.clone()).dims());
    /// assert!((power - model.exact_power(frame)).abs().max().into_scalar::<f32>() > 1.0);
    /// ```
    ///
    /// # Panics
    /// With the message of [`try_power`](Self::try_power)'s error.
    #[track_caller]
    pub fn power<const D: usize>(&self, frames: Tensor<D>, gates: Tensor<2>) -> Tensor<D> {
        expect_valid(self.try_power(frames, gates))
    }

    /// Power by the learned transform, as [`power`](Self::power).
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_power<const D: usize>(&self, frames: Tensor<D>, gates: Tensor<2>) -> Result<Tensor<D>, ArgumentError> {
        Ok(self.one_sided(self.squared_magnitude(frames, gates)?))
    }

    /// Power as [`power`](Self::power), by an exact transform.
    ///
    /// # Panics
    /// With the message of [`try_exact_power`](Self::try_exact_power)'s error.
    #[track_caller]
    pub fn exact_power<const D: usize>(&self, frames: Tensor<D>) -> Tensor<D> {
        expect_valid(self.try_exact_power(frames))
    }

    /// Power by an exact transform, as [`exact_power`](Self::exact_power).
    ///
    /// # Errors
    /// As [`try_exact`](Self::try_exact).
    pub fn try_exact_power<const D: usize>(&self, frames: Tensor<D>) -> Result<Tensor<D>, ArgumentError> {
        Ok(self.one_sided(self.exact_squared_magnitude(frames)?))
    }

    /// Strongest bins of each frame of `frames` `[.., n_fft]` and their one-sided power, `[.., k]`, by the learned
    /// transform, whatever the features are.
    ///
    /// ```
    /// use burn::tensor::{Device, Int, Tensor};
    /// use firefly_models::LearnedFftConfig;
    ///
    /// // A tone of 8 periods per frame.
    /// let device = Device::flex();
    /// let model = LearnedFftConfig::new().with_n_fft(64).with_k(3).init(&device);
    /// let time = Tensor::<1, Int>::arange(0..64, &device).float();
    /// let frame = (time * (8.0 * std::f32::consts::TAU / 64.0)).sin();
    /// let learned = model.peaks(frame.clone(), model.hard_gates());
    /// let exact = model.exact_peaks(frame);
    /// assert_eq!(learned.bins.into_data().iter::<i64>().next(), Some(8));
    /// assert_eq!(exact.bins.into_data().iter::<i64>().next(), Some(8));
    /// ```
    ///
    /// # Panics
    /// With the message of [`try_peaks`](Self::try_peaks)'s error.
    #[track_caller]
    pub fn peaks<const D: usize>(&self, frames: Tensor<D>, gates: Tensor<2>) -> Peaks<D> {
        expect_valid(self.try_peaks(frames, gates))
    }

    /// Peaks by the learned transform, as [`peaks`](Self::peaks).
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_peaks<const D: usize>(&self, frames: Tensor<D>, gates: Tensor<2>) -> Result<Peaks<D>, ArgumentError> {
        top_k(self.try_power(frames, gates)?, self.config.k)
    }

    /// Peaks as [`peaks`](Self::peaks), by an exact transform.
    ///
    /// # Panics
    /// With the message of [`try_exact_peaks`](Self::try_exact_peaks)'s error.
    #[track_caller]
    pub fn exact_peaks<const D: usize>(&self, frames: Tensor<D>) -> Peaks<D> {
        expect_valid(self.try_exact_peaks(frames))
    }

    /// Peaks by an exact transform, as [`exact_peaks`](Self::exact_peaks).
    ///
    /// # Errors
    /// As [`try_exact`](Self::try_exact).
    pub fn try_exact_peaks<const D: usize>(&self, frames: Tensor<D>) -> Result<Peaks<D>, ArgumentError> {
        top_k(self.try_exact_power(frames)?, self.config.k)
    }

    /// Configuration of the model.
    pub fn config(&self) -> &LearnedFftConfig {
        &self.config
    }

    /// Squared magnitude of the lower bins of the learned transform of each frame, `[.., bins]`.
    fn squared_magnitude<const D: usize>(
        &self,
        frames: Tensor<D>,
        gates: Tensor<2>,
    ) -> Result<Tensor<D>, ArgumentError> {
        let re = self.windowed(frames)?;
        let im = re.zeros_like();
        let (re, im) = butterfly(re, im, self.twiddles.val(), Some(gates))?;
        let spectrum = ComplexTensor::new(re, im).map(|part| part.narrow(D - 1, 0, self.config.bins()));
        Ok(spectrum.abs_squared())
    }

    /// Squared magnitude of the bins of the exact transform of each frame, `[.., bins]`.
    fn exact_squared_magnitude<const D: usize>(&self, frames: Tensor<D>) -> Result<Tensor<D>, ArgumentError> {
        Ok(rfft(self.windowed(frames)?, None, -1, Norm::Backward)?.abs_squared())
    }

    fn windowed<const D: usize>(&self, frames: Tensor<D>) -> Result<Tensor<D>, ArgumentError> {
        let (length, n_fft) = (frames.dims()[D - 1], self.config.n_fft);
        if length != n_fft {
            return Err(ArgumentError::new("LearnedFft", "frames", format!("{length} samples per row"), n_fft));
        }
        Ok(frames * self.window.clone().unsqueeze())
    }

    /// One-sided power `[.., bins]` of squared magnitudes.
    fn one_sided<const D: usize>(&self, power: Tensor<D>) -> Tensor<D> {
        power * self.sides.clone().unsqueeze()
    }

    fn features<const D: usize>(&self, power: Tensor<D>) -> Result<Tensor<D>, ArgumentError> {
        match (self.config.features, &self.filters) {
            (SpectralFeatures::Peaks, _) => Ok(top_k(self.one_sided(power), self.config.k)?.power),
            (_, Some(filters)) => {
                let leading = Leading::of(power.dims());
                let bands = leading.flatten(power).matmul(filters.clone());
                Ok(leading.unflatten(bands.clamp_min(MEL_FLOOR).log()))
            }
            (_, None) => Ok(self.one_sided(power)),
        }
    }
}
