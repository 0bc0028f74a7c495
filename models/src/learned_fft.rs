//! Learned transform in place of an exact one, before power, mel bands or peaks.

use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::{Device, Distribution, FloatDType, Tensor, TensorData};
use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::fft::{ComplexTensor, rfft};
use firefly_ops::options::validate_n_fft;
use firefly_ops::{
    ArgumentError, Direction, MelBands, Norm, Peaks, Window, WindowSymmetry, butterfly, exact_twiddles, mel_filters,
    top_k,
};
use serde::{Deserialize, Serialize};

use crate::expect_valid;
use crate::learned_welch_peaks::HardConcrete;
use crate::rows::Leading;
use crate::zoo::{Family, FamilyCard, Paper, Signature, Variant, exactly};

/// Least value that the logarithm of a mel band is taken of.
const MEL_FLOOR: f64 = 1e-10;
/// Largest initial logit: a gate with a larger one would never close.
const MAX_LOGIT: f64 = 50.0;

/// Features that are computed from the spectrum of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpectralFeatures {
    /// One-sided power of every bin.
    #[default]
    Power,
    /// Natural logarithm of power in mel bands.
    LogMel,
    /// Power of the strongest bins, strongest first.
    Peaks,
}

/// Configuration of [`LearnedFft`].
///
/// ```
/// use firefly_models::{LearnedFftConfig, SpectralFeatures};
///
/// let config = LearnedFftConfig::new().with_n_fft(64).with_features(SpectralFeatures::Peaks).with_k(4);
/// assert_eq!((config.bins(), config.values()), (33, 4));
/// assert!(config.with_k(34).validate().unwrap_err().to_string().contains("`k` is 34"));
/// ```
#[non_exhaustive]
#[derive(Config, Debug, PartialEq)]
pub struct LearnedFftConfig {
    /// Samples in a frame: a power of two from 8 to 65,536.
    #[config(default = 256)]
    pub n_fft: usize,
    /// Shape of the window, periodic.
    #[config(default = "Window::Hann")]
    pub window: Window,
    /// Features that are computed from the spectrum.
    #[config(default = "SpectralFeatures::Power")]
    pub features: SpectralFeatures,
    /// Mel bands, for `log_mel`.
    #[config(default = 40)]
    pub bands: usize,
    /// Samples per second, in hertz, for `log_mel`.
    #[config(default = 16_000.0)]
    pub sample_rate: f64,
    /// Peaks per frame, for `peaks`: from 1 to the number of bins.
    #[config(default = 16)]
    pub k: usize,
    /// Initial logit of a gate, above 0 and at most 50. The larger it is, the more steps a price takes to close a gate.
    #[config(default = 3.0)]
    pub open_logit: f64,
}

impl LearnedFftConfig {
    /// Bins of a spectrum.
    pub fn bins(&self) -> usize {
        self.n_fft / 2 + 1
    }

    /// Values that are computed per frame.
    pub fn values(&self) -> usize {
        match self.features {
            SpectralFeatures::Power => self.bins(),
            SpectralFeatures::LogMel => self.bands,
            SpectralFeatures::Peaks => self.k,
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "LearnedFftConfig";
        validate_n_fft(NAME, "n_fft", self.n_fft)?;
        self.window.validate(NAME, self.n_fft)?;
        MelBands::new(self.sample_rate, self.bands).validate(NAME)?;
        if !(1..=self.bins()).contains(&self.k) {
            let expected = format!("from 1 to the number of bins, {}", self.bins());
            return Err(ArgumentError::new(NAME, "k", self.k, expected));
        }
        if !(self.open_logit > 0.0 && self.open_logit <= MAX_LOGIT) {
            let expected = format!("above 0 and at most {MAX_LOGIT}");
            return Err(ArgumentError::new(NAME, "open_logit", self.open_logit, expected));
        }
        Ok(())
    }

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
        self.features(self.learned_power(frames, gates)?)
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
        self.features(self.exact_power(frames)?)
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
        top_k(self.one_sided(self.learned_power(frames, gates)?), self.config.k)
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
        top_k(self.one_sided(self.exact_power(frames)?), self.config.k)
    }

    /// Every gate as 0 or 1, open where its logit is not negative, for running a model. Without gradient in the logits.
    pub fn hard_gates(&self) -> Tensor<2> {
        self.gate_logits.val().detach().greater_equal_elem(0.0).float()
    }

    /// One draw of every gate, differentiable in the logits, for training a model.
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use firefly_models::LearnedFftConfig;
    ///
    /// // A step of training: the error, and a price per open gate.
    /// let device = Device::flex().autodiff();
    /// let model = LearnedFftConfig::new().with_n_fft(64).init(&device);
    /// let frames = Tensor::<2>::random([5, 64], Distribution::Default, &device);
    /// let error = model.forward(frames.clone(), model.sample_gates()) - model.exact(frames);
    /// let gradients = (error.square().mean() + model.expected_open_gates() * 1e-3).backward();
    /// assert!(model.gate_logits.val().grad(&gradients).is_some());
    /// ```
    pub fn sample_gates(&self) -> Tensor<2> {
        let logits = self.gate_logits.val();
        let uniform = logits.clone().inner().random_like(Distribution::Uniform(0.0, 1.0));
        HardConcrete::PAPER.sample(logits, uniform.clamp(1e-6, 1.0 - 1e-6))
    }

    /// Expected number of open gates, `[1]`, differentiable in the logits, for a price in the loss.
    pub fn expected_open_gates(&self) -> Tensor<1> {
        HardConcrete::PAPER.open_probability(self.gate_logits.val()).sum()
    }

    /// Configuration of the model.
    pub fn config(&self) -> &LearnedFftConfig {
        &self.config
    }

    /// Squared magnitude of the lower bins of the learned transform of each frame, `[.., bins]`.
    fn learned_power<const D: usize>(&self, frames: Tensor<D>, gates: Tensor<2>) -> Result<Tensor<D>, ArgumentError> {
        let re = self.windowed(frames)?;
        let im = re.zeros_like();
        let (re, im) = butterfly(re, im, self.twiddles.val(), Some(gates))?;
        let spectrum = ComplexTensor::new(re, im).map(|part| part.narrow(D - 1, 0, self.config.bins()));
        Ok(spectrum.abs_squared())
    }

    /// Squared magnitude of the bins of the exact transform of each frame, `[.., bins]`.
    fn exact_power<const D: usize>(&self, frames: Tensor<D>) -> Result<Tensor<D>, ArgumentError> {
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

impl Family for LearnedFft {
    type Config = LearnedFftConfig;

    const CARD: FamilyCard = FamilyCard {
        name: "learned_fft",
        summary: "Gated butterfly transform with learned twiddles before power, mel bands or peaks.",
        paper: Some(Paper {
            authors: "Louizos et al. 2018",
            title: "Learning sparse neural networks through L0 regularization",
            url: "https://arxiv.org/abs/1712.01312",
        }),
        inputs: &[Signature { name: "frames", shape: "[rows, n_fft]", meaning: "samples of each frame" }],
        outputs: &[
            Signature { name: "features", shape: "[rows, values]", meaning: "by the learned transform" },
            Signature { name: "exact", shape: "[rows, values]", meaning: "the same by an exact transform" },
        ],
        results: &[],
    };

    fn variants() -> Vec<Variant<LearnedFftConfig>> {
        let config = LearnedFftConfig::new();
        let of = |features| config.clone().with_features(features);
        let tiny = config.clone().with_n_fft(16).with_k(3);
        vec![
            Variant::new("learned_fft", "power of 256 samples", config.clone()),
            Variant::new("learned_fft_log_mel", "40 log-mel bands of 256 samples", of(SpectralFeatures::LogMel)),
            Variant::new("learned_fft_peaks", "16 peaks of 256 samples", of(SpectralFeatures::Peaks)),
            Variant::new("learned_fft_tiny", "power of 16 samples", tiny.clone()),
            Variant::new(
                "learned_fft_peaks_tiny",
                "3 peaks of 16 samples",
                tiny.with_features(SpectralFeatures::Peaks),
            ),
        ]
    }

    fn from_config(config: &LearnedFftConfig, device: &Device) -> Result<Self, ArgumentError> {
        config.try_init(device)
    }

    fn config(&self) -> LearnedFftConfig {
        self.config.clone()
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        vec![Input::new("frames", [batch, self.config.n_fft])]
    }

    /// Features with gates drawn at random where gates train, and hard gates elsewhere, and their exact twin.
    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
        const NAME: &str = "LearnedFft";
        let [frames] = exactly(NAME, inputs)?;
        let frames = frames.try_float::<2>(NAME, "frames")?;
        let trains_gates = self.gate_logits.val().is_require_grad();
        let gates = if trains_gates { self.sample_gates() } else { self.hard_gates() };
        Ok(vec![self.try_forward(frames.clone(), gates)?.into(), self.try_exact(frames)?.into()])
    }
}
