//! Verification of transforms.

use firefly_reference::Complex;
use thiserror::Error;

use super::coefficients::Coefficients;
use super::expected::{ButterflyMismatch, ExpectedTransform, ExpectedTransforms, largest, magnitude};
use super::inputs::ButterflyInputs;
use crate::harness::routine::RoutineOutput;
use crate::harness::verification::{CaseError, Verification, Verified, run_and_check, tolerance};

/// Difference between a computed and an expected transform.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum TransformMismatch {
    /// The output has another size.
    #[error("{re} real and {im} imaginary parts came back instead of {expected}")]
    Count {
        /// Real parts in the output.
        re: usize,
        /// Imaginary parts in the output.
        im: usize,
        /// Expected number of either.
        expected: usize,
    },
    /// A value is out of tolerance.
    #[error(
        "set {set}, row {row}: {computed:?} at bin {bin} is {expected:?} in the reference: off by {error:.1e} of \
         the row's maximum, {tolerance:.1e} is allowed"
    )]
    Value {
        /// Input set.
        set: usize,
        /// Row of the set.
        row: usize,
        /// Bin of the row.
        bin: usize,
        /// Computed value.
        computed: Complex,
        /// Value in the reference.
        expected: Complex,
        /// Difference relative to the row's largest magnitude.
        error: f64,
        /// Difference allowed.
        tolerance: f64,
    },
}

/// Verification that accumulates over sets.
struct TransformVerifier<'a> {
    n: usize,
    batch: usize,
    rows: &'a [ExpectedTransform],
    found: Verification,
}

impl<'a> TransformVerifier<'a> {
    /// A verifier of the output of the transform through `coefficients`.
    ///
    /// # Errors
    /// If the reference's butterflies disagree with the sum of the definition.
    fn new(
        expected: &'a ExpectedTransforms,
        coefficients: Coefficients,
        inputs: &ButterflyInputs,
    ) -> Result<Self, ButterflyMismatch> {
        let rows = expected.rows(coefficients, inputs)?;
        let found = Verification { rows: 0, tolerance: tolerance(expected.n), error: 0.0, ranking: None };
        Ok(Self { n: expected.n, batch: expected.batch, rows, found })
    }

    /// Checks the expected rows of one set.
    ///
    /// # Errors
    /// [`TransformMismatch`] with the first wrong value.
    fn check(&mut self, set: usize, parts: &[Vec<f32>]) -> Result<(), TransformMismatch> {
        let (re, im) = match parts {
            [re, im] => (&re[..], &im[..]),
            _ => (&[][..], &[][..]),
        };
        let expected = self.batch * self.n;
        if re.len() != expected || im.len() != expected {
            return Err(TransformMismatch::Count { re: re.len(), im: im.len(), expected });
        }
        for expected in self.rows.iter().filter(|expected| expected.set == set) {
            let largest = largest(&expected.values);
            for (bin, &value) in expected.values.iter().enumerate() {
                let place = expected.row * self.n + bin;
                let computed = Complex::new(re[place].into(), im[place].into());
                let error = magnitude(computed - value) / largest;
                if error.is_nan() || error > self.found.tolerance {
                    return Err(TransformMismatch::Value {
                        set,
                        row: expected.row,
                        bin,
                        computed,
                        expected: value,
                        error,
                        tolerance: self.found.tolerance,
                    });
                }
                self.found.error = self.found.error.max(error);
            }
            self.found.rows += 1;
        }
        Ok(())
    }

    /// Result over the rows checked.
    fn finish(self) -> Verification {
        self.found
    }
}

/// Runs a transform on every input set and compares what comes out with what is expected of `coefficients`.
pub(super) fn check<'a>(
    coefficients: Coefficients,
    mut routine: impl RoutineOutput<Vec<Vec<f32>>> + 'a,
    inputs: &ButterflyInputs,
    expected: &ExpectedTransforms,
) -> Result<Verified<'a>, CaseError> {
    let mut verifier = TransformVerifier::new(expected, coefficients, inputs).map_err(CaseError::mismatch)?;
    let checksums =
        run_and_check(&mut routine, inputs.count(), |set, parts: &Vec<Vec<f32>>| verifier.check(set, parts))?;
    Ok(Verified::exact(Box::new(routine), checksums, verifier.finish()))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::suites::butterfly::problem::ButterflyProblem;

    #[test]
    fn a_wrong_value_is_refused() {
        let problem = ButterflyProblem { n: 16, batch: 2, open: 0.5 };
        let inputs = ButterflyInputs::generate(&problem, 1, 1, &Device::flex());
        let expected = ExpectedTransforms::new(&problem, 1, 1);
        let check = |change: fn(&mut [Vec<f32>; 2])| {
            let rows = expected.rows(Coefficients::Exact, &inputs).unwrap();
            let part = |part: fn(&Complex) -> f64| {
                rows.iter().flat_map(|row| &row.values).map(|value| part(value) as f32).collect()
            };
            let mut parts = [part(|z| z.re), part(|z| z.im)];
            change(&mut parts);
            let mut verifier = TransformVerifier::new(&expected, Coefficients::Exact, &inputs).unwrap();
            verifier.check(0, &parts).map(|()| verifier.finish())
        };
        let right = check(|_| ()).unwrap();
        assert!(right.rows == 2 && right.error < 1e-7);
        assert!(check(|[_, im]| im[20] += 1e-3).unwrap_err().to_string().contains("row 1"));
        assert!(check(|[re, _]| re[0] = f32::NAN).unwrap_err().to_string().contains("NaN"));
        assert!(check(|[re, _]| re.truncate(31)).unwrap_err().to_string().contains("31 real and 32 imaginary"));
    }
}
