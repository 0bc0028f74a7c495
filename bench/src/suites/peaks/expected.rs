//! Expected peaks of chosen rows, in float64.

use firefly_models::Tier;
use firefly_ops::{Detrend, Scaling, WelchOptions};
use firefly_reference::{peaks, welch, window};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rustfft::FftPlanner;
use rustfft::num_complex::Complex;
use thiserror::Error;

use super::inputs::FrameInputs;
use super::problem::PeaksProblem;
use crate::harness::sampling::sampled_rows;

/// Longest segment whose bins all come from the reference's own sum. Beyond it, that sum would take longer than the
/// measurement: a float64 transform gives the bins, and the reference confirms some of them in each row.
const LONGEST_SUM: usize = 512;
/// Strongest bins of a row that the reference confirms, and as many others.
const CONFIRMED: usize = 16;
/// Error allowed between the float64 transform and the reference, relative to the row's maximum.
const TRANSFORM_TOLERANCE: f64 = 1e-11;
/// Samples that are checked of the first input set, in whole rows.
const SAMPLES: usize = 1 << 20;
const FEWEST_ROWS: usize = 8;
const MOST_ROWS: usize = 256;

/// Expected power and peaks of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedPeaks {
    /// Input set.
    pub set: usize,
    /// Row of the set.
    pub row: usize,
    /// Power of every bin.
    pub power: Vec<f64>,
    /// The strongest bins of that power.
    pub bins: Vec<i64>,
}

/// Disagreement between the float64 transform and the definition's sum.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("the float64 transform gives {transformed} at bin {bin} of row {row}, the reference {reference}")]
pub struct ReferenceMismatch {
    /// Row of the input set.
    pub row: usize,
    /// Bin of the row.
    pub bin: usize,
    /// Power by the transform.
    pub transformed: f64,
    /// Power by the definition.
    pub reference: f64,
}

/// Expected peaks: of all rows of the first set where they are few, of a random sample with the first and the last row
/// where they are many, and of one row of each of the other sets.
///
/// # Errors
/// [`ReferenceMismatch`] if the float64 transform disagrees with the reference.
pub fn expected(
    problem: &PeaksProblem,
    inputs: &FrameInputs,
    seed: u64,
) -> Result<Vec<ExpectedPeaks>, ReferenceMismatch> {
    let rows = chosen_rows(problem, inputs.count(), seed);
    rows.into_par_iter().map(|(set, row)| expected_row(problem, inputs, set, row, seed)).collect()
}

/// Expected peaks of the same rows as `rows`, from the segments of another tier.
///
/// # Errors
/// [`ReferenceMismatch`] if the float64 transform disagrees with the reference.
pub fn expected_at(
    tier: Tier,
    problem: &PeaksProblem,
    inputs: &FrameInputs,
    rows: &[ExpectedPeaks],
) -> Result<Vec<ExpectedPeaks>, ReferenceMismatch> {
    let problem = PeaksProblem::new(problem.options.n_fft, tier, problem.batch, problem.k);
    rows.par_iter().map(|row| expected_row(&problem, inputs, row.set, row.row, 0)).collect()
}

fn chosen_rows(problem: &PeaksProblem, sets: usize, seed: u64) -> Vec<(usize, usize)> {
    let most = (SAMPLES / problem.frame()).clamp(FEWEST_ROWS, MOST_ROWS);
    sampled_rows(problem.batch, sets.min(most), most, seed)
}

fn expected_row(
    problem: &PeaksProblem,
    inputs: &FrameInputs,
    set: usize,
    row: usize,
    seed: u64,
) -> Result<ExpectedPeaks, ReferenceMismatch> {
    let options = &problem.options;
    let frame: Vec<f64> = inputs.row(set, row)[..options.frame()].iter().map(|&sample| sample.into()).collect();
    let window = window::window(window::WindowShape::Hann, window::Symmetry::Periodic, options.n_fft);
    let power = if options.n_fft <= LONGEST_SUM {
        welch::welch_psd(&frame, frame.len(), &window, &definition(options))
    } else {
        let power = transformed_power(problem, &frame, &window);
        let (mut bins, _) = peaks::top_k(&power, options.bins(), problem.k.min(CONFIRMED));
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ row as u64);
        bins.extend((0..CONFIRMED).map(|_| random.random_range(0..options.bins() as i64)));
        let bins: Vec<usize> = bins.into_iter().filter_map(|bin| bin.try_into().ok()).collect();
        let confirmed = welch::welch_psd_bins(&frame, frame.len(), &window, &definition(options), &bins);
        let allowed = TRANSFORM_TOLERANCE * power.iter().copied().fold(0.0, f64::max);
        for (&bin, &reference) in bins.iter().zip(&confirmed) {
            let error = (power[bin] - reference).abs();
            if error.is_nan() || error > allowed {
                return Err(ReferenceMismatch { row, bin, transformed: power[bin], reference });
            }
        }
        power
    };
    let (bins, _) = peaks::top_k(&power, options.bins(), problem.k);
    Ok(ExpectedPeaks { set, row, power, bins })
}

/// Welch power of a frame by a float64 transform.
fn transformed_power(problem: &PeaksProblem, frame: &[f64], window: &[f64]) -> Vec<f64> {
    let options = &problem.options;
    let transform = FftPlanner::<f64>::new().plan_fft_forward(options.n_fft);
    let mut power = vec![0.0; options.bins()];
    for index in 0..options.segments {
        let segment = &frame[index * options.hop..];
        let mut spectrum: Vec<Complex<f64>> = segment.iter().zip(window).map(|(x, w)| (x * w).into()).collect();
        transform.process(&mut spectrum);
        for (bin, (power, x)) in power.iter_mut().zip(&spectrum).enumerate() {
            *power += welch::one_sided_factor(bin, options.n_fft) * x.norm_sqr() / options.segments as f64;
        }
    }
    power
}

/// The options of a Welch estimate as its definition has them.
pub fn definition(options: &WelchOptions) -> welch::WelchDefinition {
    let scaling = match options.scaling {
        Scaling::Power => welch::PowerScaling::Raw,
        Scaling::Spectrum => welch::PowerScaling::Spectrum,
        Scaling::Density { sample_rate } => welch::PowerScaling::Density { sample_rate },
    };
    let WelchOptions { n_fft, hop, segments, detrend, .. } = *options;
    welch::WelchDefinition { n_fft, hop, segments, scaling, remove_mean: detrend == Detrend::Constant }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn rows_are_between_the_fewest_and_the_most() {
        let rows = |n_fft, tier, batch| chosen_rows(&PeaksProblem::new(n_fft, tier, batch, 4), 1, 1).len();
        assert_eq!(rows(256, Tier::Fast, 5), 5);
        assert_eq!(rows(256, Tier::Fast, 10_000), MOST_ROWS);
        assert_eq!(rows(65_536, Tier::Reference, 100), FEWEST_ROWS);
    }

    #[test]
    fn expected_power_equals_the_sum_of_the_definition() {
        for (n_fft, tier) in [(64, Tier::Reference), (512, Tier::Fast), (1024, Tier::Ultra)] {
            let problem = PeaksProblem::new(n_fft, tier, 2, 4);
            let inputs = FrameInputs::generate(&problem, 3, 1, &Device::flex());
            let frame: Vec<f64> = inputs.row(0, 1).iter().map(|&sample| sample.into()).collect();
            let window = window::window(window::WindowShape::Hann, window::Symmetry::Periodic, n_fft);
            let sum = welch::welch_psd(&frame, frame.len(), &window, &definition(&problem.options));
            let largest = sum.iter().copied().fold(0.0, f64::max);
            for (a, b) in transformed_power(&problem, &frame, &window).iter().zip(&sum) {
                assert!((a - b).abs() <= TRANSFORM_TOLERANCE * largest, "n {n_fft}: {a} is not {b}");
            }
            let rows = expected(&problem, &inputs, 1).unwrap();
            assert_eq!((rows.len(), rows[1].bins.len()), (2, 4));
        }
    }
}
