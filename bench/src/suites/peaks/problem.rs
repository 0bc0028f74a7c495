//! Peaks problem: frames of a Welch estimate, and the number of peaks per frame.

use firefly_models::Tier;
use firefly_ops::options::validate_n_fft;
use firefly_ops::{ArgumentError, WelchOptions, Window, WindowSymmetry};

use crate::harness::parameters::ParameterMap;

/// Window of every problem.
pub const WINDOW: Window = Window::Hann;
/// Symmetry of the window.
pub const SYMMETRY: WindowSymmetry = WindowSymmetry::Periodic;
/// Largest input of a problem, in bytes; larger batches are to be split.
pub const MAX_INPUT_BYTES: usize = 8 << 30;

/// The `k` strongest bins of each of `batch` frames, from a [tier](Tier)'s segments of `n_fft` samples.
///
/// Segments overlap by half; scaling is `power`, detrending `none`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeaksProblem {
    /// Number of segments that are averaged.
    pub tier: Tier,
    /// Options of the estimate.
    pub options: WelchOptions,
    /// Frames.
    pub batch: usize,
    /// Peaks per frame.
    pub k: usize,
}

impl PeaksProblem {
    /// A problem; [`validate`](Self::validate) says whether it can be solved.
    pub const fn new(n_fft: usize, tier: Tier, batch: usize, k: usize) -> Self {
        Self { tier, options: WelchOptions::new(n_fft, tier.segments()), batch, k }
    }

    /// Samples per frame.
    pub const fn frame(&self) -> usize {
        self.options.frame()
    }

    /// Checks that a strategy could solve the problem.
    ///
    /// # Errors
    /// [`ArgumentError`] if `n_fft`, `k` or the input's size is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "welch-peaks";
        self.options.validate(NAME)?;
        validate_n_fft(NAME, "n_fft", self.options.n_fft)?;
        self.options.validate_k(NAME, self.k)?;
        let bytes = self.batch.checked_mul(self.frame() * size_of::<f32>());
        if bytes.is_none_or(|bytes| bytes > MAX_INPUT_BYTES) {
            let most = MAX_INPUT_BYTES / (self.frame() * size_of::<f32>());
            let expected = format_args!("at most {most}, for an input of 8 GiB").to_string();
            return Err(ArgumentError::new(NAME, "batch", self.batch, expected));
        }
        Ok(())
    }

    /// Bytes of the input: every sample once.
    pub const fn input_bytes(&self) -> usize {
        self.batch * self.frame() * size_of::<f32>()
    }

    /// Bytes that any strategy has to move: every sample once, and each peak as a 4-byte bin and a 4-byte power.
    pub const fn useful_bytes(&self) -> usize {
        self.input_bytes() + self.batch * self.k * (size_of::<i32>() + size_of::<f32>())
    }
}

/// Properties of the estimate that all problems share.
pub fn facts() -> ParameterMap {
    let options = PeaksProblem::new(256, Tier::Fast, 1, 1).options;
    ParameterMap::default()
        .with("scaling", options.scaling.to_string())
        .with("window", format!("{WINDOW} {SYMMETRY:?}").to_lowercase())
        .with("hop", "n_fft/2")
        .with("detrend", options.detrend.to_string())
}

/// All problems of a grid, those that share an input next to each other.
pub fn grid(n_ffts: &[usize], tiers: &[Tier], batches: &[usize], ks: &[usize]) -> Vec<PeaksProblem> {
    let mut problems = Vec::new();
    for &n_fft in n_ffts {
        for &tier in tiers {
            for &batch in batches {
                problems.extend(ks.iter().map(|&k| PeaksProblem::new(n_fft, tier, batch, k)));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_the_problem() {
        let problem = PeaksProblem::new(256, Tier::Fast, 10, 16);
        assert_eq!((problem.frame(), problem.input_bytes(), problem.useful_bytes()), (384, 15_360, 16_640));
        assert_eq!(problem.validate(), Ok(()));
    }

    #[test]
    fn parameters_out_of_range_are_errors() {
        let reason =
            |n_fft, batch, k| PeaksProblem::new(n_fft, Tier::Fast, batch, k).validate().unwrap_err().to_string();
        assert_eq!(reason(8, 1, 6), "welch-peaks: `k` is 6, but must be from 1 to the number of bins, 5");
        assert!(reason(100, 1, 1).contains("a power of two from 8 to 65536"));
        assert!(reason(256, usize::MAX, 16).contains("at most 5592405"));
    }

    #[test]
    fn a_grid_is_every_combination() {
        let problems = grid(&[64, 256], &Tier::ALL, &[1, 2], &[4, 8, 16]);
        assert_eq!(problems.len(), 2 * 3 * 2 * 3);
        assert_eq!((problems[0].k, problems[1].k, problems[3].batch), (4, 8, 2));
    }
}
