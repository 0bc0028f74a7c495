//! Expected power of rows, in float64.

use std::sync::Arc;

use firefly_ops::{Detrend, Scaling, WelchOptions};
use firefly_reference::fast_dft::fast_dft;
use firefly_reference::welch::{self, PowerScaling, WelchDefinition};
use firefly_reference::window::{Symmetry, WindowShape, window};

use super::problem::PeaksProblem;
use crate::harness::{CaseError, Expectation, ExpectedRow, Inputs, References, Routine, Verified, check, tolerance};

/// Expected power of the rows that are compared, from a problem's segments.
pub fn expected(problem: &PeaksProblem, inputs: &Inputs, references: &References) -> Arc<Vec<ExpectedRow>> {
    expected_of("", problem, inputs, references)
}

/// [`expected`] of other inputs than the problem's, which `kind` names.
pub fn expected_of(
    kind: &str,
    problem: &PeaksProblem,
    inputs: &Inputs,
    references: &References,
) -> Arc<Vec<ExpectedRow>> {
    let weights = window(WindowShape::Hann, Symmetry::Periodic, problem.options.n_fft);
    let WelchOptions { n_fft, hop, .. } = problem.options;
    let (indices, single) =
        (problem.options.indices(), definition(&problem.options.with_chosen(None).with_segments(1)));
    references.rows(&format!("{kind} segments {indices:?}"), |set, row| {
        let frame = &inputs.row(set, row)[0];
        let mut mean = vec![0.0; problem.options.bins()];
        for index in &indices {
            let power = welch_power(&frame[index * hop..][..n_fft], &weights, &single);
            mean.iter_mut().zip(power).for_each(|(mean, power)| *mean += power / indices.len() as f64);
        }
        vec![mean]
    })
}

/// Checks a routine whose output are the peaks of the `expected` power; `orders_ties` if bins of exactly equal power must
/// come lower bin first, as Firefly's contract says.
pub fn check_peaks<'a>(
    routine: impl Routine + 'a,
    problem: &PeaksProblem,
    inputs: &Inputs,
    expected: Arc<Vec<ExpectedRow>>,
    orders_ties: bool,
) -> Result<Verified<'a>, CaseError> {
    let allowed = tolerance(problem.options.n_fft);
    check(routine, &Expectation::of_peaks(expected, [problem.batch, problem.k], orders_ties, allowed), inputs)
}

/// Averaged one-sided power of a frame, `[bins]`.
pub fn welch_power(frame: &[f64], window: &[f64], options: &WelchDefinition) -> Vec<f64> {
    let mut power = vec![0.0; options.n_fft / 2 + 1];
    let scale = welch::power_scale(window, options.scaling) / options.segments as f64;
    for segment in 0..options.segments {
        let spectrum = fast_dft(&welch::tapered_segment(frame, window, options, segment));
        for (bin, (power, x)) in power.iter_mut().zip(spectrum).enumerate() {
            *power += scale * welch::one_sided_factor(bin, options.n_fft) * x.norm_sqr();
        }
    }
    power
}

/// The options of a Welch estimate as its definition has them.
pub fn definition(options: &WelchOptions) -> WelchDefinition {
    let scaling = match options.scaling {
        Scaling::Power => PowerScaling::Raw,
        Scaling::Spectrum => PowerScaling::Spectrum,
        Scaling::Density { sample_rate } => PowerScaling::Density { sample_rate },
    };
    let WelchOptions { n_fft, hop, segments, detrend, average, .. } = *options;
    assert!(detrend != Detrend::Linear && average == Default::default(), "not in the definition: {options:?}");
    WelchDefinition { n_fft, hop, segments, scaling, remove_mean: detrend == Detrend::Constant }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_that_of_the_definition() {
        for (n_fft, segments) in [(8, 1), (64, 8), (100, 3), (255, 2)] {
            for scaling in [Scaling::Power, Scaling::Spectrum, Scaling::Density { sample_rate: 8.0 }] {
                let options = WelchOptions::new(n_fft, segments).with_scaling(scaling).with_detrend(Detrend::Constant);
                let frame: Vec<f64> = (0..options.frame()).map(|at| 1.0 + (at as f64 * at as f64).sin()).collect();
                let weights = window(WindowShape::Hann, Symmetry::Periodic, n_fft);
                let sum = welch::welch_psd(&frame, frame.len(), &weights, &definition(&options));
                let largest = sum.iter().copied().fold(0.0, f64::max);
                for (fast, sum) in welch_power(&frame, &weights, &definition(&options)).iter().zip(&sum) {
                    assert!((fast - sum).abs() < 1e-12 * largest, "n {n_fft}: {fast} is not {sum}");
                }
            }
        }
    }
}
