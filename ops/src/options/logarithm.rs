//! The logarithm of mel bands.

use serde::{Deserialize, Serialize};

use crate::error::{ArgumentError, ensure};

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

    /// The same logarithm with another guard.
    pub const fn with_guard(self, guard: LogGuard) -> Self {
        Self { guard, ..self }
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
    pub(crate) fn validate(&self, operation: &'static str) -> Result<(), ArgumentError> {
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
