//! Latency table: measured times over sizes, interpolated between them.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Measured latencies of an operation over a size. The time is linear in the size between two measured ones: a constant
/// per call plus a constant per unit. Extrapolation continues the slope of the interval at the edge, clamped so that
/// neither constant is negative where the measurements are noisy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyTable {
    /// Name of the size, such as `traffic`.
    pub over: String,
    /// The measured sizes: positive, increasing.
    pub sizes: Vec<f64>,
    /// Nanoseconds at each size.
    pub nanoseconds: Vec<f64>,
}

/// Sizes or times that make no measurement.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidMeasurement(
    /// The reason.
    pub String,
);

impl LatencyTable {
    /// The table of times at sizes.
    ///
    /// # Errors
    /// [`InvalidMeasurement`] for sizes that are not positive and increasing, and times that are not positive or as many.
    pub fn new(over: &str, sizes: Vec<f64>, nanoseconds: Vec<f64>) -> Result<Self, InvalidMeasurement> {
        let table = Self { over: over.into(), sizes, nanoseconds };
        table.validate()?;
        Ok(table)
    }

    /// Checks sizes and times, as of a table read from a file.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn validate(&self) -> Result<(), InvalidMeasurement> {
        let positive = |values: &[f64]| values.iter().all(|value| value.is_finite() && *value > 0.0);
        if self.sizes.is_empty() || !positive(&self.sizes) || !self.sizes.is_sorted_by(|a, b| a < b) {
            return Err(InvalidMeasurement(format!("sizes over `{}` must be positive and increasing", self.over)));
        }
        if self.nanoseconds.len() != self.sizes.len() {
            let (got, sizes) = (self.nanoseconds.len(), self.sizes.len());
            return Err(InvalidMeasurement(format!("{got} times for {sizes} sizes")));
        }
        let are_times = positive(&self.nanoseconds);
        are_times
            .then_some(())
            .ok_or_else(|| InvalidMeasurement("every time must be a positive number of nanoseconds".into()))
    }

    /// Predicted nanoseconds at a size.
    pub fn predict(&self, size: f64) -> f64 {
        let last = self.sizes.len() - 1;
        if last == 0 {
            return self.nanoseconds[0];
        }
        let next = self.sizes.partition_point(|value| *value <= size).clamp(1, last);
        let (low, high) = (self.sizes[next - 1], self.sizes[next]);
        let (start, end) = (self.nanoseconds[next - 1], self.nanoseconds[next]);
        let slope = (end - start) / (high - low);
        // Outside, neither the slope nor the intercept may be negative.
        if size < low {
            start - (low - size) * slope.clamp(0.0, start / low)
        } else if size > high {
            end + (size - high) * slope.clamp(0.0, end / high)
        } else {
            start + (size - low) * slope
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_a_cost_per_call_and_per_unit() {
        let table =
            |sizes: &[f64], times: &[f64]| LatencyTable::new("traffic", sizes.to_vec(), times.to_vec()).unwrap();
        let rising = table(&[1.0, 8.0, 64.0], &[105.0, 140.0, 420.0]);
        for size in [1.0, 3.0, 8.0, 20.0, 64.0, 32_768.0] {
            let (expected, got) = (100.0 + 5.0 * size, rising.predict(size));
            assert!((got / expected - 1.0).abs() < 1e-9, "{size}: {got} for {expected}");
        }
        // Noisy measurements extrapolate to no negative cost per call or per unit.
        assert!((table(&[8.0, 64.0], &[10.0, 1000.0]).predict(128.0) - 2000.0).abs() < 1e-6);
        assert!((table(&[8.0, 64.0], &[10.0, 9.0]).predict(1e6) - 9.0).abs() < 1e-6);
        assert!(table(&[8.0, 64.0], &[10.0, 1000.0]).predict(1.0) > 0.0);
        assert_eq!(table(&[16.0], &[5.0]).predict(100.0), 5.0);
    }

    #[test]
    fn invalid_sizes_and_times_are_errors() {
        let error = |sizes: &[f64], times: &[f64]| {
            LatencyTable::new("n", sizes.to_vec(), times.to_vec()).unwrap_err().to_string()
        };
        for sizes in [&[][..], &[2.0, 1.0], &[1.0, 1.0], &[0.0, 1.0], &[1.0, f64::INFINITY]] {
            assert_eq!(error(sizes, &[1.0, 1.0]), "sizes over `n` must be positive and increasing");
        }
        assert_eq!(error(&[1.0, 2.0], &[1.0]), "1 times for 2 sizes");
        for time in [0.0, f64::NAN] {
            assert!(error(&[1.0, 2.0], &[1.0, time]).contains("a positive number of nanoseconds"));
        }
    }
}
