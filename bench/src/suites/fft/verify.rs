//! Verification of transforms.

use thiserror::Error;

use super::expected::ExpectedRows;
use super::inputs::FftInputs;
use super::problem::{FftProblem, RowSize};
use super::reference::RowParts;
use crate::harness::routine::RoutineOutput;
use crate::harness::verification::{CaseError, Verification, Verified, run_and_check, tolerance};

/// Largest prime factor that transforms have passes for.
const LARGEST_RADIX: usize = 13;

/// Difference between a computed and an expected row.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum RowMismatch {
    /// The output has another size.
    #[error("{parts} parts came back, the first of {len} values, instead of {} of {}", expected.parts, expected.len)]
    Size {
        /// Parts of the output.
        parts: usize,
        /// Values of the first one.
        len: usize,
        /// The expected size.
        expected: RowSize,
    },
    /// A value is out of tolerance.
    #[error("set {set}, row {row}: value {at} is off by {error:.1e} of the row's maximum, {tolerance:.1e} is allowed")]
    Value {
        /// Input set.
        set: usize,
        /// Row of the set.
        row: usize,
        /// Value of the row.
        at: usize,
        /// Difference relative to the row's largest magnitude.
        error: f64,
        /// Difference allowed.
        tolerance: f64,
    },
}

/// Comparison of the rows of computed outputs, which are `scale` times what the library gave.
pub struct RowCheck {
    shape: RowSize,
    batch: usize,
    scale: f64,
    found: Verification,
}

impl RowCheck {
    /// A check of outputs of `shape` with the tolerance of transforms of the problem's number of points.
    pub fn new(problem: &FftProblem, shape: RowSize, scale: f64) -> Self {
        let found = Verification { rows: 0, tolerance: allowed(problem), error: 0.0, ranking: None };
        Self { shape, batch: problem.batch, scale, found }
    }

    /// Compares one row.
    ///
    /// # Errors
    /// [`RowMismatch`] with the first wrong value.
    pub fn row(&mut self, output: &[Vec<f32>], place: [usize; 2], expected: &RowParts) -> Result<(), RowMismatch> {
        let RowSize { parts, len } = self.shape;
        let whole = RowSize { parts, len: self.batch * len };
        if output.len() != parts || output.iter().any(|part| part.len() != whole.len) {
            let len = output.first().map_or(0, Vec::len);
            return Err(RowMismatch::Size { parts: output.len(), len, expected: whole });
        }
        let [set, row] = place;
        let size = |differences: &[f64]| differences.iter().map(|value| value * value).sum::<f64>().sqrt();
        let magnitude = |at: usize| size(&expected.iter().map(|part| part[at]).collect::<Vec<_>>());
        let largest = (0..len).map(magnitude).fold(0.0, f64::max);
        for at in 0..len {
            let difference =
                |(part, expected): (&Vec<f32>, &Vec<f64>)| self.scale * f64::from(part[row * len + at]) - expected[at];
            let error = size(&output.iter().zip(expected).map(difference).collect::<Vec<_>>()) / largest;
            let tolerance = self.found.tolerance;
            if error.is_nan() || error > tolerance {
                return Err(RowMismatch::Value { set, row, at, error, tolerance });
            }
            self.found.error = self.found.error.max(error);
        }
        self.found.rows += 1;
        Ok(())
    }

    /// Result over the rows checked.
    pub fn finish(self) -> Verification {
        self.found
    }
}

/// Error allowed: that of a transform of as many points, twice as much where one of its lengths has a prime factor that
/// takes a convolution.
fn allowed(problem: &FftProblem) -> f64 {
    let is_convolved = problem.shape.dims().iter().any(|&n| largest_prime_factor(n) > LARGEST_RADIX);
    tolerance(problem.shape.points()) * if is_convolved { 2.0 } else { 1.0 }
}

fn largest_prime_factor(mut n: usize) -> usize {
    let mut factor = 2;
    while factor * factor <= n {
        if n.is_multiple_of(factor) { n /= factor } else { factor += 1 }
    }
    n
}

/// Runs a transform on every input set and compares the rows that are expected. Outputs are `scale` times those of the
/// routine, for libraries that normalise.
pub fn check<'a>(
    problem: &FftProblem,
    mut routine: impl RoutineOutput<Vec<Vec<f32>>> + 'a,
    scale: f64,
    inputs: &FftInputs,
    expected: &ExpectedRows,
) -> Result<Verified<'a>, CaseError> {
    let mut check = RowCheck::new(problem, problem.output(), scale);
    let rows = expected.rows(inputs);
    let checksums = run_and_check(&mut routine, inputs.count(), |set, output: &Vec<Vec<f32>>| {
        rows.iter().filter(|row| row.set == set).try_for_each(|row| check.row(output, [set, row.row], &row.parts))
    })?;
    Ok(Verified::exact(Box::new(routine), checksums, check.finish()))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use firefly_ops::Direction;

    use super::*;
    use crate::suites::fft::problem::{Extent, FftValues, grid};
    use crate::suites::fft::shape::Shapes;

    #[test]
    fn prime_factors_are_found() {
        assert_eq!([1, 2, 12, 97, 4_095, 10_007].map(largest_prime_factor), [1, 2, 3, 97, 13, 10_007]);
    }

    #[test]
    fn a_wrong_value_is_refused() {
        let shapes = Shapes::of(&["15".parse().unwrap()]);
        let extent = Extent::Batches(vec![2]);
        let problem = grid(&[FftValues::Real], &[Direction::Forward], &shapes, &extent).remove(0);
        let inputs = FftInputs::generate(&problem, 1, 1, &Device::flex());
        let expected = ExpectedRows::choose(&problem, 1, 1);
        let rows = expected.rows(&inputs);
        let checked = |change: fn(&mut Vec<Vec<f32>>)| {
            let part = |part: usize| rows.iter().flat_map(|row| &row.parts[part]).map(|&value| value as f32).collect();
            let mut output: Vec<Vec<f32>> = (0..2).map(part).collect();
            change(&mut output);
            let mut check = RowCheck::new(&problem, problem.output(), 1.0);
            rows.iter().try_for_each(|row| check.row(&output, [0, row.row], &row.parts)).map(|()| check.finish())
        };
        let right = checked(|_| ()).unwrap();
        assert!(right.rows == 2 && right.error < 1e-7);
        assert!(checked(|output| output[1][9] += 1e-3).unwrap_err().to_string().contains("row 1: value 1 is off"));
        assert!(checked(|output| output[0][0] = f32::NAN).unwrap_err().to_string().contains("NaN"));
        assert!(checked(|output| output.truncate(1)).unwrap_err().to_string().contains("1 parts came back"));
    }
}
