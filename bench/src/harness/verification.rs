//! Verification: what a strategy has to prove before it is timed.

#![allow(missing_docs, reason = "bench/SCHEMA.md describes the fields of reports")]

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use firefly_reference::peaks::top_k;
use serde::{Deserialize, Serialize};

use super::{CaseResult, Inputs, Output, PhaseTraffic, Routine};

/// Result of a verification. Errors are relative to the greatest reference value of their row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    pub rows: usize,
    pub tolerance: f64,
    pub error: f64,
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
    pub train_steps: usize,
    pub recall: f64,
    pub exact_recall: f64,
}

/// Selection of a strategy that chooses among several ways to compute the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    pub choice: String,
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
    let row = move |(tensor, values)| ExpectedRow { set, row: 0, tensor, parts: vec![values] };
    tensors.into_iter().enumerate().map(row)
}

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

    /// Compares an output of a set, and adds to what was found, whose `same_bins` counts peaks.
    fn compare(&self, set: usize, output: &Output, found: &mut Verification) -> Result<()> {
        let got: Vec<usize> = output.parts.iter().map(Vec::len).collect();
        let (bins, expected) = (output.bins.len(), &self.sizes);
        let fits = got == *expected && self.peaks.is_none_or(|_| bins == expected[0]);
        ensure!(fits, "{got:?} values and {bins} bins came back instead of {expected:?}");
        for expected in self.rows.iter().filter(|row| row.set == set) {
            let row = expected.row;
            let error = match self.peaks {
                None => self.error(output, expected)?,
                Some((k, orders_ties)) => {
                    let places = row * k..(row + 1) * k;
                    let (bins, power) = (&output.bins[places.clone()], &output.parts[0][places]);
                    let ranked = RankedRow { bins, power, expected: &expected.parts[0], orders_ties };
                    let checked = ranked.check(self.tolerance);
                    let (error, of_row) = checked.map_err(|reason| anyhow!("set {set}, row {row}: {reason}"))?;
                    let ranking = found.ranking.get_or_insert(Ranking { error: 0.0, same_bins: 0.0 });
                    ranking.error = ranking.error.max(of_row.error);
                    ranking.same_bins += of_row.same_bins;
                    error
                }
            };
            found.error = found.error.max(error);
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

impl<'a> Verified<'a> {
    /// Routine with these checksums, of which nothing else is known.
    pub fn new(routine: impl Routine + 'a, checksums: Vec<u64>) -> Self {
        let verification = Verification { rows: 0, tolerance: 0.0, error: 0.0, ranking: None };
        let (useful_bytes, accuracy, traffic, selected) = (None, None, None, None);
        Self { routine: Box::new(routine), checksums, verification, useful_bytes, accuracy, traffic, selected }
    }
}

/// Runs a routine on every input set, and compares every result with what is expected of it.
pub fn check<'a>(routine: impl Routine + 'a, expectation: &Expectation, inputs: &Inputs) -> CaseResult<Verified<'a>> {
    let mut verified = check_each(routine, inputs, |set, output, found| expectation.compare(set, output, found))?;
    let found = &mut verified.verification;
    found.tolerance = expectation.tolerance;
    if let (Some(ranking), Some((k, _))) = (&mut found.ranking, expectation.peaks) {
        ranking.same_bins /= (found.rows * k).max(1) as f64;
    }
    if let Some(rows) = expectation.whole {
        found.rows = rows * expectation.rows.chunk_by(|a, b| a.set == b.set).count();
    }
    Ok(verified)
}

/// Runs a routine on every input set, and shows each result to `compare` with what was found so far.
pub fn check_each<'a>(
    mut routine: impl Routine + 'a,
    inputs: &Inputs,
    compare: impl Fn(usize, &Output, &mut Verification) -> Result<()>,
) -> CaseResult<Verified<'a>> {
    let mut verification = Verification { rows: 0, tolerance: 0.0, error: 0.0, ranking: None };
    let mut checksums = Vec::with_capacity(inputs.count());
    for set in 0..inputs.count() {
        routine.restore(set);
        routine.run(set)?;
        compare(set, &routine.output()?, &mut verification)?;
        checksums.push(routine.checksum());
    }
    Ok(Verified { verification, ..Verified::new(routine, checksums) })
}

/// Computed peaks of a row, strongest first, and the expected power of every bin.
struct RankedRow<'a> {
    bins: &'a [i64],
    power: &'a [f32],
    expected: &'a [f64],
    /// Whether bins of equal power must come lower bin first.
    orders_ties: bool,
}

impl RankedRow<'_> {
    /// Greatest error of a power, relative to the row's maximum, and the ranking, with the number of the same bins.
    fn check(&self, tolerance: f64) -> Result<(f64, Ranking)> {
        let finite = || self.expected.iter().copied().filter(|power| power.is_finite());
        let largest = finite().fold(0.0, f64::max);
        let filled = self.bins.len().min(finite().count());
        let mut chosen = vec![false; self.expected.len()];
        let (mut weakest, mut worst) = (f64::INFINITY, 0.0f64);
        for (rank, (&bin, &power)) in self.bins.iter().zip(self.power).enumerate() {
            if rank >= filled {
                let is_empty = bin == -1 && power.is_nan();
                ensure!(is_empty, "rank {rank} should be empty, but has bin {bin} with power {power}");
                continue;
            }
            let existing = usize::try_from(bin).ok().filter(|&bin| bin < chosen.len());
            let bin = existing.with_context(|| format!("rank {rank} has bin {bin}, which does not exist"))?;
            ensure!(!std::mem::replace(&mut chosen[bin], true), "bin {bin} comes twice");
            let reference = self.expected[bin];
            let error = relative((f64::from(power) - reference).abs(), largest);
            ensure!(
                error <= tolerance,
                "power {power} at bin {bin} is {reference} in the reference: off by {error:.1e} of the row's maximum, \
                 {tolerance:.1e} is allowed"
            );
            worst = worst.max(error);
            weakest = weakest.min(reference);
            if rank > 0 {
                let (before, left) = (self.power[rank - 1], self.bins[rank - 1]);
                ensure!(before >= power, "power rises from {before} to {power} at rank {rank}");
                let is_ordered = !self.orders_ties || before != power || left < self.bins[rank];
                ensure!(is_ordered, "bins {left} and {bin} tie, the higher first");
            }
        }
        // Each of two powers may be off by the tolerance, so a bin that was left out may exceed one that was chosen by
        // twice as much.
        let mut excess = 0.0f64;
        let all = self.expected.iter().zip(chosen).enumerate();
        for (bin, (&power, _)) in all.filter(|(_, (power, chosen))| !chosen && power.is_finite() && **power > weakest) {
            let error = relative(power - weakest, largest);
            let is_close = error <= 2.0 * tolerance;
            ensure!(is_close, "bin {bin} is missing: its power {power} exceeds {weakest}, which was chosen");
            excess = excess.max(error);
        }
        let (expected, _) = top_k(self.expected, self.expected.len(), self.bins.len());
        // The powers of a silent row are exact: its peaks are the lowest bins.
        let is_ordered = largest != 0.0 || !self.orders_ties || self.bins == expected;
        ensure!(is_ordered, "equal bins are not in the order of their numbers");
        let same = self.bins.iter().zip(&expected).filter(|(computed, expected)| computed == expected).count();
        Ok((worst, Ranking { error: excess, same_bins: same as f64 }))
    }
}

/// A difference as a share of the largest value; 0 where there is none.
fn relative(difference: f64, largest: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / largest }
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
        expectation.compare(0, &output, &mut found).map(|()| found)
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
        expectation.compare(0, &output, &mut found).unwrap();
        assert_eq!((found.error, found.rows), (0.125, 2));
        let wrong = Output { bins: vec![], parts: vec![vec![1.0, -3.0], vec![100.0]] };
        assert!(expectation.compare(0, &wrong, &mut found).is_err());
    }

    const TOLERANCE: f64 = 2.4e-6;

    /// Three peaks of a row of five bins.
    fn check(bins: [i64; 3], power: [f32; 3], orders_ties: bool) -> Result<(f64, Ranking)> {
        let expected = &[1.0, 9.0, 4.0, 9.0, 4.000_001];
        RankedRow { bins: &bins, power: &power, expected, orders_ties }.check(TOLERANCE)
    }

    fn silent(bins: [i64; 3], power: [f32; 3], orders_ties: bool) -> Result<(f64, Ranking)> {
        RankedRow { bins: &bins, power: &power, expected: &[0.0; 5], orders_ties }.check(TOLERANCE)
    }

    fn refused(result: Result<(f64, Ranking)>, reason: &str) {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn right_peaks_pass() {
        let (error, ranking) = check([1, 3, 4], [9.0, 9.0, 4.000_001], true).unwrap();
        assert!(ranking == Ranking { error: 0.0, same_bins: 3.0 } && error < 1e-7);
        assert_eq!(silent([0, 1, 2], [0.0; 3], true).unwrap().1.same_bins, 3.0);
    }

    #[test]
    fn a_choice_within_the_tolerance_passes_and_is_counted() {
        let (_, found) = check([1, 3, 2], [9.0, 9.0, 4.0], true).unwrap();
        assert!(found.error > 1e-8 && found.error < 1e-6 && found.same_bins == 2.0, "{found:?}");
    }

    #[test]
    fn corrupted_peaks_are_refused() {
        let power = [9.0, 9.0, 4.000_001];
        refused(check([1, 3, 4], [9.0 * (1.0 + 1e-5), 9.0, 4.000_001], true), "off by 1.0e-5 of the row's maximum");
        refused(check([1, 3, 4], [9.0, f32::NAN, 4.000_001], true), "off by NaN");
        refused(check([5, 3, 4], power, true), "does not exist");
        refused(check([-1, 3, 4], power, true), "does not exist");
        refused(check([1, 1, 4], power, true), "comes twice");
        refused(check([1, 3, 0], [9.0, 9.0, 1.0], true), "bin 2 is missing");
        refused(check([3, 1, 4], power, true), "bins 3 and 1 tie");
        refused(check([4, 3, 1], [4.000_001, 9.0, 9.0], true), "power rises");
        refused(silent([1, 0, 2], [0.0; 3], true), "bins 1 and 0 tie");
        refused(silent([0, 1, 4], [0.0; 3], true), "not in the order of their numbers");
        refused(silent([0, 1, 2], [1e-30, 0.0, 0.0], true), "off by inf");
    }

    #[test]
    fn ties_in_any_order_pass_where_no_order_is_promised() {
        assert!(check([3, 1, 4], [9.0, 9.0, 4.000_001], false).is_ok());
        assert!(silent([0, 1, 4], [0.0; 3], false).is_ok());
    }

    #[test]
    fn rows_with_few_finite_bins_end_empty() {
        let expected = &[f64::NAN, f64::NAN, 7.0, f64::NAN, f64::NAN];
        let verify = |bins: [i64; 2], power: [f32; 2]| {
            RankedRow { bins: &bins, power: &power, expected, orders_ties: true }.check(TOLERANCE)
        };
        assert!(verify([2, -1], [7.0, f32::NAN]).is_ok());
        refused(verify([2, 0], [7.0, f32::NAN]), "should be empty");
    }
}
