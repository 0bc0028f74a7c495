//! Problem sizes of a calibration.

use firefly_ops::WelchOptions;

use crate::cost::{PEAKS_AXES, PeaksSize};
use crate::profile::LatencyAxis;

/// Largest input that is timed, in bytes; the time of a larger one is extrapolated from smaller batches.
const MAX_INPUT_BYTES: u64 = 256 << 20;

/// Problem sizes at which strategies are timed: every combination of the values of four axes, and held-out sizes
/// between them.
#[derive(Debug, Clone)]
pub struct CalibrationSizes {
    n_fft: Vec<usize>,
    segments: Vec<usize>,
    k: Vec<usize>,
    batch: Vec<usize>,
    /// Sizes between the values of the axes, at which the error of predictions is measured.
    pub held_out: Vec<PeaksSize>,
}

impl CalibrationSizes {
    /// The sizes of a calibrated profile. Batches are closely spaced, because the batch from which several threads or a
    /// larger kernel are used differs between lengths. K has a value on each side of 16, up to which the search is
    /// faster.
    pub fn full() -> Self {
        let between = [(128, 4, 4), (256, 40, 16), (512, 1000, 16), (1024, 12, 4), (2048, 100, 40), (256, 3000, 64)];
        let held_out = [2, 8]
            .into_iter()
            .flat_map(|segments| between.into_iter().map(move |(n_fft, batch, k)| size(n_fft, segments, k, batch)));
        Self {
            n_fft: vec![64, 256, 1024, 4096],
            segments: vec![1, 2, 8],
            k: vec![4, 16, 17, 64],
            batch: vec![1, 3, 8, 24, 64, 192, 512, 1536, 4096, 32_768],
            held_out: held_out.collect(),
        }
    }

    /// A few sizes, for tests.
    pub fn rough() -> Self {
        Self {
            n_fft: vec![64, 256],
            segments: vec![2],
            k: vec![4, 16],
            batch: vec![1, 64],
            held_out: vec![size(128, 2, 8, 8)],
        }
    }

    /// Axes of the latency tables at [`points`](Self::points).
    pub fn axes(&self) -> Vec<LatencyAxis> {
        let values = [&self.n_fft, &self.segments, &self.k, &self.batch];
        let axis = |((name, interpolation), values): ((&str, _), &Vec<usize>)| LatencyAxis {
            name: name.to_string(),
            interpolation,
            values: values.iter().map(|value| *value as f64).collect(),
        };
        PEAKS_AXES.into_iter().zip(values).map(axis).collect()
    }

    /// Every combination of the axes' values, in row-major order (the last axis changes fastest).
    pub fn points(&self) -> Vec<PeaksSize> {
        let mut points = Vec::new();
        for &n_fft in &self.n_fft {
            for &segments in &self.segments {
                for &k in &self.k {
                    // A short segment has fewer bins than the largest K: all of them is the nearest valid value.
                    let k = k.min(n_fft / 2 + 1);
                    points.extend(self.batch.iter().map(|&batch| size(n_fft, segments, k, batch)));
                }
            }
        }
        points
    }

    /// Whether a size is timed; the time of any other is extrapolated from the first two batches, which always are.
    pub fn is_timed(&self, size: &PeaksSize) -> bool {
        let first = self.batch.iter().take(2).any(|batch| *batch == size.batch);
        first || size.input_bytes() <= MAX_INPUT_BYTES
    }
}

const fn size(n_fft: usize, segments: usize, k: usize, batch: usize) -> PeaksSize {
    PeaksSize { options: WelchOptions::new(n_fft, segments), batch, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_follow_the_order_of_the_axes() {
        let sizes = CalibrationSizes::full();
        let (axes, points) = (sizes.axes(), sizes.points());
        assert_eq!(points.len(), axes.iter().map(|axis| axis.values.len()).product::<usize>());
        assert_eq!((points[1].batch, points[10].k, points[40].options.segments), (3, 16, 2));
        let valid = |size: &PeaksSize| size.options.validate("test").is_ok() && size.k <= size.options.bins();
        assert!(points.iter().chain(&sizes.held_out).all(valid));
        assert!(!sizes.held_out.iter().any(|size| points.contains(size)));
    }

    #[test]
    fn only_large_inputs_are_not_timed() {
        let sizes = CalibrationSizes::full();
        assert!(sizes.is_timed(&size(256, 8, 16, 32_768)));
        assert!(!sizes.is_timed(&size(4096, 8, 16, 32_768)));
        let rough = CalibrationSizes::rough();
        assert!(rough.points().iter().all(|size| rough.is_timed(size)));
    }
}
