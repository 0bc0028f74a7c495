//! Parameters of the loss of power against target peaks.

use serde::{Deserialize, Serialize};

use crate::error::{ArgumentError, ensure};

/// Parameters of [`peak_loss`](crate::training::peak_loss).
///
/// ```
/// use firefly_ops::options::PeakLossOptions;
///
/// let options = PeakLossOptions::new(16).with_temperature(0.5).with_offset(1e-9);
/// assert_eq!((options.k, options.temperature, options.offset), (16, 0.5, 1e-9));
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PeakLossOptions {
    /// Number of target peaks of each row, from 1 to its bins.
    pub k: usize,
    /// Distance, in nepers, from the boundary over which the ranking loss bends, above 0.
    pub temperature: f64,
    /// Constant added to relative power before its logarithm, above 0.
    pub offset: f64,
    /// Factors of the ranking loss and of the power loss.
    pub weights: [f64; 2],
}

impl PeakLossOptions {
    /// The parameters for `k` peaks: a temperature of 1 neper, an offset of 10⁻⁶, and weights of 1.
    pub const fn new(k: usize) -> Self {
        Self { k, temperature: 1.0, offset: 1e-6, weights: [1.0; 2] }
    }

    /// The same parameters with another temperature, in nepers.
    pub const fn with_temperature(self, temperature: f64) -> Self {
        Self { temperature, ..self }
    }

    /// The same parameters with another offset.
    pub const fn with_offset(self, offset: f64) -> Self {
        Self { offset, ..self }
    }

    /// The same parameters with other factors of the ranking loss and of the power loss.
    pub const fn with_weights(self, weights: [f64; 2]) -> Self {
        Self { weights, ..self }
    }

    /// Checks the parameters for rows of `bins`.
    pub(crate) fn validate(&self, operation: &'static str, bins: usize) -> Result<(), ArgumentError> {
        // Divided by, or added before a logarithm, in f32.
        let is_normal = |value: f64| value.is_finite() && value >= f64::from(f32::MIN_POSITIVE);
        let expected = format_args!("at least {:e}", f32::MIN_POSITIVE);
        ensure((1..=bins).contains(&self.k), operation, "k", self.k, format_args!("from 1 to the bins, {bins}"))?;
        ensure(is_normal(self.temperature), operation, "temperature", self.temperature, expected)?;
        ensure(is_normal(self.offset), operation, "offset", self.offset, expected)?;
        let are_finite = self.weights.iter().all(|weight| weight.is_finite());
        ensure(are_finite, operation, "weights", format_args!("{:?}", self.weights), "two finite numbers")
    }
}
