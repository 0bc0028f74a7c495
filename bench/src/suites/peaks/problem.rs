//! Peaks problem: frames of a Welch estimate, the number of peaks per frame, and the expected power in float64.

use std::sync::Arc;

use burn::tensor::Device;
use firefly_models::testing::{Formulation, StockWelchPeaks};
use firefly_models::{WelchPeaks, WelchPeaksConfig};
use firefly_ops::options::SegmentPlacement;
use firefly_ops::{ArgumentError, Detrend, Scaling, WelchOptions, Window, WindowSymmetry};
use firefly_reference::fast_dft::fast_dft;
use firefly_reference::welch::{self, PowerScaling, WelchDefinition};
use firefly_reference::window::{Symmetry, WindowShape, window};

use crate::harness::{
    CaseError, CaseResult, Expectation, ExpectedRow, Fill, Inputs, MAX_BYTES, ParameterMap, Problem, ProblemSpec,
    Routine, TensorSpec, Verified, check, tolerance,
};

pub const WINDOW: Window = Window::Hann;
pub const SYMMETRY: WindowSymmetry = WindowSymmetry::Periodic;

/// The `k` strongest bins of each of `batch` frames, from a number of segments of `n_fft` samples.
///
/// Segments overlap by half; scaling is `power`, detrending `none`. Where some of a frame's segments are chosen, they are
/// spread evenly over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeaksProblem {
    /// Options of the estimate.
    pub options: WelchOptions,
    /// Frames.
    pub batch: usize,
    /// Peaks per frame.
    pub k: usize,
}

impl PeaksProblem {
    /// A problem; [`validate`](Self::validate) says whether it can be solved.
    pub const fn new(n_fft: usize, segments: usize, batch: usize, k: usize) -> Self {
        Self { options: WelchOptions::new(n_fft, segments), batch, k }
    }

    pub(crate) const fn frame(&self) -> usize {
        self.options.frame()
    }

    /// Checks that a strategy could solve the problem.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "welch-peaks";
        self.options.validate(NAME)?;
        self.options.validate_k(NAME, self.k)?;
        let row = self.frame().saturating_mul(size_of::<f32>());
        if self.batch.saturating_mul(row) > MAX_BYTES {
            let most = MAX_BYTES / row;
            let expected = format_args!("at most {most}, for an input of 8 GiB").to_string();
            return Err(ArgumentError::new(NAME, "batch", self.batch, expected));
        }
        Ok(())
    }

    /// The same problem with its segments spread evenly over frames of `all` segments.
    pub fn spread(self, all: usize) -> Result<Self, ArgumentError> {
        Ok(Self { options: self.options.with_placement(Some(SegmentPlacement::Spread(all)))?, ..self })
    }

    /// The same frames from another number of segments, in the same placement.
    pub fn with_segments(&self, segments: usize) -> Self {
        let adjacent = Self::new(self.options.n_fft, segments, self.batch, self.k);
        match self.options.chosen {
            Some(_) => adjacent.spread(self.options.segments).unwrap_or(adjacent),
            None => adjacent,
        }
    }

    /// Bytes of the samples that these segments of every frame read, each once, and of the peaks.
    pub fn useful_bytes(&self, options: &WelchOptions) -> usize {
        let (samples, _) = options.indices().iter().fold((0, 0), |(samples, end), index| {
            let (start, next) = (index * options.hop, index * options.hop + options.n_fft);
            (samples + next - start.max(end), next)
        });
        self.batch * samples * size_of::<f32>() + self.output_bytes()
    }

    fn output_bytes(&self) -> usize {
        self.batch.saturating_mul(self.k).saturating_mul(size_of::<i32>() + size_of::<f32>())
    }

    pub(crate) fn config(&self) -> WelchPeaksConfig {
        WelchPeaksConfig::new()
            .with_n_fft(self.options.n_fft)
            .with_hop(Some(self.options.hop))
            .with_segments(self.options.averaged())
            .with_placement(self.options.chosen.map(|_| SegmentPlacement::Spread(self.options.segments)))
            .with_k(self.k)
            .with_window(WINDOW)
            .with_symmetry(SYMMETRY)
            .with_scaling(self.options.scaling)
            .with_detrend(self.options.detrend)
    }

    /// The exact model of Burn's own operations on a device.
    pub fn stock_model(&self, device: &Device) -> CaseResult<StockWelchPeaks> {
        if !self.options.n_fft.is_power_of_two() || self.options.n_fft < 2 {
            return Err(CaseError::no_transform("burn-stock"));
        }
        Ok(StockWelchPeaks::new(&self.config(), Formulation::Unfold, device)?)
    }

    pub(crate) fn exact_model(&self, device: &Device) -> Result<WelchPeaks, ArgumentError> {
        self.config().try_init(device)
    }
}

impl Problem for PeaksProblem {
    /// Samples that the segments read count, each once, and each peak as a 4-byte bin and a 4-byte power.
    fn spec(&self) -> ProblemSpec {
        let parameters = ParameterMap::default()
            .with("n_fft", self.options.n_fft)
            .with("segments", self.options.averaged())
            .with("hop", self.options.hop)
            .with("frame", self.frame())
            .with("batch", self.batch)
            .with("k", self.k);
        let parameters = match self.options.chosen {
            Some(_) => parameters.with("spread", self.options.segments),
            None => parameters,
        };
        let inputs = vec![TensorSpec::new([self.batch, self.frame()], Fill::Tones)];
        let refused = self.validate().err().map(CaseError::from);
        let useful_bytes = if refused.is_some() { 0 } else { self.useful_bytes(&self.options) };
        ProblemSpec { useful_bytes, refused, ..ProblemSpec::new(parameters, self.batch, inputs, self.output_bytes()) }
    }
}

/// Properties of the estimate that all problems share.
pub fn facts() -> ParameterMap {
    let options = PeaksProblem::new(256, 2, 1, 1).options;
    ParameterMap::default()
        .with("scaling", options.scaling.to_string())
        .with("window", format!("{WINDOW} {SYMMETRY:?}").to_lowercase())
        .with("hop", "n_fft/2")
        .with("detrend", options.detrend.to_string())
}

/// Expected power of the rows that are compared, from a problem's segments.
pub fn expected(problem: &PeaksProblem, inputs: &Inputs) -> Arc<Vec<ExpectedRow>> {
    let weights = window(WindowShape::Hann, Symmetry::Periodic, problem.options.n_fft);
    let WelchOptions { n_fft, hop, .. } = problem.options;
    let single = definition(&problem.options.with_chosen(None).with_segments(1));
    let indices = problem.options.indices();
    inputs.expected_rows(&format!("segments {indices:?}"), |set, row| {
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
) -> CaseResult<Verified<'a>> {
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
    use firefly_ops::options::SegmentSet;

    use super::*;

    #[test]
    fn sizes_follow_from_the_problem() {
        let problem = PeaksProblem::new(256, 2, 10, 16);
        assert_eq!((problem.frame(), problem.spec().input_bytes(), problem.spec().useful_bytes), (384, 15_360, 16_640));
        assert_eq!(problem.validate(), Ok(()));
        // The third and the sixth of eight segments that overlap by half, and all of two.
        let apart = WelchOptions::new(256, 8).with_chosen(Some(SegmentSet::new([2, 5]).unwrap()));
        assert_eq!(problem.useful_bytes(&apart), 10 * (512 * 4 + 16 * 8));
        assert_eq!(problem.with_segments(1).spec().useful_bytes, 10 * (256 * 4 + 16 * 8));
    }

    #[test]
    fn segments_are_spread_over_longer_frames() {
        let problem = PeaksProblem::new(256, 4, 10, 16).spread(8).unwrap();
        assert_eq!((problem.frame(), problem.config().options()), (256 + 7 * 128, problem.options));
        let parameters = problem.spec().parameters;
        assert_eq!(["segments", "spread"].map(|name| parameters.shown(name)), ["4", "8"]);
        assert_eq!(problem.with_segments(2).options.indices(), [0, 4]);
        assert_eq!(problem.with_segments(8).options, PeaksProblem::new(256, 8, 10, 16).options);
        assert!(problem.spread(7).is_err());
    }

    #[test]
    fn parameters_out_of_range_are_errors() {
        let reason = |n_fft, batch, k| PeaksProblem::new(n_fft, 2, batch, k).validate().unwrap_err().to_string();
        assert_eq!(reason(8, 1, 6), "welch-peaks: `k` is 6, but must be from 1 to the number of bins, 5");
        assert_eq!(PeaksProblem::new(1000, 3, 1, 501).validate(), Ok(()));
        assert!(reason(256, usize::MAX, 16).contains("at most 5592405"));
    }

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
