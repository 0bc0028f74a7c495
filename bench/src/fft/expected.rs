//! What the transforms of chosen rows must be, in float64.

use std::sync::OnceLock;

use firefly_reference::Complex;
use firefly_reference::butterfly::gated_butterfly;
use firefly_reference::dft::dft_bins;
use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::input::Inputs;
use super::network::Network;
use super::problem::TransformProblem;
use crate::json::Verification;
use crate::peaks::tolerance;

/// Values that are checked of the first input set, in whole rows.
const VALUES: usize = 1 << 20;
const FEWEST_ROWS: usize = 8;
/// Bins of a row that the sum of the definition confirms.
const CONFIRMED: usize = 4;
/// How far the reference's butterflies may be from that sum, relative to the row's largest magnitude.
const BUTTERFLY_TOLERANCE: f64 = 1e-11;

/// A transform in host memory: real and imaginary parts, `[batch, n]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Real parts.
    pub re: Vec<f32>,
    /// Imaginary parts.
    pub im: Vec<f32>,
}

/// A row and its transform.
struct ExpectedRow {
    set: usize,
    row: usize,
    values: Vec<Complex>,
}

/// Which rows are checked, and what they become in each network, computed when it is first asked for.
pub struct Expected {
    n: usize,
    batch: usize,
    rows: Vec<(usize, usize)>,
    seed: u64,
    computed: [OnceLock<Result<Vec<ExpectedRow>, String>>; 4],
}

impl Expected {
    /// All rows of the first set where they are few, a random sample with the first and the last row where they are many,
    /// and one row of each of the other sets.
    pub fn new(problem: &TransformProblem, sets: usize, seed: u64) -> Self {
        let most = (VALUES / problem.n).max(FEWEST_ROWS);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut rows: Vec<(usize, usize)> = if problem.batch <= most {
            (0..problem.batch).map(|row| (0, row)).collect()
        } else {
            let inner = index::sample(&mut random, problem.batch - 2, most - 2);
            inner.iter().map(|row| row + 1).chain([0, problem.batch - 1]).map(|row| (0, row)).collect()
        };
        rows.extend((1..sets).map(|set| (set, random.random_range(0..problem.batch))));
        Self { n: problem.n, batch: problem.batch, rows, seed, computed: [const { OnceLock::new() }; 4] }
    }

    /// What was found of a network's output, once every set has been checked.
    ///
    /// # Errors
    /// If the reference's butterflies disagree with the sum of the definition.
    pub fn check(&self, network: Network, inputs: &Inputs) -> Result<Check<'_>, String> {
        let computed = self.computed[network as usize].get_or_init(|| self.compute(network, inputs));
        let rows = computed.as_ref().map_err(Clone::clone)?;
        let found = Verification { rows: 0, tolerance: tolerance(self.n), error: 0.0, ranking: None };
        Ok(Check { n: self.n, batch: self.batch, rows, found })
    }

    fn compute(&self, network: Network, inputs: &Inputs) -> Result<Vec<ExpectedRow>, String> {
        let (twiddles, gates) = match network {
            // The exact transform is what the definition says, not what twiddles rounded to f32 make of it.
            Network::Exact => (firefly_reference::butterfly::exact_twiddles(self.n), None),
            _ => {
                let (twiddles, gates) = inputs.networks().values(network);
                (wide(&twiddles), gates.map(|gates| wide(&gates)))
            }
        };
        let row = |&(set, row): &(usize, usize)| {
            let input: Vec<Complex> = inputs.row(set, row).map(|(re, im)| Complex::new(re.into(), im.into())).collect();
            let values = gated_butterfly(&input, &twiddles, gates.as_deref());
            if network == Network::Exact {
                self.confirm(&input, &values, row).map_err(|error| format!("set {set}, row {row}: {error}"))?;
            }
            Ok(ExpectedRow { set, row, values })
        };
        self.rows.par_iter().map(row).collect()
    }

    fn confirm(&self, input: &[Complex], values: &[Complex], row: usize) -> Result<(), String> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed ^ row as u64);
        let bins: Vec<usize> = (0..CONFIRMED).map(|_| random.random_range(0..self.n)).collect();
        let allowed = BUTTERFLY_TOLERANCE * largest(values);
        for (&bin, sum) in bins.iter().zip(dft_bins(input, &bins)) {
            let error = magnitude(values[bin] - sum);
            if error.is_nan() || error > allowed {
                return Err(format!(
                    "the reference's butterflies give {:?} at bin {bin}, the sum {sum:?}",
                    values[bin]
                ));
            }
        }
        Ok(())
    }
}

/// A check that adds up over sets.
pub struct Check<'a> {
    n: usize,
    batch: usize,
    rows: &'a [ExpectedRow],
    found: Verification,
}

impl Check<'_> {
    /// Checks the rows that are expected of one set.
    ///
    /// # Errors
    /// What is wrong with the first row that is.
    pub fn set(&mut self, set: usize, spectrum: &Spectrum) -> Result<(), String> {
        let (wanted, re, im) = (self.batch * self.n, spectrum.re.len(), spectrum.im.len());
        if re != wanted || im != wanted {
            return Err(format!("{re} real and {im} imaginary parts came back instead of {wanted}"));
        }
        for expected in self.rows.iter().filter(|expected| expected.set == set) {
            let largest = largest(&expected.values);
            for (bin, &value) in expected.values.iter().enumerate() {
                let place = expected.row * self.n + bin;
                let computed = Complex::new(spectrum.re[place].into(), spectrum.im[place].into());
                let error = magnitude(computed - value) / largest;
                if error.is_nan() || error > self.found.tolerance {
                    return Err(format!(
                        "set {set}, row {}: {computed:?} at bin {bin} is {value:?} in the reference: off by {error:.1e} of \
                         the row's maximum, {:.1e} is allowed",
                        expected.row, self.found.tolerance
                    ));
                }
                self.found.error = self.found.error.max(error);
            }
            self.found.rows += 1;
        }
        Ok(())
    }

    /// What was found in the rows checked.
    pub fn finish(self) -> Verification {
        self.found
    }
}

/// `values` in float64.
pub(super) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

fn magnitude(value: Complex) -> f64 {
    value.norm_sqr().sqrt()
}

fn largest(values: &[Complex]) -> f64 {
    values.iter().map(|&value| magnitude(value)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn a_wrong_value_is_refused() {
        let problem = TransformProblem { n: 16, batch: 2, open: 0.5 };
        let inputs = Inputs::generate(&problem, 1, 1, &Device::flex());
        let expected = Expected::new(&problem, 1, 1);
        let spectrum = || {
            let rows = expected.compute(Network::Exact, &inputs).unwrap();
            let values = || rows.iter().flat_map(|row| &row.values);
            Spectrum { re: values().map(|z| z.re as f32).collect(), im: values().map(|z| z.im as f32).collect() }
        };
        let check = |change: fn(&mut Spectrum)| {
            let mut spectrum = spectrum();
            change(&mut spectrum);
            let mut check = expected.check(Network::Exact, &inputs).unwrap();
            check.set(0, &spectrum).map(|()| check.finish())
        };
        let right = check(|_| ()).unwrap();
        assert!(right.rows == 2 && right.error < 1e-7);
        assert!(check(|spectrum| spectrum.im[20] += 1e-3).unwrap_err().contains("row 1"));
        assert!(check(|spectrum| spectrum.re[0] = f32::NAN).unwrap_err().contains("NaN"));
        assert!(check(|spectrum| spectrum.re.truncate(31)).unwrap_err().contains("31 real and 32 imaginary"));
    }

    #[test]
    fn many_rows_are_sampled_with_their_ends() {
        let problem = TransformProblem { n: 65_536, batch: 100, open: 0.5 };
        let rows = Expected::new(&problem, 3, 1).rows;
        assert_eq!(rows.len(), 16 + 2);
        assert!(rows.contains(&(0, 0)) && rows.contains(&(0, 99)));
        assert_eq!([rows[16].0, rows[17].0], [1, 2]);
    }
}
