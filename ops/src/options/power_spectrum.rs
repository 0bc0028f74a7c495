//! Parameters of a power spectrum.

use serde::{Deserialize, Serialize};

use super::{Detrend, Scaling};

/// Scaling and detrending of the power spectrum of a row as a whole.
///
/// ```
/// use firefly_ops::{Detrend, PowerSpectrumOptions, Scaling};
///
/// let options = PowerSpectrumOptions::new().with_scaling(Scaling::Spectrum).with_detrend(Detrend::Constant);
/// assert_ne!(options, PowerSpectrumOptions::default());
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PowerSpectrumOptions {
    /// Scaling of power.
    pub scaling: Scaling,
    /// Trend that is subtracted from each row before it is windowed.
    pub detrend: Detrend,
}

impl PowerSpectrumOptions {
    /// Scaling `power`, no detrending.
    pub const fn new() -> Self {
        Self { scaling: Scaling::Power, detrend: Detrend::None }
    }

    /// The same spectrum with another scaling.
    pub const fn with_scaling(self, scaling: Scaling) -> Self {
        Self { scaling, ..self }
    }

    /// The same spectrum with another detrending.
    pub const fn with_detrend(self, detrend: Detrend) -> Self {
        Self { detrend, ..self }
    }
}
