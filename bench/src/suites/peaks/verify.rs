//! Verification of peaks.

use firefly_ops::HostPeaks;
use thiserror::Error;

use super::expected::ExpectedPeaks;
use super::inputs::FrameInputs;
use super::problem::PeaksProblem;
use crate::harness::routine::RoutineOutput;
use crate::harness::verification::{CaseError, Ranking, Verification, Verified, run_and_check, tolerance};

/// Difference between computed and expected peaks.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PeaksMismatch {
    /// The output has another size.
    #[error("{bins} bins and {powers} powers came back instead of {expected}")]
    Count {
        /// Bins in the output.
        bins: usize,
        /// Powers in the output.
        powers: usize,
        /// Expected number of either.
        expected: usize,
    },
    /// A row is wrong.
    #[error("set {set}, row {row}: {mismatch}")]
    Row {
        /// Input set.
        set: usize,
        /// Row of the set.
        row: usize,
        /// The difference.
        mismatch: RowMismatch,
    },
}

/// Difference between the computed and the expected peaks of a row.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RowMismatch {
    /// A peak where the row has no finite power left.
    #[error("rank {rank} should be empty, but has bin {bin} with power {power}")]
    NotEmpty {
        /// Rank of the peak, from 0.
        rank: usize,
        /// Its bin.
        bin: i64,
        /// Its power.
        power: f32,
    },
    /// A bin out of range.
    #[error("rank {rank} has bin {bin}, which does not exist")]
    NoSuchBin {
        /// Rank of the peak, from 0.
        rank: usize,
        /// Its bin.
        bin: i64,
    },
    /// A bin that is chosen twice.
    #[error("bin {0} comes twice")]
    Twice(usize),
    /// A power out of tolerance.
    #[error(
        "power {computed} at bin {bin} is {reference} in the reference: off by {error:.1e} of the row's maximum, \
         {tolerance:.1e} is allowed"
    )]
    Power {
        /// Bin of the power.
        bin: usize,
        /// Computed power.
        computed: f32,
        /// Power in the reference.
        reference: f64,
        /// Difference relative to the row's maximum.
        error: f64,
        /// Difference allowed.
        tolerance: f64,
    },
    /// Equal powers of a silent row in another order than that of their bins.
    #[error("equal bins are not in the order of their numbers")]
    SilentOrder,
    /// A peak that is stronger than the one before it.
    #[error("power rises from {before} to {here} at rank {rank}")]
    Rising {
        /// Rank of the stronger peak, from 0.
        rank: usize,
        /// Power before it.
        before: f32,
        /// Its power.
        here: f32,
    },
    /// Equal powers with the higher bin first.
    #[error("bins {0} and {1} tie, the higher first")]
    TieOrder(i64, i64),
    /// A bin that should have been chosen.
    #[error("bin {bin} is missing: its power {power} exceeds {weakest}, which was chosen")]
    Missing {
        /// The bin.
        bin: usize,
        /// Its power in the reference.
        power: f64,
        /// Power in the reference of the weakest chosen bin.
        weakest: f64,
    },
}

/// Verification that accumulates over rows.
struct PeaksVerifier {
    k: usize,
    batch: usize,
    orders_ties: bool,
    rows: usize,
    tolerance: f64,
    error: f64,
    ranking_error: f64,
    same: usize,
}

impl PeaksVerifier {
    /// A verifier of peaks of `problem`; `orders_ties` if bins of equal power must come lower bin first.
    fn new(problem: &PeaksProblem, orders_ties: bool) -> Self {
        Self {
            k: problem.k,
            batch: problem.batch,
            orders_ties,
            rows: 0,
            tolerance: tolerance(problem.options.n_fft),
            error: 0.0,
            ranking_error: 0.0,
            same: 0,
        }
    }

    /// Checks the expected rows of one set.
    ///
    /// # Errors
    /// [`PeaksMismatch`] with the first wrong row.
    fn check<'a>(
        &mut self,
        peaks: &HostPeaks,
        expected: impl IntoIterator<Item = &'a ExpectedPeaks>,
    ) -> Result<(), PeaksMismatch> {
        let (count, bins, powers) = (self.batch * self.k, peaks.bins.len(), peaks.power.len());
        if bins != count || powers != count {
            return Err(PeaksMismatch::Count { bins, powers, expected: count });
        }
        for row in expected {
            let range = row.row * self.k..(row.row + 1) * self.k;
            self.check_row(&peaks.bins[range.clone()], &peaks.power[range], row)
                .map_err(|mismatch| PeaksMismatch::Row { set: row.set, row: row.row, mismatch })?;
        }
        Ok(())
    }

    /// Result over the rows checked.
    fn finish(self) -> Verification {
        let peaks = (self.rows * self.k).max(1);
        let ranking = Ranking { error: self.ranking_error, same_bins: self.same as f64 / peaks as f64 };
        Verification { rows: self.rows, tolerance: self.tolerance, error: self.error, ranking: Some(ranking) }
    }

    fn check_row(&mut self, bins: &[i64], power: &[f32], expected: &ExpectedPeaks) -> Result<(), RowMismatch> {
        let finite = || expected.power.iter().copied().filter(|power| power.is_finite());
        let largest = finite().fold(0.0, f64::max);
        let filled = self.k.min(finite().count());
        let mut chosen = vec![false; expected.power.len()];
        let mut weakest = f64::INFINITY;
        for (rank, (&bin, &computed)) in bins.iter().zip(power).enumerate() {
            if rank >= filled {
                if bin != -1 || !computed.is_nan() {
                    return Err(RowMismatch::NotEmpty { rank, bin, power: computed });
                }
                continue;
            }
            let existing = usize::try_from(bin).ok().filter(|&bin| bin < chosen.len());
            let bin = existing.ok_or(RowMismatch::NoSuchBin { rank, bin })?;
            if std::mem::replace(&mut chosen[bin], true) {
                return Err(RowMismatch::Twice(bin));
            }
            let reference = expected.power[bin];
            let error = relative((f64::from(computed) - reference).abs(), largest);
            if error.is_nan() || error > self.tolerance {
                return Err(RowMismatch::Power { bin, computed, reference, error, tolerance: self.tolerance });
            }
            self.error = self.error.max(error);
            weakest = weakest.min(reference);
        }
        self.check_order(&bins[..filled], &power[..filled])?;
        self.check_choice(&chosen, weakest, largest, expected)?;
        // The powers of a silent row are exact: its peaks are the lowest bins.
        if largest == 0.0 && self.orders_ties && bins != expected.bins {
            return Err(RowMismatch::SilentOrder);
        }
        self.same += bins.iter().zip(&expected.bins).filter(|(computed, expected)| computed == expected).count();
        self.rows += 1;
        Ok(())
    }

    fn check_order(&self, bins: &[i64], power: &[f32]) -> Result<(), RowMismatch> {
        for rank in 1..bins.len() {
            let (before, here) = (power[rank - 1], power[rank]);
            if before < here {
                return Err(RowMismatch::Rising { rank, before, here });
            }
            if self.orders_ties && before == here && bins[rank - 1] > bins[rank] {
                return Err(RowMismatch::TieOrder(bins[rank - 1], bins[rank]));
            }
        }
        Ok(())
    }

    /// Checks that no bin was left out. Each of two powers may be off by the tolerance, so a bin that was left out may
    /// exceed one that was chosen by twice as much.
    fn check_choice(
        &mut self,
        chosen: &[bool],
        weakest: f64,
        largest: f64,
        expected: &ExpectedPeaks,
    ) -> Result<(), RowMismatch> {
        let left_out = expected
            .power
            .iter()
            .zip(chosen)
            .enumerate()
            .filter(|(_, (power, chosen))| !**chosen && power.is_finite() && **power > weakest);
        for (bin, (power, _)) in left_out {
            let error = relative(power - weakest, largest);
            if error > 2.0 * self.tolerance {
                return Err(RowMismatch::Missing { bin, power: *power, weakest });
            }
            self.ranking_error = self.ranking_error.max(error);
        }
        Ok(())
    }
}

fn relative(difference: f64, largest: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / largest }
}

/// Runs a routine on every input set and compares its peaks with the expected ones; `orders_ties` if bins of exactly
/// equal power must come lower bin first, as Firefly's contract says.
///
/// # Errors
/// [`CaseError`] if a run fails, or with the first difference.
pub fn check_peaks<'a>(
    mut routine: Box<dyn RoutineOutput<HostPeaks> + 'a>,
    problem: &PeaksProblem,
    inputs: &FrameInputs,
    expected: &[ExpectedPeaks],
    orders_ties: bool,
) -> Result<Verified<'a>, CaseError> {
    let mut verifier = PeaksVerifier::new(problem, orders_ties);
    let checksums = run_and_check(routine.as_mut(), inputs.count(), |set, peaks| {
        verifier.check(peaks, expected.iter().filter(|row| row.set == set))
    })?;
    Ok(Verified::exact(routine, checksums, verifier.finish()))
}

#[cfg(test)]
mod tests {
    use firefly_models::Tier;

    use super::*;

    /// Two rows of five bins, three peaks each; the second row is silent.
    fn check(change: impl FnOnce(&mut HostPeaks), orders_ties: bool) -> Result<Verification, PeaksMismatch> {
        let row = |row, power: [f64; 5], bins: [i64; 3]| ExpectedPeaks {
            set: 0,
            row,
            power: power.to_vec(),
            bins: bins.to_vec(),
        };
        let expected = [row(0, [1.0, 9.0, 4.0, 9.0, 4.000_001], [1, 3, 4]), row(1, [0.0; 5], [0, 1, 2])];
        let mut peaks = HostPeaks { bins: vec![1, 3, 4, 0, 1, 2], power: vec![9.0, 9.0, 4.000_001, 0.0, 0.0, 0.0] };
        change(&mut peaks);
        let mut verifier = PeaksVerifier::new(&PeaksProblem::new(8, Tier::Ultra, 2, 3), orders_ties);
        verifier.check(&peaks, &expected)?;
        Ok(verifier.finish())
    }

    fn refused(change: impl FnOnce(&mut HostPeaks), reason: &str) {
        let error = check(change, true).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn right_peaks_pass() {
        let found = check(|_| (), true).unwrap();
        assert_eq!((found.rows, found.ranking), (2, Some(Ranking { error: 0.0, same_bins: 1.0 })));
        assert!(found.error < 1e-7);
    }

    #[test]
    fn a_choice_within_the_tolerance_passes_and_is_counted() {
        let found = check(|peaks| (peaks.bins[2], peaks.power[2]) = (2, 4.0), true).unwrap();
        let ranking = found.ranking.unwrap();
        assert!(ranking.error > 1e-8 && ranking.error < 1e-6);
        assert!((ranking.same_bins - 5.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn corrupted_peaks_are_refused() {
        refused(|peaks| peaks.power[0] *= 1.0 + 1e-5, "off by 1.0e-5 of the row's maximum");
        refused(|peaks| peaks.power[1] = f32::NAN, "off by NaN");
        refused(|peaks| peaks.bins[0] = 5, "does not exist");
        refused(|peaks| peaks.bins[0] = -1, "does not exist");
        refused(|peaks| peaks.bins[1] = 1, "comes twice");
        refused(|peaks| (peaks.bins[2], peaks.power[2]) = (0, 1.0), "bin 2 is missing");
        refused(|peaks| (peaks.bins[0], peaks.bins[1]) = (3, 1), "bins 3 and 1 tie");
        refused(|peaks| peaks.bins.swap(3, 4), "bins 1 and 0 tie");
        refused(|peaks| peaks.bins[5] = 4, "not in the order of their numbers");
        refused(|peaks| peaks.power[3] = 1e-30, "off by inf");
        refused(|peaks| peaks.power.truncate(5), "6 bins and 5 powers came back instead of 6");
        refused(
            |peaks| {
                peaks.bins.swap(0, 2);
                peaks.power.swap(0, 2);
            },
            "power rises",
        );
    }

    #[test]
    fn ties_in_any_order_pass_where_no_order_is_promised() {
        assert!(check(|peaks| peaks.bins.swap(0, 1), false).is_ok());
        assert!(check(|peaks| peaks.bins[5] = 4, false).is_ok());
    }

    #[test]
    fn rows_with_few_finite_bins_end_empty() {
        let mut power = vec![f64::NAN; 5];
        power[2] = 7.0;
        let expected = ExpectedPeaks { set: 0, row: 0, power, bins: vec![2, -1] };
        let verify = |bins: [i64; 2], power: [f32; 2]| {
            let peaks = HostPeaks { bins: bins.to_vec(), power: power.to_vec() };
            PeaksVerifier::new(&PeaksProblem::new(8, Tier::Ultra, 1, 2), true).check(&peaks, [&expected])
        };
        assert_eq!(verify([2, -1], [7.0, f32::NAN]), Ok(()));
        assert!(verify([2, 0], [7.0, f32::NAN]).unwrap_err().to_string().contains("should be empty"));
    }
}
