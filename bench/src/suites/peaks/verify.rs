//! Whether computed peaks are right.

use firefly_ops::HostPeaks;

use super::expected::ExpectedRow;
use super::inputs::Inputs;
use super::problem::PeaksProblem;
use crate::harness::routine::Produces;
use crate::harness::verification::{Ranking, Refusal, Verification, Verified, run_and_check, tolerance};

/// Checks as they add up over rows.
struct Verifier {
    k: usize,
    batch: usize,
    orders_ties: bool,
    rows: usize,
    tolerance: f64,
    error: f64,
    ranking_error: f64,
    same: usize,
}

impl Verifier {
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

    /// Checks the rows that are expected of one set.
    ///
    /// # Errors
    /// What is wrong with the first row that is.
    fn check<'a>(
        &mut self,
        peaks: &HostPeaks,
        expected: impl IntoIterator<Item = &'a ExpectedRow>,
    ) -> Result<(), String> {
        let (wanted, bins, power) = (self.batch * self.k, peaks.bins.len(), peaks.power.len());
        if bins != wanted || power != wanted {
            return Err(format!("{bins} bins and {power} powers came back instead of {wanted}"));
        }
        for row in expected {
            let range = row.row * self.k..(row.row + 1) * self.k;
            self.check_row(&peaks.bins[range.clone()], &peaks.power[range], row)
                .map_err(|error| format!("set {}, row {}: {error}", row.set, row.row))?;
        }
        Ok(())
    }

    /// What was found in the rows checked.
    fn finish(self) -> Verification {
        let peaks = (self.rows * self.k).max(1);
        let ranking = Ranking { error: self.ranking_error, same_bins: self.same as f64 / peaks as f64 };
        Verification { rows: self.rows, tolerance: self.tolerance, error: self.error, ranking: Some(ranking) }
    }

    fn check_row(&mut self, bins: &[i64], power: &[f32], expected: &ExpectedRow) -> Result<(), String> {
        let finite = || expected.power.iter().copied().filter(|power| power.is_finite());
        let largest = finite().fold(0.0, f64::max);
        let filled = self.k.min(finite().count());
        let mut chosen = vec![false; expected.power.len()];
        let mut weakest = f64::INFINITY;
        for (rank, (&bin, &computed)) in bins.iter().zip(power).enumerate() {
            if rank >= filled {
                if bin != -1 || !computed.is_nan() {
                    return Err(format!("rank {rank} should be empty, but has bin {bin} with power {computed}"));
                }
                continue;
            }
            let slot = usize::try_from(bin).ok().filter(|&bin| bin < chosen.len());
            let bin = slot.ok_or_else(|| format!("rank {rank} has bin {bin}, which does not exist"))?;
            if std::mem::replace(&mut chosen[bin], true) {
                return Err(format!("bin {bin} comes twice"));
            }
            let reference = expected.power[bin];
            let error = relative((f64::from(computed) - reference).abs(), largest);
            if error.is_nan() || error > self.tolerance {
                return Err(format!(
                    "power {computed} at bin {bin} is {reference} in the reference: off by {error:.1e} of the row's \
                     maximum, {:.1e} is allowed",
                    self.tolerance
                ));
            }
            self.error = self.error.max(error);
            weakest = weakest.min(reference);
        }
        self.check_order(&bins[..filled], &power[..filled])?;
        self.check_choice(&chosen, weakest, largest, expected)?;
        // Silence leaves no rounding to hide behind: its ties are exact.
        if largest == 0.0 && self.orders_ties && bins != expected.bins {
            return Err("equal bins are not in the order of their numbers".into());
        }
        self.same += bins.iter().zip(&expected.bins).filter(|(computed, expected)| computed == expected).count();
        self.rows += 1;
        Ok(())
    }

    fn check_order(&self, bins: &[i64], power: &[f32]) -> Result<(), String> {
        for rank in 1..bins.len() {
            let (before, here) = (power[rank - 1], power[rank]);
            if before < here {
                return Err(format!("power rises from {before} to {here} at rank {rank}"));
            }
            if self.orders_ties && before == here && bins[rank - 1] > bins[rank] {
                return Err(format!("bins {} and {} tie, the higher first", bins[rank - 1], bins[rank]));
            }
        }
        Ok(())
    }

    /// Each of two powers may be off by the tolerance, so a bin that was left out may exceed one that was chosen by
    /// twice as much.
    fn check_choice(
        &mut self,
        chosen: &[bool],
        weakest: f64,
        largest: f64,
        expected: &ExpectedRow,
    ) -> Result<(), String> {
        let left_out = expected
            .power
            .iter()
            .zip(chosen)
            .enumerate()
            .filter(|(_, (power, chosen))| !**chosen && power.is_finite() && **power > weakest);
        for (bin, (power, _)) in left_out {
            let error = relative(power - weakest, largest);
            if error > 2.0 * self.tolerance {
                return Err(format!("bin {bin} is missing: its power {power} exceeds {weakest}, which was chosen"));
            }
            self.ranking_error = self.ranking_error.max(error);
        }
        Ok(())
    }
}

fn relative(difference: f64, largest: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / largest }
}

/// Runs a workload on every input set and compares its peaks with those expected; `orders_ties` if bins of exactly
/// equal power must come lower bin first, as Firefly's contract says.
///
/// # Errors
/// [`Refusal::Failed`] with the first thing that is wrong.
pub fn check_peaks<'a>(
    mut workload: Box<dyn Produces<HostPeaks> + 'a>,
    problem: &PeaksProblem,
    inputs: &Inputs,
    expected: &[ExpectedRow],
    orders_ties: bool,
) -> Result<Verified<'a>, Refusal> {
    let mut verifier = Verifier::new(problem, orders_ties);
    let checksums = run_and_check(workload.as_mut(), inputs.count(), |set, peaks| {
        verifier.check(peaks, expected.iter().filter(|row| row.set == set))
    })?;
    Ok(Verified::exact(workload, checksums, verifier.finish()))
}

#[cfg(test)]
mod tests {
    use firefly_models::Tier;

    use super::*;

    /// Two rows of five bins, three peaks each; the second row is silent.
    fn check(change: impl FnOnce(&mut HostPeaks), orders_ties: bool) -> Result<Verification, String> {
        let row = |row, power: [f64; 5], bins: [i64; 3]| ExpectedRow {
            set: 0,
            row,
            power: power.to_vec(),
            bins: bins.to_vec(),
        };
        let expected = [row(0, [1.0, 9.0, 4.0, 9.0, 4.000_001], [1, 3, 4]), row(1, [0.0; 5], [0, 1, 2])];
        let mut peaks = HostPeaks { bins: vec![1, 3, 4, 0, 1, 2], power: vec![9.0, 9.0, 4.000_001, 0.0, 0.0, 0.0] };
        change(&mut peaks);
        let mut verifier = Verifier::new(&PeaksProblem::new(8, Tier::Ultra, 2, 3), orders_ties);
        verifier.check(&peaks, &expected)?;
        Ok(verifier.finish())
    }

    fn refused(change: impl FnOnce(&mut HostPeaks), reason: &str) {
        let error = check(change, true).unwrap_err();
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
        let expected = ExpectedRow { set: 0, row: 0, power, bins: vec![2, -1] };
        let verify = |bins: [i64; 2], power: [f32; 2]| {
            let peaks = HostPeaks { bins: bins.to_vec(), power: power.to_vec() };
            Verifier::new(&PeaksProblem::new(8, Tier::Ultra, 1, 2), true).check(&peaks, [&expected])
        };
        assert_eq!(verify([2, -1], [7.0, f32::NAN]), Ok(()));
        assert!(verify([2, 0], [7.0, f32::NAN]).unwrap_err().contains("should be empty"));
    }
}
