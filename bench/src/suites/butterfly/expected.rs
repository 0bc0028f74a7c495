//! Expected transforms of chosen rows, in float64.

use std::sync::OnceLock;

use firefly_reference::Complex;
use firefly_reference::butterfly::gated_butterfly;
use firefly_reference::dft::dft_bins;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use thiserror::Error;

use super::coefficients::Coefficients;
use super::inputs::ButterflyInputs;
use super::problem::ButterflyProblem;
use crate::harness::sampling::sampled_rows;

/// Values that are checked of the first input set, in whole rows.
const VALUES: usize = 1 << 20;
const FEWEST_ROWS: usize = 8;
/// Bins of a row that the sum of the definition confirms.
const CONFIRMED: usize = 4;
/// Error allowed between the reference's butterflies and that sum, relative to the row's largest magnitude.
const BUTTERFLY_TOLERANCE: f64 = 1e-11;

/// Disagreement between the reference's butterflies and the definition's sum.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("set {set}, row {row}: the reference's butterflies give {butterflies:?} at bin {bin}, the sum {sum:?}")]
pub struct ButterflyMismatch {
    /// Input set.
    pub set: usize,
    /// Row of the set.
    pub row: usize,
    /// Bin of the row.
    pub bin: usize,
    /// Value by the butterflies.
    pub butterflies: Complex,
    /// Value by the sum.
    pub sum: Complex,
}

/// Expected transform of a row.
pub struct ExpectedTransform {
    /// Input set.
    pub set: usize,
    /// Row of the set.
    pub row: usize,
    /// Its transform.
    pub values: Vec<Complex>,
}

/// Rows that are checked, and their transforms with each kind of coefficients, computed on first use.
pub struct ExpectedTransforms {
    pub(super) n: usize,
    pub(super) batch: usize,
    rows: Vec<(usize, usize)>,
    seed: u64,
    computed: [OnceLock<Result<Vec<ExpectedTransform>, ButterflyMismatch>>; 4],
}

impl ExpectedTransforms {
    /// All rows of the first set where they are few, a random sample with the first and the last row where they are
    /// many, and one row of each of the other sets.
    pub fn new(problem: &ButterflyProblem, sets: usize, seed: u64) -> Self {
        let most = (VALUES / problem.n).max(FEWEST_ROWS);
        let rows = sampled_rows(problem.batch, sets, most, seed);
        Self { n: problem.n, batch: problem.batch, rows, seed, computed: [const { OnceLock::new() }; 4] }
    }

    /// Transforms of the chosen rows.
    ///
    /// # Errors
    /// If the reference's butterflies disagree with the sum of the definition.
    pub fn rows(
        &self,
        coefficients: Coefficients,
        inputs: &ButterflyInputs,
    ) -> Result<&[ExpectedTransform], ButterflyMismatch> {
        let computed = self.computed[coefficients as usize].get_or_init(|| self.compute(coefficients, inputs));
        computed.as_deref().map_err(|error| *error)
    }

    fn compute(
        &self,
        coefficients: Coefficients,
        inputs: &ButterflyInputs,
    ) -> Result<Vec<ExpectedTransform>, ButterflyMismatch> {
        let (twiddles, gates) = match coefficients {
            // The exact transform has exact twiddles, not those rounded to f32.
            Coefficients::Exact => (firefly_reference::butterfly::exact_twiddles(self.n), None),
            _ => {
                let (twiddles, gates) = inputs.coefficients().values(coefficients);
                (wide(&twiddles), gates.map(|gates| wide(&gates)))
            }
        };
        let row = |&(set, row): &(usize, usize)| {
            let input: Vec<Complex> = inputs.row(set, row).map(|(re, im)| Complex::new(re.into(), im.into())).collect();
            let values = gated_butterfly(&input, &twiddles, gates.as_deref());
            if coefficients == Coefficients::Exact {
                self.confirm(&input, &values, [set, row])?;
            }
            Ok(ExpectedTransform { set, row, values })
        };
        self.rows.par_iter().map(row).collect()
    }

    fn confirm(&self, input: &[Complex], values: &[Complex], [set, row]: [usize; 2]) -> Result<(), ButterflyMismatch> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed ^ row as u64);
        let bins: Vec<usize> = (0..CONFIRMED).map(|_| random.random_range(0..self.n)).collect();
        let allowed = BUTTERFLY_TOLERANCE * largest(values);
        for (&bin, sum) in bins.iter().zip(dft_bins(input, &bins)) {
            let error = magnitude(values[bin] - sum);
            if error.is_nan() || error > allowed {
                return Err(ButterflyMismatch { set, row, bin, butterflies: values[bin], sum });
            }
        }
        Ok(())
    }
}

/// `values` in float64.
pub(super) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

pub(super) fn magnitude(value: Complex) -> f64 {
    value.norm_sqr().sqrt()
}

pub(super) fn largest(values: &[Complex]) -> f64 {
    values.iter().map(|&value| magnitude(value)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_sampled_with_their_ends() {
        let problem = ButterflyProblem { n: 65_536, batch: 100, open: 0.5 };
        let rows = ExpectedTransforms::new(&problem, 3, 1).rows;
        assert_eq!(rows.len(), 16 + 2);
        assert!(rows.contains(&(0, 0)) && rows.contains(&(0, 99)));
        assert_eq!([rows[16].0, rows[17].0], [1, 2]);
    }
}
