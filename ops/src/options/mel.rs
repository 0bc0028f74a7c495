//! Parameters of mel spectra: frames, bands, the quantity that is summed into bands, and its logarithm.

use serde::{Deserialize, Serialize};

use super::StftOptions;
use crate::error::{Result, ensure};

/// Formula of the mel scale.
///
/// ```
/// use firefly_ops::options::MelScale;
///
/// // 1 kHz is about 1,000 mel on the one scale and 15 on the other.
/// assert!((MelScale::Htk.mel(1_000.0) - 1_000.0).abs() < 0.1);
/// assert!((MelScale::Slaney.mel(1_000.0) - 15.0).abs() < 1e-12);
/// assert!((MelScale::Slaney.hertz(30.0) - 2_804.6).abs() < 0.1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MelScale {
    /// 2595 log₁₀(1 + f/700), of the Hidden Markov Model Toolkit (HTK).
    Htk,
    /// Linear up to 1 kHz and logarithmic above, of M. Slaney's Auditory Toolbox (1998).
    #[default]
    Slaney,
}

impl MelScale {
    /// Mel of a frequency in hertz.
    pub fn mel(self, hertz: f64) -> f64 {
        match self {
            Self::Htk => 2595.0 * (1.0 + hertz / 700.0).log10(),
            Self::Slaney if hertz < SLANEY_BREAK => hertz / SLANEY_STEP,
            Self::Slaney => SLANEY_BREAK / SLANEY_STEP + (hertz / SLANEY_BREAK).ln() / slaney_log_step(),
        }
    }

    /// Frequency in hertz of a mel.
    pub fn hertz(self, mel: f64) -> f64 {
        match self {
            Self::Htk => 700.0 * (10f64.powf(mel / 2595.0) - 1.0),
            Self::Slaney if mel < SLANEY_BREAK / SLANEY_STEP => mel * SLANEY_STEP,
            Self::Slaney => SLANEY_BREAK * (slaney_log_step() * (mel - SLANEY_BREAK / SLANEY_STEP)).exp(),
        }
    }
}

/// Frequency, in hertz, from which on Slaney's scale is logarithmic.
const SLANEY_BREAK: f64 = 1000.0;
/// Hertz per mel below it.
const SLANEY_STEP: f64 = 200.0 / 3.0;

/// Logarithm of the ratio of frequencies one mel apart: 27 mels from 1 kHz to 6.4 kHz.
fn slaney_log_step() -> f64 {
    6.4f64.ln() / 27.0
}

/// Factor on each mel filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MelNorm {
    /// 1: the largest weight of a filter is at most 1.
    None,
    /// 2 / (upper − lower edge in hertz): filters of equal area.
    #[default]
    Slaney,
}

/// Mel bands: triangular filters whose edges are equally spaced on a mel scale.
///
/// Band m rises from edge m to edge m + 1 and falls to edge m + 2, of `count` + 2 edges from `f_min` to `f_max`. The
/// defaults are those of `librosa.filters.mel`; `torchaudio.functional.melscale_fbanks` has the HTK scale and no norm.
///
/// ```
/// use firefly_ops::options::{MelBands, MelNorm, MelScale};
///
/// let torchaudio = MelBands::new(16_000.0, 80).with_scale(MelScale::Htk).with_norm(MelNorm::None);
/// assert_eq!((torchaudio.f_min, torchaudio.upper_edge()), (0.0, 8_000.0));
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MelBands {
    /// Samples per second, in hertz.
    pub sample_rate: f64,
    /// Number of bands, at least 1.
    pub count: usize,
    /// Lower edge of the first band, in hertz.
    pub f_min: f64,
    /// Upper edge of the last band, in hertz; half the sample rate if `None`.
    pub f_max: Option<f64>,
    /// The scale.
    pub scale: MelScale,
    /// The factor on each filter.
    pub norm: MelNorm,
}

impl MelBands {
    /// `count` bands from 0 to half the sample rate, with Slaney's scale and norm.
    pub const fn new(sample_rate: f64, count: usize) -> Self {
        Self { sample_rate, count, f_min: 0.0, f_max: None, scale: MelScale::Slaney, norm: MelNorm::Slaney }
    }

    with_fields! {
        /// The same number of bands from another frequency on, in hertz.
        with_f_min(f_min: f64);
        /// The same number of bands up to another frequency, in hertz.
        with_f_max(f_max: f64 as Some);
        /// The same number of bands on another scale.
        with_scale(scale: MelScale);
        /// The same bands with another factor.
        with_norm(norm: MelNorm);
    }

    /// Upper edge of the last band, in hertz.
    pub fn upper_edge(&self) -> f64 {
        self.f_max.unwrap_or(self.sample_rate / 2.0)
    }

    /// Checks every field; errors name `operation`.
    ///
    /// # Errors
    /// [`ArgumentError`](crate::ArgumentError) for the first field that is out of range.
    pub fn validate(&self, operation: &'static str) -> Result<()> {
        let rate = self.sample_rate;
        ensure(rate.is_finite() && rate > 0.0, operation, "sample_rate", rate, "a positive number of hertz")?;
        ensure(self.count >= 1, operation, "count", self.count, "at least 1 band")?;
        let (low, high) = (self.f_min, self.upper_edge());
        ensure(low.is_finite() && low >= 0.0, operation, "f_min", low, "a finite number of hertz of at least 0")?;
        let expected = format_args!("above f_min, {low}, and finite");
        ensure(high.is_finite() && high > low, operation, "f_max", high, expected)
    }
}

/// Quantity of a spectrum that is summed into bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpectrumKind {
    /// The magnitude, |X|: `power=1` of librosa and torchaudio.
    Amplitude,
    /// The squared magnitude, |X|²: `power=2`.
    #[default]
    Power,
}

/// Mel spectra: the frames of a short-time transform, and the bands that their bins are summed into.
///
/// ```
/// use firefly_ops::options::MelBands;
/// use firefly_ops::{MelOptions, StftOptions};
///
/// // What Whisper takes: 25 ms of 16 kHz every 10 ms.
/// let options = MelOptions::new(StftOptions::new(400).with_hop(160), MelBands::new(16_000.0, 80));
/// assert_eq!(options.stft.frames(480_000), 3001);
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MelOptions {
    /// The frames; spectra are one-sided.
    pub stft: StftOptions,
    /// The bands.
    pub bands: MelBands,
    /// Quantity that is summed into bands.
    pub kind: SpectrumKind,
}

impl MelOptions {
    /// Power of frames in bands.
    pub const fn new(stft: StftOptions, bands: MelBands) -> Self {
        Self { stft, bands, kind: SpectrumKind::Power }
    }

    with_fields! {
        /// The same frames and bands of power or of amplitude.
        with_kind(kind: SpectrumKind);
    }

    /// Whether power is summed, or else amplitude.
    pub(crate) fn is_power(&self) -> bool {
        self.kind == SpectrumKind::Power
    }

    /// Factor on the summed quantity: normalised transforms are divided by √n.
    pub(crate) fn factor(&self) -> f64 {
        let n = self.stft.n_fft as f64;
        match (self.stft.normalized, self.kind) {
            (false, _) => 1.0,
            (true, SpectrumKind::Power) => 1.0 / n,
            (true, SpectrumKind::Amplitude) => 1.0 / n.sqrt(),
        }
    }

    /// Checks frames and bands.
    pub(crate) fn validate(&self, operation: &'static str) -> Result<()> {
        self.stft.validate(operation)?;
        let expected = "true: bands are of one-sided spectra";
        ensure(self.stft.onesided, operation, "onesided", self.stft.onesided, expected)?;
        self.bands.validate(operation)
    }
}

/// Unit of a logarithm.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::options::{LogUnit, Logarithm, MelBands};
/// use firefly_ops::{MelOptions, StftOptions, log_mel};
///
/// // Silence is at the floor of 10⁻¹⁰: −100 decibels of power.
/// let device = Device::flex();
/// let options = MelOptions::new(StftOptions::new(64), MelBands::new(8_000.0, 4));
/// let (silence, window) = (Tensor::<1>::zeros([200], &device), Tensor::ones([64], &device));
/// let bands: Tensor<2> = log_mel(silence, window, &options, &Logarithm::new(LogUnit::Decibel))?;
/// assert!((bands.max().into_scalar::<f32>() + 100.0).abs() < 1e-4);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogUnit {
    /// ln.
    #[default]
    Natural,
    /// log₁₀.
    Ten,
    /// Decibels: 10 log₁₀ of power, 20 log₁₀ of amplitude.
    Decibel,
}

/// Guard of a logarithm against values near 0.
///
/// ```
/// use firefly_ops::options::LogGuard;
///
/// assert_eq!((LogGuard::Offset(1e-6).value(), LogGuard::Floor(1e-5).value()), (1e-6, 1e-5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogGuard {
    /// log(x + offset).
    Offset(f64),
    /// log(max(x, floor)).
    Floor(f64),
}

impl LogGuard {
    /// The offset or the floor.
    pub const fn value(self) -> f64 {
        match self {
            Self::Offset(value) | Self::Floor(value) => value,
        }
    }
}

/// Logarithm of values from 0 on, guarded near 0.
///
/// ```
/// use firefly_ops::options::{LogGuard, LogUnit, Logarithm};
///
/// let logarithm = Logarithm::new(LogUnit::Natural).with_guard(LogGuard::Offset(1e-6));
/// assert_eq!(Logarithm::new(LogUnit::Decibel).guard, LogGuard::Floor(1e-10));
/// assert_ne!(logarithm, Logarithm::new(LogUnit::Natural));
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Logarithm {
    /// The unit.
    pub unit: LogUnit,
    /// Guard against values near 0; its value is at least 1.2·10⁻³⁸, the smallest normal number in f32.
    pub guard: LogGuard,
}

impl Logarithm {
    /// The logarithm in a unit, with a floor of 10⁻¹⁰, that of librosa and of Whisper.
    pub const fn new(unit: LogUnit) -> Self {
        Self { unit, guard: LogGuard::Floor(1e-10) }
    }

    with_fields! {
        /// The same logarithm with another guard.
        with_guard(guard: LogGuard);
    }

    /// Factor on the natural logarithm; `is_power` is whether power is taken, or else amplitude.
    pub(crate) fn factor(&self, is_power: bool) -> f64 {
        match self.unit {
            LogUnit::Natural => 1.0,
            LogUnit::Ten => std::f64::consts::LOG10_E,
            LogUnit::Decibel if is_power => 10.0 * std::f64::consts::LOG10_E,
            LogUnit::Decibel => 20.0 * std::f64::consts::LOG10_E,
        }
    }

    /// Checks the guard.
    pub(crate) fn validate(&self, operation: &'static str) -> Result<()> {
        let value = self.guard.value();
        let argument = match self.guard {
            LogGuard::Offset(_) => "offset",
            LogGuard::Floor(_) => "floor",
        };
        let [least, most] = [f32::MIN_POSITIVE, f32::MAX].map(f64::from);
        let holds = (least..=most).contains(&value);
        ensure(holds, operation, argument, value, format_args!("from {least:e} to {most:e}"))
    }
}
