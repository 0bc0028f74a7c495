//! Welch estimate through exact transforms, as both engines take it.

use crate::cpu::learned::gain::{self, PRODUCT_TAPS, is_gain_of, taps_of};
use crate::cpu::real::Real;
use crate::cpu::welch::scaling;
use crate::open_blocks::OpenBlocks;
use crate::options::WelchOptions;

/// Welch estimate of frames: their segments, window and scaling, and a gain of the bins.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct Estimate<'a, T> {
    /// `[n_fft]`.
    pub window: &'a [T],
    pub options: &'a WelchOptions,
    pub segments: FrameSegments<'a>,
    /// `[bins, 3]` or `[bins, 5]`, as in [`gain`](crate::cpu::learned::gain). Without it, power stays as it is.
    pub gain: Option<&'a [T]>,
}

impl<'a, T: Real> Estimate<'a, T> {
    /// Welch's estimate: the mean over all segments.
    pub fn welch(window: &'a [T], options: &'a WelchOptions) -> Self {
        Self { window, options, segments: FrameSegments::all(options), gain: None }
    }

    /// The estimate if it is of f32.
    pub fn as_f32(&self) -> Option<Estimate<'a, f32>> {
        let gain = match self.gain {
            Some(gain) => Some(T::as_f32(gain)?),
            None => None,
        };
        Some(Estimate { window: T::as_f32(self.window)?, options: self.options, segments: self.segments, gain })
    }

    /// Factor on |X|² summed over segments.
    pub fn factor(&self) -> T {
        T::of(scaling::factor(self.window, self.options.scaling) / self.segments.divisor)
    }

    pub fn debug_check(&self) {
        debug_assert_eq!(self.window.len(), self.options.n_fft);
        debug_assert!(self.gain.is_none_or(|gain| is_gain_of(gain, self.options.bins())));
    }

    /// The blocks of bins that are searched for `k` peaks.
    pub fn open_blocks(&self, k: usize) -> OpenBlocks {
        self.gain.map_or(OpenBlocks::ALL, |gain| gain::open_blocks(gain, self.options, k))
    }

    /// Whether the gain takes products of neighbours.
    pub fn has_products(&self) -> bool {
        self.gain.is_some_and(|gain| taps_of(gain, self.options.bins()) == PRODUCT_TAPS)
    }
}

/// Segments of a frame that an estimate sums the power of.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct FrameSegments<'a> {
    /// Their indices, ascending; every index below `count` if `None`.
    indices: Option<&'a [usize]>,
    /// Their number.
    pub count: usize,
    /// Divisor of the sum: their number where the sum becomes a mean.
    pub divisor: f64,
}

impl<'a> FrameSegments<'a> {
    /// All segments of a frame, averaged.
    pub fn all(options: &WelchOptions) -> Self {
        Self { indices: None, count: options.segments, divisor: options.segments as f64 }
    }

    /// The segments with these indices, whose power is multiplied by `weight` each.
    pub fn weighted<T: Real>(indices: &'a [usize], weight: T) -> Self {
        let count = indices.len();
        // A weight that is the reciprocal of their number, as far as `T` has it, is a mean.
        let is_mean = weight == T::of(1.0 / count as f64);
        Self { indices: Some(indices), count, divisor: if is_mean { count as f64 } else { weight.into().recip() } }
    }

    /// Samples of a frame that are read: those of the segments, shared ones counted once.
    pub fn samples(&self, options: &WelchOptions) -> usize {
        let apart = |at: usize| (self.index(at) - self.index(at - 1)) * options.hop;
        (1..self.count).map(|at| apart(at).min(options.n_fft)).sum::<usize>() + options.n_fft
    }

    /// Index in its frame of segment number `at` of these.
    #[inline(always)]
    pub fn index(&self, at: usize) -> usize {
        match self.indices {
            Some(indices) => indices[at],
            None => at,
        }
    }
}
