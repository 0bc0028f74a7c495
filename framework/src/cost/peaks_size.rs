//! Size of a problem of Welch peaks, and of a learned model that computes them.

use firefly_ops::WelchOptions;

use crate::movement::DataMovement;
use crate::profile::AxisInterpolation;

/// Axes of the latency tables of [strategies](super::Strategy), with their interpolation.
pub const PEAKS_AXES: [(&str, AxisInterpolation); 4] = [
    ("n_fft", AxisInterpolation::LogLog),
    ("segments", AxisInterpolation::LogLog),
    ("k", AxisInterpolation::LogLog),
    ("batch", AxisInterpolation::Linear),
];

/// A learned model is a candidate only if it has fewer open butterflies than one in this many.
const LEARNED_SPARSITY: usize = 4;
pub(super) const SAMPLE_BYTES: u64 = 4;
const COMPLEX_BYTES: u64 = 8;
/// A bin of 4 bytes and a power of 4 bytes.
const PEAK_BYTES: u64 = 8;

/// Problem size of Welch peaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeaksSize {
    /// Parameters of the estimate.
    pub options: WelchOptions,
    /// Number of frames.
    pub batch: usize,
    /// Peaks per frame.
    pub k: usize,
}

impl PeaksSize {
    /// Coordinates along [`PEAKS_AXES`].
    pub fn coordinates(&self) -> [f64; 4] {
        [self.options.n_fft, self.options.segments, self.k, self.batch].map(|size| size as f64)
    }

    /// Bytes of the frames: every sample once.
    pub const fn input_bytes(&self) -> u64 {
        self.batch as u64 * self.options.frame() as u64 * SAMPLE_BYTES
    }

    /// Bytes of the peaks.
    pub const fn peaks_bytes(&self) -> u64 {
        self.batch as u64 * self.k as u64 * PEAK_BYTES
    }

    /// Samples of all segments, those of overlapping segments counted in each.
    const fn segment_samples(&self) -> u64 {
        self.batch as u64 * self.options.segments as u64 * self.options.n_fft as u64
    }

    /// Bytes that any strategy has to move: every segment's samples, and the peaks.
    pub const fn useful_bytes(&self) -> u64 {
        self.segment_samples() * SAMPLE_BYTES + self.peaks_bytes()
    }

    /// Data movement on a host that transforms every segment on its own and then searches each frame's spectrum.
    pub const fn host_movement(&self) -> DataMovement {
        let samples = self.segment_samples();
        DataMovement {
            launches: self.batch as u64 * self.options.segments as u64 + self.batch as u64,
            syncs: 0,
            host_output: self.peaks_bytes(),
            traffic: samples * SAMPLE_BYTES + samples * COMPLEX_BYTES + self.peaks_bytes(),
        }
    }
}

/// Size of a learned model, as far as its time depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearnedSize {
    /// Open butterflies per frame.
    pub open: usize,
    /// Butterflies per frame with every gate open.
    pub all: usize,
    /// Open segments per frame.
    pub segments: usize,
    /// Whether it runs on the kernels of exact estimates, as the models that calibration measures do.
    pub exact: bool,
    /// Whether its gain takes products of neighbouring bins.
    pub products: bool,
    /// Closed blocks of bins, which are not searched.
    pub closed_blocks: usize,
    /// Halvings of the transform.
    pub halvings: usize,
}

impl LearnedSize {
    /// Whether so few butterflies are open that the published rules make the model a candidate.
    pub const fn is_sparse(&self) -> bool {
        self.open * LEARNED_SPARSITY < self.all
    }

    /// Segments of the model without products that takes as long. On a host, a segment alone is transformed as a pair
    /// is for its products, and in half the time without them.
    pub(super) const fn timed_segments(&self, on_gpu: bool) -> usize {
        if self.products && !on_gpu { self.segments.next_multiple_of(2) } else { self.segments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_launches_one_transform_per_segment() {
        let size = PeaksSize { options: WelchOptions::new(256, 2), batch: 3, k: 16 };
        let expected = DataMovement { launches: 9, syncs: 0, host_output: 384, traffic: 6144 + 12_288 + 384 };
        assert_eq!(size.host_movement(), expected);
        assert_eq!(size.useful_bytes(), 6144 + 384);
    }
}
