//! Verification: what a strategy has to prove before it is timed.

use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use super::{CaseError, Inputs, Output, PhaseTraffic, RankedRow, Routine, relative};

/// Result of a verification. Errors are relative to the greatest reference value of their row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Rows compared with the float64 reference.
    pub rows: usize,
    /// Greatest error allowed.
    pub tolerance: f64,
    /// Greatest error found.
    pub error: f64,
    /// Agreement in the choice of peaks; none where nothing is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
}

/// Agreement in the choice of peaks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// Greatest amount by which a bin that was left out exceeds one that was chosen, by the reference; at most twice
    /// the tolerance, and 0 where every choice is the reference's.
    pub error: f64,
    /// Share of peaks at the bin that the reference has at the same rank.
    pub same_bins: f64,
}

/// Accuracy of a trained model on frames it was not trained on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Training steps.
    pub train_steps: usize,
    /// Share of the peaks of eight segments that the model finds at their bin.
    pub recall: f64,
    /// The same share of the exact estimate from as many segments as the model uses.
    pub exact_recall: f64,
}

/// Selection of a strategy that chooses among several ways to compute the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// The selection, such as `fast fused`.
    pub choice: String,
    /// Name of the strategy that makes the same calls, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
}

/// Largest prime factor that transforms have passes for.
const LARGEST_RADIX: usize = 13;

/// Error allowed in float32 of transforms of `points`, relative to a row's greatest value: 2·10⁻⁶ + 5·10⁻⁷·log₁₀(n),
/// twice as much where a prime factor takes a convolution.
pub fn tolerance(points: usize) -> f64 {
    let convolved = if largest_prime_factor(points) > LARGEST_RADIX { 2.0 } else { 1.0 };
    convolved * (2e-6 + 5e-7 * (points as f64).log10())
}

fn largest_prime_factor(mut n: usize) -> usize {
    let mut factor = 2;
    while factor * factor <= n {
        if n.is_multiple_of(factor) { n /= factor } else { factor += 1 }
    }
    n
}

/// Expected values of one row of an output, or of a whole tensor of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedRow {
    pub set: usize,
    pub row: usize,
    /// First tensor that has the row.
    pub tensor: usize,
    /// Values of the row in each of the following tensors: of complex ones real and imaginary parts, of peaks the power
    /// of every bin.
    pub parts: Vec<Vec<f64>>,
}

/// Whole tensors of a set, as rows of their own.
pub fn whole_tensors(set: usize, tensors: Vec<Vec<f64>>) -> impl Iterator<Item = ExpectedRow> {
    tensors.into_iter().enumerate().map(move |(tensor, values)| ExpectedRow {
        set,
        row: 0,
        tensor,
        parts: vec![values],
    })
}

/// What is expected of a routine.
pub struct Expectation {
    pub rows: Arc<Vec<ExpectedRow>>,
    /// Values of every tensor of the output.
    pub sizes: Vec<usize>,
    /// Error allowed, relative to the largest magnitude of a row.
    pub tolerance: f64,
    /// Factor on the output of a library that normalises.
    pub scale: f64,
    /// Peaks per row, and whether bins of exactly equal power must come lower bin first; none where nothing is chosen.
    pub peaks: Option<(usize, bool)>,
    /// Rows of a set where whole tensors are compared.
    pub whole: Option<usize>,
}

impl Expectation {
    /// Rows of an output of as many tensors, with values of `width` in each of `rows` rows.
    pub fn of_rows(expected: Arc<Vec<ExpectedRow>>, [tensors, rows, width]: [usize; 3], tolerance: f64) -> Self {
        Self { rows: expected, sizes: vec![rows * width; tensors], tolerance, scale: 1.0, peaks: None, whole: None }
    }

    /// Whole tensors, of results of as many `rows`.
    pub fn of_tensors(expected: Arc<Vec<ExpectedRow>>, rows: usize, tolerance: f64) -> Self {
        let first = expected.iter().filter(|row| row.set == 0);
        let sizes = first.map(|row| row.parts[0].len()).collect();
        Self { rows: expected, sizes, tolerance, scale: 1.0, peaks: None, whole: Some(rows) }
    }

    /// The `k` strongest bins of rows of power.
    pub fn of_peaks(expected: Arc<Vec<ExpectedRow>>, [rows, k]: [usize; 2], orders_ties: bool, tolerance: f64) -> Self {
        Self { peaks: Some((k, orders_ties)), ..Self::of_rows(expected, [1, rows, k], tolerance) }
    }

    /// Compares an output of a set, and adds to what was found.
    fn compare(&self, set: usize, output: &Output, found: &mut Verification, same: &mut usize) -> Result<()> {
        let got: Vec<usize> = output.parts.iter().map(Vec::len).collect();
        let (bins, expected) = (output.bins.len(), &self.sizes);
        let fits = got == *expected && self.peaks.is_none_or(|_| bins == expected[0]);
        ensure!(fits, "{got:?} values and {bins} bins came back instead of {expected:?}");
        for expected in self.rows.iter().filter(|row| row.set == set) {
            let row = expected.row;
            match self.peaks {
                None => found.error = found.error.max(self.error(output, expected)?),
                Some((k, orders_ties)) => {
                    let places = row * k..(row + 1) * k;
                    let (bins, power) = (&output.bins[places.clone()], &output.parts[0][places]);
                    let ranked = RankedRow { bins, power, expected: &expected.parts[0], orders_ties };
                    let checked = ranked.check(self.tolerance);
                    let agreed = checked.map_err(|reason| anyhow!("set {set}, row {row}: {reason}"))?;
                    found.error = found.error.max(agreed.error);
                    let ranking = found.ranking.get_or_insert(Ranking { error: 0.0, same_bins: 1.0 });
                    ranking.error = ranking.error.max(agreed.ranking_error);
                    *same += agreed.same;
                }
            }
            found.rows += 1;
        }
        Ok(())
    }

    /// The greatest error of a row, relative to its largest magnitude.
    fn error(&self, output: &Output, expected: &ExpectedRow) -> Result<f64> {
        let ExpectedRow { set, row, tensor, parts } = expected;
        let size = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
        let magnitude = |at: usize| size(&mut parts.iter().map(|part| part[at]));
        let width = parts[0].len();
        let largest = (0..width).map(magnitude).fold(0.0, f64::max);
        let mut worst: f64 = 0.0;
        for at in 0..width {
            let computed = |part: usize| self.scale * f64::from(output.parts[tensor + part][row * width + at]);
            let difference = size(&mut (0..parts.len()).map(|part| computed(part) - parts[part][at]));
            let error = relative(difference, largest);
            ensure!(
                error <= self.tolerance,
                "set {set}, row {row}: value {at} of tensor {tensor} is {} instead of {}: off by {error:.1e} of the row's \
                 maximum, {:.1e} is allowed",
                computed(0),
                parts[0][at],
                self.tolerance
            );
            worst = worst.max(error);
        }
        Ok(worst)
    }
}

/// Routine whose result was right for every input set.
pub struct Verified<'a> {
    pub routine: Box<dyn Routine + 'a>,
    /// Checksums of its results, one per input set.
    pub checksums: Vec<u64>,
    /// Result of the comparison with the float64 reference.
    pub verification: Verification,
    /// Bytes that are read and written at least, where these are not the problem's: of a strategy that reads a part of
    /// its input.
    pub useful_bytes: Option<usize>,
    /// Accuracy of a trained model; none for an exact computation.
    pub accuracy: Option<Accuracy>,
    /// Data moved per run; none where it is not counted.
    pub traffic: Option<Box<PhaseTraffic>>,
    pub selected: Option<Selected>,
}

/// Runs a routine on every input set, and compares every result with what is expected of it.
pub fn check<'a>(
    routine: impl Routine + 'a,
    expectation: &Expectation,
    inputs: &Inputs,
) -> Result<Verified<'a>, CaseError> {
    let mut found = Verification { rows: 0, tolerance: expectation.tolerance, error: 0.0, ranking: None };
    let mut same = 0;
    let mut verified =
        check_each(routine, inputs, |set, output| expectation.compare(set, output, &mut found, &mut same))?;
    if let (Some(ranking), Some((k, _))) = (&mut found.ranking, expectation.peaks) {
        ranking.same_bins = same as f64 / (found.rows * k).max(1) as f64;
    }
    if let Some(rows) = expectation.whole {
        found.rows = rows * expectation.rows.chunk_by(|a, b| a.set == b.set).count();
    }
    verified.verification = found;
    Ok(verified)
}

/// Runs a routine on every input set, and shows each result to `compare`.
pub fn check_each<'a>(
    mut routine: impl Routine + 'a,
    inputs: &Inputs,
    mut compare: impl FnMut(usize, &Output) -> Result<()>,
) -> Result<Verified<'a>, CaseError> {
    let mut checksums = Vec::with_capacity(inputs.count());
    for set in 0..inputs.count() {
        routine.restore(set);
        routine.run(set)?;
        compare(set, &routine.output()?)?;
        checksums.push(routine.checksum());
    }
    let verification = Verification { rows: 0, tolerance: 0.0, error: 0.0, ranking: None };
    let routine = Box::new(routine);
    let (useful_bytes, accuracy, traffic, selected) = (None, None, None, None);
    Ok(Verified { routine, checksums, verification, useful_bytes, accuracy, traffic, selected })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of two complex values.
    fn compared(change: impl FnOnce(&mut Output)) -> Result<Verification> {
        let row =
            |row, parts: [[f64; 2]; 2]| ExpectedRow { set: 0, row, tensor: 0, parts: parts.map(Vec::from).into() };
        let rows = Arc::new(vec![row(0, [[3.0, 1.0], [4.0, 0.0]]), row(1, [[0.0, 2.0], [0.0, 0.0]])]);
        let expectation = Expectation::of_rows(rows, [2, 2, 2], 1e-6);
        let mut output = Output { bins: vec![], parts: vec![vec![3.0, 1.0, 0.0, 2.0], vec![4.0, 0.0, 0.0, 0.0]] };
        change(&mut output);
        let mut found = Verification { rows: 0, tolerance: 1e-6, error: 0.0, ranking: None };
        expectation.compare(0, &output, &mut found, &mut 0).map(|()| found)
    }

    #[test]
    fn prime_factors_are_found() {
        assert_eq!([1, 2, 12, 97, 4_095, 10_007].map(largest_prime_factor), [1, 2, 3, 97, 13, 10_007]);
    }

    #[test]
    fn errors_are_relative_to_the_largest_magnitude_of_a_row() {
        assert_eq!(compared(|_| ()).unwrap().rows, 2);
        let found = compared(|output| output.parts[0][1] += 2e-6).unwrap();
        assert!((found.error - 4e-7).abs() < 5e-8, "{found:?}");
    }

    #[test]
    fn wrong_values_and_sizes_are_refused() {
        let refused = |change: fn(&mut Output), reason: &str| {
            let error = compared(change).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        };
        refused(
            |output| output.parts[1][2] = 1e-3,
            "set 0, row 1: value 0 of tensor 0 is 0 instead of 0: off by 5.0e-4",
        );
        refused(|output| output.parts[0][0] = f32::NAN, "off by NaN");
        refused(|output| output.parts[1].truncate(3), "[4, 3] values");
        refused(|output| output.parts.truncate(1), "[4] values");
    }

    #[test]
    fn whole_tensors_are_compared_one_by_one() {
        let rows: Vec<_> = whole_tensors(0, vec![vec![1.0, -4.0], vec![100.0]]).collect();
        let expectation = Expectation::of_tensors(Arc::new(rows), 1, 0.2);
        let mut found = Verification { rows: 0, tolerance: 0.2, error: 0.0, ranking: None };
        let output = Output { bins: vec![], parts: vec![vec![1.0, -3.5], vec![100.0]] };
        expectation.compare(0, &output, &mut found, &mut 0).unwrap();
        assert_eq!((found.error, found.rows), (0.125, 2));
        let wrong = Output { bins: vec![], parts: vec![vec![1.0, -3.0], vec![100.0]] };
        assert!(expectation.compare(0, &wrong, &mut found, &mut 0).is_err());
    }
}
