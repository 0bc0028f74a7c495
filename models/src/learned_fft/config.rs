//! Configuration of a learned transform.

use burn::config::Config;
use firefly_ops::options::validate_n_fft;
use firefly_ops::{ArgumentError, MelBands, Window};
use serde::{Deserialize, Serialize};

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

/// Configuration of [`LearnedFft`](crate::LearnedFft).
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
}
