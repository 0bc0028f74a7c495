//! Measured times over a grid of problem sizes, and what they say between the points.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One size that the times depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What it is: the number of rows, the length of a transform.
    pub name: String,
    /// How the time grows with it.
    pub growth: Growth,
    /// Where it was measured: positive, increasing.
    pub values: Vec<f64>,
}

/// How times grow with a size, between the points where they were measured and outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// By a power of the size: the logarithm of the time is linear in the logarithm of the size. Outside, the slope at the
    /// edge goes on.
    Power,
    /// By a constant for each unit, on top of what a call costs however small it is: the time is linear in the size.
    /// Outside, a unit costs what it does in the interval at the edge, but no less than nothing and no more than its share of
    /// the whole: what a call costs besides is not negative, whatever the noise.
    Affine,
}

/// Times of a strategy at every point of a grid.
///
/// Between the points, it is interpolated size by size, as each axis says; a step, such as where a call starts to use other
/// threads, shows in the interval that holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Worst ratio of a predicted to a measured time, or its inverse, at points that the grid does not hold; 0 if unknown.
    #[serde(default)]
    pub error: f64,
    /// Nanoseconds at every point, the last axis running fastest.
    pub nanoseconds: Vec<f64>,
    /// The sizes.
    pub axes: Vec<Axis>,
}

/// Why times are no [`Rate`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RateError {
    /// An axis has no values, or they are not positive and increasing.
    #[error("axis `{0}` must have positive, increasing values")]
    Axis(String),
    /// There is not one time for each point.
    #[error("{got} times for {points} points")]
    Count {
        /// Times there are.
        got: usize,
        /// Points of the grid.
        points: usize,
    },
    /// A time is not positive.
    #[error("every time must be a positive number of nanoseconds")]
    Time,
}

impl Rate {
    /// Times at every point of the grid of `axes`, the last axis running fastest.
    ///
    /// # Errors
    /// [`RateError`] for axes or times that make no grid.
    pub fn new(axes: Vec<Axis>, nanoseconds: Vec<f64>) -> Result<Self, RateError> {
        let rate = Self { error: 0.0, nanoseconds, axes };
        rate.check()?;
        Ok(rate)
    }

    /// Checks what was read from a file.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn check(&self) -> Result<(), RateError> {
        for Axis { name, values, .. } in &self.axes {
            let sound = values.iter().all(|value| value.is_finite() && *value > 0.0);
            if values.is_empty() || !sound || !values.is_sorted_by(|a, b| a < b) {
                return Err(RateError::Axis(name.clone()));
            }
        }
        let points = self.axes.iter().map(|axis| axis.values.len()).product();
        if self.nanoseconds.len() != points {
            return Err(RateError::Count { got: self.nanoseconds.len(), points });
        }
        if self.nanoseconds.iter().any(|time| !(time.is_finite() && *time > 0.0)) {
            return Err(RateError::Time);
        }
        Ok(())
    }

    /// Predicted nanoseconds where the sizes are `at`, in the order of the axes; `None` if there are too few or too many.
    pub fn predict(&self, at: &[f64]) -> Option<f64> {
        if at.len() != self.axes.len() {
            return None;
        }
        Some(self.log_time(0, 0, at).exp2())
    }

    /// The binary logarithm of the time at `at`, within the part of the grid at `offset` that the first `axis` axes select.
    fn log_time(&self, axis: usize, offset: usize, at: &[f64]) -> f64 {
        let Some(Axis { growth, values, .. }) = self.axes.get(axis) else { return self.nanoseconds[offset].log2() };
        let below = |index: usize| self.log_time(axis + 1, offset * values.len() + index, at);
        if values.len() == 1 {
            return below(0);
        }
        let at = at[axis];
        let next = values.partition_point(|value| *value <= at).clamp(1, values.len() - 1);
        let (low, high) = (values[next - 1], values[next]);
        if at == low {
            return below(next - 1);
        }
        let (start, end) = (below(next - 1), below(next));
        match growth {
            Growth::Power => start + (at / low).log2() / (high / low).log2() * (end - start),
            Growth::Affine => affine([(low, start.exp2()), (high, end.exp2())], at).log2(),
        }
    }
}

/// The time at `at` on the line through two points of sizes and times.
fn affine([(low, start), (high, end)]: [(f64, f64); 2], at: f64) -> f64 {
    let slope = (end - start) / (high - low);
    if at < low {
        start - (low - at) * slope.clamp(0.0, start / low)
    } else if at > high {
        end + (at - high) * slope.clamp(0.0, end / high)
    } else {
        start + (at - low) * slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, values: &[f64]) -> Axis {
        Axis { name: name.into(), growth: Growth::Power, values: values.to_vec() }
    }

    #[test]
    fn a_call_and_its_rows_cost_what_they_do_between_the_points_and_past_them() {
        let batch = |values: &[f64], times: &[f64]| {
            let axis = Axis { growth: Growth::Affine, ..axis("batch", values) };
            Rate::new(vec![axis], times.to_vec()).unwrap()
        };
        let rate = batch(&[1.0, 8.0, 64.0], &[105.0, 140.0, 420.0]);
        for rows in [1.0, 3.0, 8.0, 20.0, 64.0, 32_768.0] {
            let (expected, got) = (100.0 + 5.0 * rows, rate.predict(&[rows]).unwrap());
            assert!((got / expected - 1.0).abs() < 1e-9, "{rows}: {got} for {expected}");
        }
        // Noise makes neither a call nor a row give time back.
        assert!((batch(&[8.0, 64.0], &[10.0, 1000.0]).predict(&[128.0]).unwrap() - 2000.0).abs() < 1e-6);
        assert!((batch(&[8.0, 64.0], &[10.0, 9.0]).predict(&[1e6]).unwrap() - 9.0).abs() < 1e-6);
        assert!(batch(&[8.0, 64.0], &[10.0, 1000.0]).predict(&[1.0]).unwrap() > 0.0);
    }

    fn times() -> Rate {
        // 3 · n · batch².
        let (n, batch) = ([4.0, 16.0], [1.0, 8.0, 64.0]);
        let nanoseconds = n.iter().flat_map(|n| batch.map(|batch| 3.0 * n * batch * batch)).collect();
        Rate::new(vec![axis("n", &n), axis("batch", &batch)], nanoseconds).unwrap()
    }

    #[test]
    fn products_of_powers_are_predicted_everywhere() {
        for (n, batch) in [(4.0, 1.0), (16.0, 64.0), (8.0, 2.0), (5.0, 60.0), (2.0, 0.5), (64.0, 1000.0)] {
            let (expected, got) = (3.0 * n * batch * batch, times().predict(&[n, batch]).unwrap());
            assert!((got / expected - 1.0).abs() < 1e-9, "{n} {batch}: {got} for {expected}");
        }
        assert_eq!(times().predict(&[4.0]), None);
    }

    #[test]
    fn an_axis_of_one_value_says_nothing() {
        let rate = Rate::new(vec![axis("k", &[16.0])], vec![5.0]).unwrap();
        assert!(rate.predict(&[100.0]).is_some_and(|time| (time - 5.0).abs() < 1e-9));
    }

    #[test]
    fn what_is_no_grid_is_refused() {
        let new = |values: &[f64], times: &[f64]| Rate::new(vec![axis("n", values)], times.to_vec()).unwrap_err();
        for values in [&[][..], &[2.0, 1.0], &[1.0, 1.0], &[0.0, 1.0], &[1.0, f64::INFINITY]] {
            assert_eq!(new(values, &[1.0, 1.0]), RateError::Axis("n".into()));
        }
        assert_eq!(new(&[1.0, 2.0], &[1.0]), RateError::Count { got: 1, points: 2 });
        for time in [0.0, f64::NAN] {
            assert_eq!(new(&[1.0, 2.0], &[1.0, time]), RateError::Time);
        }
    }
}
