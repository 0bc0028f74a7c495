//! Latency table: measured times over problem sizes, interpolated between them.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One problem size that the latency depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyAxis {
    /// Name of the size, such as `batch` or `n_fft`.
    pub name: String,
    /// Interpolation along this axis.
    pub interpolation: AxisInterpolation,
    /// The measured sizes: positive, increasing.
    pub values: Vec<f64>,
}

/// Interpolation between measured sizes, and extrapolation outside of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisInterpolation {
    /// The logarithm of the time is linear in the logarithm of the size: the time is a power of the size. Extrapolation
    /// continues the slope of the interval at the edge.
    LogLog,
    /// The time is linear in the size: a constant per call plus a constant per unit. Extrapolation continues the slope
    /// of the interval at the edge, clamped so that neither constant is negative where the measurements are noisy.
    Linear,
}

/// Measured latencies of a strategy at every combination of sizes, interpolated axis by axis.
///
/// A discontinuity, such as where a call starts to use more threads, is smoothed over the interval that contains it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyTable {
    /// Worst ratio of predicted to measured time, or its inverse, at held-out points; 0 if unknown.
    #[serde(default)]
    pub error: f64,
    /// Nanoseconds at every point, the last axis running fastest.
    pub nanoseconds: Vec<f64>,
    /// The axes.
    pub axes: Vec<LatencyAxis>,
}

/// Error of an invalid [`LatencyTable`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LatencyTableError {
    /// An axis has no values, or they are not positive and increasing.
    #[error("axis `{0}` must have positive, increasing values")]
    Axis(String),
    /// The number of times is not the number of points.
    #[error("{got} times for {points} points")]
    Count {
        /// Number of times.
        got: usize,
        /// Number of points.
        points: usize,
    },
    /// A time is not positive.
    #[error("every time must be a positive number of nanoseconds")]
    Time,
}

impl LatencyTable {
    /// The table of times at every combination of the values of `axes`, the last axis running fastest.
    ///
    /// # Errors
    /// [`LatencyTableError`] for invalid axes or times.
    pub fn new(axes: Vec<LatencyAxis>, nanoseconds: Vec<f64>) -> Result<Self, LatencyTableError> {
        let table = Self { error: 0.0, nanoseconds, axes };
        table.validate()?;
        Ok(table)
    }

    /// Checks axes and times, as of a table read from a file.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn validate(&self) -> Result<(), LatencyTableError> {
        for LatencyAxis { name, values, .. } in &self.axes {
            let valid = values.iter().all(|value| value.is_finite() && *value > 0.0);
            if values.is_empty() || !valid || !values.is_sorted_by(|a, b| a < b) {
                return Err(LatencyTableError::Axis(name.clone()));
            }
        }
        let points = self.axes.iter().fold(1usize, |points, axis| points.saturating_mul(axis.values.len()));
        if self.nanoseconds.len() != points {
            return Err(LatencyTableError::Count { got: self.nanoseconds.len(), points });
        }
        if self.nanoseconds.iter().any(|time| !(time.is_finite() && *time > 0.0)) {
            return Err(LatencyTableError::Time);
        }
        Ok(())
    }

    /// Predicted nanoseconds at `sizes`, in the order of the axes; `None` if their number is not that of the axes.
    pub fn predict(&self, sizes: &[f64]) -> Option<f64> {
        if sizes.len() != self.axes.len() {
            return None;
        }
        Some(self.log_time(0, 0, sizes).exp2())
    }

    /// Binary logarithm of the time at `sizes`, interpolated along the axes from `axis` on; the indices along the axes
    /// before it select the sub-table at `offset`.
    fn log_time(&self, axis: usize, offset: usize, sizes: &[f64]) -> f64 {
        let Some(LatencyAxis { interpolation, values, .. }) = self.axes.get(axis) else {
            return self.nanoseconds[offset].log2();
        };
        let at_index = |index: usize| self.log_time(axis + 1, offset * values.len() + index, sizes);
        if values.len() == 1 {
            return at_index(0);
        }
        // The interval that contains the size, or the one at the edge.
        let size = sizes[axis];
        let next = values.partition_point(|value| *value <= size).clamp(1, values.len() - 1);
        let (low, high) = (values[next - 1], values[next]);
        if size == low {
            return at_index(next - 1);
        }
        let (start, end) = (at_index(next - 1), at_index(next));
        match interpolation {
            AxisInterpolation::LogLog => start + (size / low).log2() / (high / low).log2() * (end - start),
            AxisInterpolation::Linear => linear([(low, start.exp2()), (high, end.exp2())], size).log2(),
        }
    }
}

/// Time at `size` on the line through two points of sizes and times.
fn linear([(low, start), (high, end)]: [(f64, f64); 2], size: f64) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, values: &[f64]) -> LatencyAxis {
        LatencyAxis { name: name.into(), interpolation: AxisInterpolation::LogLog, values: values.to_vec() }
    }

    #[test]
    fn linear_axes_interpolate_and_extrapolate_a_cost_per_call_and_per_row() {
        let batch = |values: &[f64], times: &[f64]| {
            let axis = LatencyAxis { interpolation: AxisInterpolation::Linear, ..axis("batch", values) };
            LatencyTable::new(vec![axis], times.to_vec()).unwrap()
        };
        let table = batch(&[1.0, 8.0, 64.0], &[105.0, 140.0, 420.0]);
        for rows in [1.0, 3.0, 8.0, 20.0, 64.0, 32_768.0] {
            let (expected, got) = (100.0 + 5.0 * rows, table.predict(&[rows]).unwrap());
            assert!((got / expected - 1.0).abs() < 1e-9, "{rows}: {got} for {expected}");
        }
        // Noisy measurements extrapolate to no negative cost per call or per row.
        assert!((batch(&[8.0, 64.0], &[10.0, 1000.0]).predict(&[128.0]).unwrap() - 2000.0).abs() < 1e-6);
        assert!((batch(&[8.0, 64.0], &[10.0, 9.0]).predict(&[1e6]).unwrap() - 9.0).abs() < 1e-6);
        assert!(batch(&[8.0, 64.0], &[10.0, 1000.0]).predict(&[1.0]).unwrap() > 0.0);
    }

    fn times() -> LatencyTable {
        // 3 · n · batch².
        let (n, batch) = ([4.0, 16.0], [1.0, 8.0, 64.0]);
        let nanoseconds = n.iter().flat_map(|n| batch.map(|batch| 3.0 * n * batch * batch)).collect();
        LatencyTable::new(vec![axis("n", &n), axis("batch", &batch)], nanoseconds).unwrap()
    }

    #[test]
    fn log_log_axes_predict_products_of_powers_everywhere() {
        for (n, batch) in [(4.0, 1.0), (16.0, 64.0), (8.0, 2.0), (5.0, 60.0), (2.0, 0.5), (64.0, 1000.0)] {
            let (expected, got) = (3.0 * n * batch * batch, times().predict(&[n, batch]).unwrap());
            assert!((got / expected - 1.0).abs() < 1e-9, "{n} {batch}: {got} for {expected}");
        }
        assert_eq!(times().predict(&[4.0]), None);
    }

    #[test]
    fn an_axis_of_one_value_is_constant() {
        let table = LatencyTable::new(vec![axis("k", &[16.0])], vec![5.0]).unwrap();
        assert!(table.predict(&[100.0]).is_some_and(|time| (time - 5.0).abs() < 1e-9));
    }

    #[test]
    fn invalid_axes_and_times_are_errors() {
        let new =
            |values: &[f64], times: &[f64]| LatencyTable::new(vec![axis("n", values)], times.to_vec()).unwrap_err();
        for values in [&[][..], &[2.0, 1.0], &[1.0, 1.0], &[0.0, 1.0], &[1.0, f64::INFINITY]] {
            assert_eq!(new(values, &[1.0, 1.0]), LatencyTableError::Axis("n".into()));
        }
        assert_eq!(new(&[1.0, 2.0], &[1.0]), LatencyTableError::Count { got: 1, points: 2 });
        for time in [0.0, f64::NAN] {
            assert_eq!(new(&[1.0, 2.0], &[1.0, time]), LatencyTableError::Time);
        }
    }
}
