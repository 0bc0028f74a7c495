//! Conditions that local maxima must meet, and the method that places a maximum between bins.

use serde::{Deserialize, Serialize};

use crate::error::{Result, ensure};

/// Estimate of a maximum's place between bins from the power at the bin and at its two neighbours.
///
/// Both methods are odd in the two neighbours: neighbours of equal power give an offset of 0.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// The vertex of the parabola through the logarithms of power: exact for a Gaussian window, within 0.016 bins for a
    /// tone under a Hann window.
    #[default]
    LogParabola,
    /// `2 (c − a) / (a + 2 b + c)` for the amplitudes `a`, `b` and `c` below, at and above the bin: exact for one tone
    /// under a periodic Hann window, up to terms in `1 / n_fft²`.
    Hann,
}

impl std::fmt::Display for Interpolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::LogParabola => "log parabola",
            Self::Hann => "Hann",
        })
    }
}

/// Conditions that local maxima must meet, applied in the order of the fields, as in `scipy.signal.find_peaks`.
///
/// ```
/// use firefly_ops::options::Interpolation;
/// use firefly_ops::LocalMaximaOptions;
///
/// let options = LocalMaximaOptions::new()
///     .with_height(0.1)
///     .with_distance(4)
///     .with_prominence(0.5)
///     .with_interpolation(Interpolation::Hann);
/// assert_eq!((options.height, options.distance), (Some(0.1), 4));
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LocalMaximaOptions {
    /// Least power, in the unit of the power; any by default.
    pub height: Option<f64>,
    /// Least distance between maxima, in bins from 1, the default: of two that are closer the weaker is dropped, of two
    /// equal ones the upper, the strongest maxima having been kept first. Up to 2 it has no effect.
    pub distance: usize,
    /// Least prominence, in the unit of the power; any by default.
    pub prominence: Option<f64>,
    /// Estimate of the offset from the bin.
    pub interpolation: Interpolation,
}

impl Default for LocalMaximaOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl LocalMaximaOptions {
    /// No conditions; offsets by a parabola.
    pub const fn new() -> Self {
        Self { height: None, distance: 1, prominence: None, interpolation: Interpolation::LogParabola }
    }

    with_fields! {
        /// The same options with a least power.
        with_height(height: f64 as Some);
        /// The same options with a least distance, in bins.
        with_distance(distance: usize);
        /// The same options with a least prominence.
        with_prominence(prominence: f64 as Some);
        /// The same options with another estimate of offsets.
        with_interpolation(interpolation: Interpolation);
    }

    /// Whether maxima may be too close to each other: two are always at least two bins apart.
    pub(crate) const fn separates(&self) -> bool {
        self.distance > 2
    }

    /// Checks every field, on behalf of an operation.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self, operation: &'static str) -> Result<()> {
        let number = |value: Option<f64>| !value.is_some_and(f64::is_nan);
        ensure(number(self.height), operation, "height", f64::NAN, "a number")?;
        ensure(self.distance >= 1, operation, "distance", self.distance, "at least 1 bin")?;
        ensure(number(self.prominence), operation, "prominence", f64::NAN, "a number")
    }
}
