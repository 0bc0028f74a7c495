//! Peaks problem: frames of a Welch estimate, and the number of peaks per frame.

use burn::tensor::Device;
use firefly_models::testing::{Formulation, StockWelchPeaks};
use firefly_models::{WelchPeaks, WelchPeaksConfig};
use firefly_ops::options::SegmentPlacement;
use firefly_ops::{ArgumentError, WelchOptions, Window, WindowSymmetry};

use crate::harness::{
    CaseError, Fill, MAX_BYTES, ParameterMap, Problem, ProblemError, TensorSpec, Unsupported, WorkSize,
};

/// Window of every problem.
pub const WINDOW: Window = Window::Hann;
/// Symmetry of the window.
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

    /// Samples per frame.
    pub const fn frame(&self) -> usize {
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

    /// Configuration of the exact module.
    pub fn config(&self) -> WelchPeaksConfig {
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
    pub fn stock_model(&self, device: &Device) -> Result<StockWelchPeaks, CaseError> {
        if !self.options.n_fft.is_power_of_two() || self.options.n_fft < 2 {
            return Err(Unsupported::Transform { library: "burn-stock" }.into());
        }
        Ok(StockWelchPeaks::new(&self.config(), Formulation::Unfold, device)?)
    }

    /// The exact module on a device.
    pub fn exact_model(&self, device: &Device) -> Result<WelchPeaks, ArgumentError> {
        self.config().try_init(device)
    }
}

impl Problem for PeaksProblem {
    fn parameters(&self) -> ParameterMap {
        let parameters = ParameterMap::default()
            .with("n_fft", self.options.n_fft)
            .with("segments", self.options.averaged())
            .with("hop", self.options.hop)
            .with("frame", self.frame())
            .with("batch", self.batch)
            .with("k", self.k);
        match self.options.chosen {
            Some(_) => parameters.with("spread", self.options.segments),
            None => parameters,
        }
    }

    fn check(&self) -> Result<(), ProblemError> {
        Ok(self.validate()?)
    }

    fn rows(&self) -> usize {
        self.batch
    }

    fn inputs(&self) -> Vec<TensorSpec> {
        vec![TensorSpec::new([self.batch, self.frame()], Fill::Tones)]
    }

    /// Samples that the segments read count, each once.
    fn size(&self) -> WorkSize {
        WorkSize { rows: self.batch, useful_bytes: self.useful_bytes(&self.options) }
    }

    /// Each peak as a 4-byte bin and a 4-byte power.
    fn output_bytes(&self) -> usize {
        self.batch * self.k * (size_of::<i32>() + size_of::<f32>())
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

/// All problems of a grid, those that share an input next to each other.
pub fn grid(n_ffts: &[usize], segments: &[usize], batches: &[usize], ks: &[usize]) -> Vec<PeaksProblem> {
    let mut problems = Vec::new();
    for &n_fft in n_ffts {
        for &segments in segments {
            for &batch in batches {
                problems.extend(ks.iter().map(|&k| PeaksProblem::new(n_fft, segments, batch, k)));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use firefly_ops::options::SegmentSet;

    use super::*;

    #[test]
    fn sizes_follow_from_the_problem() {
        let problem = PeaksProblem::new(256, 2, 10, 16);
        assert_eq!((problem.frame(), problem.input_bytes(), problem.size().useful_bytes), (384, 15_360, 16_640));
        assert_eq!(problem.validate(), Ok(()));
        // The third and the sixth of eight segments that overlap by half, and all of two.
        let apart = WelchOptions::new(256, 8).with_chosen(Some(SegmentSet::new([2, 5]).unwrap()));
        assert_eq!(problem.useful_bytes(&apart), 10 * (512 * 4 + 16 * 8));
        assert_eq!(problem.with_segments(1).size().useful_bytes, 10 * (256 * 4 + 16 * 8));
    }

    #[test]
    fn segments_are_spread_over_longer_frames() {
        let problem = PeaksProblem::new(256, 4, 10, 16).spread(8).unwrap();
        assert_eq!((problem.frame(), problem.config().options()), (256 + 7 * 128, problem.options));
        let parameters = problem.parameters();
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
    fn a_grid_is_every_combination() {
        let problems = grid(&[64, 256], &[1, 2, 8], &[1, 2], &[4, 8, 16]);
        assert_eq!(problems.len(), 2 * 3 * 2 * 3);
        assert_eq!((problems[0].k, problems[1].k, problems[3].batch), (4, 8, 2));
    }
}
