//! Comparison of peaks: a choice of bins, whose power rounds.

use anyhow::{Context, Result, ensure};
use firefly_reference::peaks::top_k;

/// Computed peaks of a row, strongest first, and the expected power of every bin.
pub struct RankedRow<'a> {
    pub bins: &'a [i64],
    pub power: &'a [f32],
    pub expected: &'a [f64],
    /// Whether bins of equal power must come lower bin first.
    pub orders_ties: bool,
}

/// Agreement of a row that passed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Greatest error of a power, relative to the row's maximum.
    pub error: f64,
    /// Greatest amount by which a bin that was left out exceeds one that was chosen, relative to the row's maximum.
    pub ranking_error: f64,
    /// Peaks at the bin that the reference has at the same rank.
    pub same: usize,
}

impl RankedRow<'_> {
    /// Checks power, order and choice.
    pub fn check(&self, tolerance: f64) -> Result<Agreement> {
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
        }
        self.check_order(filled)?;
        let ranking_error = self.check_choice(&chosen, weakest, largest, tolerance)?;
        let (expected, _) = top_k(self.expected, self.expected.len(), self.bins.len());
        // The powers of a silent row are exact: its peaks are the lowest bins.
        let is_ordered = largest != 0.0 || !self.orders_ties || self.bins == expected;
        ensure!(is_ordered, "equal bins are not in the order of their numbers");
        let same = self.bins.iter().zip(&expected).filter(|(computed, expected)| computed == expected).count();
        Ok(Agreement { error: worst, ranking_error, same })
    }

    fn check_order(&self, filled: usize) -> Result<()> {
        for rank in 1..filled {
            let (before, here) = (self.power[rank - 1], self.power[rank]);
            ensure!(before >= here, "power rises from {before} to {here} at rank {rank}");
            let [left, right] = [self.bins[rank - 1], self.bins[rank]];
            let is_ordered = !self.orders_ties || before != here || left < right;
            ensure!(is_ordered, "bins {left} and {right} tie, the higher first");
        }
        Ok(())
    }

    /// Checks that no bin was left out. Each of two powers may be off by the tolerance, so a bin that was left out may
    /// exceed one that was chosen by twice as much.
    fn check_choice(&self, chosen: &[bool], weakest: f64, largest: f64, tolerance: f64) -> Result<f64> {
        let mut worst: f64 = 0.0;
        let all = self.expected.iter().zip(chosen).enumerate();
        for (bin, (&power, _)) in all.filter(|(_, (power, chosen))| !*chosen && power.is_finite() && **power > weakest)
        {
            let error = relative(power - weakest, largest);
            ensure!(
                error <= 2.0 * tolerance,
                "bin {bin} is missing: its power {power} exceeds {weakest}, which was chosen"
            );
            worst = worst.max(error);
        }
        Ok(worst)
    }
}

/// A difference as a share of the largest value; 0 where there is none.
pub fn relative(difference: f64, largest: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / largest }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: f64 = 2.4e-6;

    /// Three peaks of a row of five bins.
    fn check(bins: [i64; 3], power: [f32; 3], orders_ties: bool) -> Result<Agreement> {
        let expected = &[1.0, 9.0, 4.0, 9.0, 4.000_001];
        RankedRow { bins: &bins, power: &power, expected, orders_ties }.check(TOLERANCE)
    }

    fn silent(bins: [i64; 3], power: [f32; 3], orders_ties: bool) -> Result<Agreement> {
        RankedRow { bins: &bins, power: &power, expected: &[0.0; 5], orders_ties }.check(TOLERANCE)
    }

    fn refused(result: Result<Agreement>, reason: &str) {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn right_peaks_pass() {
        let found = check([1, 3, 4], [9.0, 9.0, 4.000_001], true).unwrap();
        assert!(found.ranking_error == 0.0 && found.same == 3 && found.error < 1e-7);
        assert_eq!(silent([0, 1, 2], [0.0; 3], true).unwrap().same, 3);
    }

    #[test]
    fn a_choice_within_the_tolerance_passes_and_is_counted() {
        let found = check([1, 3, 2], [9.0, 9.0, 4.0], true).unwrap();
        assert!(found.ranking_error > 1e-8 && found.ranking_error < 1e-6 && found.same == 2, "{found:?}");
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
