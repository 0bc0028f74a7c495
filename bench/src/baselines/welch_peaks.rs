//! Peaks of Welch power on rustfft and realfft: frames through planned transforms and a partial selection on the host,
//! over as many threads as save time.

use std::sync::Arc;

use anyhow::Result;
use firefly_ops::WelchOptions;
use rayon::prelude::*;
use realfft::RealToComplex;
use realfft::num_complex::Complex;
use rustfft::Fft;

use crate::harness::{HostRoutine, Inputs, Output, Routine};

/// Work from which a second thread saves time, in points of transforms times their stages.
const PARALLEL_WORK: usize = 1 << 18;
/// Chunks per thread, so that other threads take over work of one that is interrupted.
const CHUNKS_PER_THREAD: usize = 4;

/// Transform of the segments of a row.
#[derive(Clone)]
pub enum SegmentTransform {
    /// One complex transform of rustfft for two real segments. With Z the transform of x₁ + i·x₂: |Z\[k\]|² +
    /// |Z\[n−k\]|² = 2·(|X₁\[k\]|² + |X₂\[k\]|²), and interior bins of one-sided power count twice. An odd last
    /// segment is paired with zeros.
    Paired(Arc<dyn Fft<f32>>),
    /// One real-input transform of realfft per segment.
    Single(Arc<dyn RealToComplex<f32>>),
}

/// Peaks of every frame of an input set, `k` of each, with a window of `n_fft` weights.
pub fn routine<'a>(
    inputs: &'a Inputs,
    options: &WelchOptions,
    [batch, k]: [usize; 2],
    window: Arc<[f32]>,
    transform: SegmentTransform,
) -> impl Routine + use<'a> {
    let work = batch * options.averaged() * options.n_fft * options.n_fft.ilog2() as usize;
    let threads = rayon::current_num_threads();
    let most = if threads == 1 || work < PARALLEL_WORK { 1 } else { CHUNKS_PER_THREAD * threads };
    let (rows, frame) = (batch.div_ceil(most), options.frame());
    let chunk = RowChunk::new(options, window, transform);
    HostRoutine {
        buffers: (vec![chunk; batch.div_ceil(rows)], vec![0; batch * k], vec![0.0; batch * k]),
        restore: |_: &mut (Vec<RowChunk>, Vec<i32>, Vec<f32>), _: usize| (),
        run: move |(chunks, bins, power): &mut (Vec<RowChunk>, Vec<i32>, Vec<f32>), set: usize| {
            let frames = &inputs.host(set)[0];
            match &mut chunks[..] {
                [chunk] => chunk.peaks(frames, frame, k, bins, power),
                chunks => chunks
                    .par_iter_mut()
                    .zip(frames.par_chunks(rows * frame))
                    .zip(bins.par_chunks_mut(rows * k).zip(power.par_chunks_mut(rows * k)))
                    .with_max_len(1)
                    .try_for_each(|((chunk, frames), (bins, power))| chunk.peaks(frames, frame, k, bins, power)),
            }
        },
        output: |(_, bins, power): &(Vec<RowChunk>, Vec<i32>, Vec<f32>)| Output {
            bins: bins.iter().map(|&bin| bin.into()).collect(),
            parts: vec![power.clone()],
        },
    }
}

#[derive(Clone)]
struct RowChunk {
    transform: SegmentTransform,
    window: Arc<[f32]>,
    /// First samples of the segments in a frame.
    starts: Arc<[usize]>,
    windowed: Vec<f32>,
    spectrum: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    /// Squared magnitudes, summed over segments.
    sums: Vec<f32>,
    power: Vec<f32>,
    keys: Vec<u64>,
}

impl RowChunk {
    fn new(options: &WelchOptions, window: Arc<[f32]>, transform: SegmentTransform) -> Self {
        let (n, bins) = (options.n_fft, options.bins());
        let (points, scratch) = match &transform {
            SegmentTransform::Paired(transform) => (n, transform.get_inplace_scratch_len()),
            SegmentTransform::Single(transform) => (bins, transform.get_scratch_len()),
        };
        Self {
            transform,
            window,
            starts: options.indices().into_iter().map(|index| index * options.hop).collect(),
            windowed: vec![0.0; n],
            spectrum: vec![Complex::default(); points],
            scratch: vec![Complex::default(); scratch],
            sums: vec![0.0; points],
            power: vec![0.0; bins],
            keys: vec![0; bins],
        }
    }

    fn peaks(&mut self, frames: &[f32], frame: usize, k: usize, bins: &mut [i32], peaks: &mut [f32]) -> Result<()> {
        let transform = self.transform.clone();
        let outputs = bins.chunks_exact_mut(k).zip(peaks.chunks_exact_mut(k));
        for (frame, (bins, peaks)) in frames.chunks_exact(frame).zip(outputs) {
            match &transform {
                SegmentTransform::Paired(transform) => self.paired_power(&**transform, frame),
                SegmentTransform::Single(transform) => self.single_power(&**transform, frame)?,
            }
            strongest(&self.power, &mut self.keys, bins, peaks);
        }
        Ok(())
    }

    fn paired_power(&mut self, transform: &dyn Fft<f32>, frame: &[f32]) {
        let (n, segments) = (self.window.len(), self.starts.len());
        for first in (0..segments).step_by(2) {
            let segment = |index: usize| &frame[self.starts[index]..][..n];
            let windowed = self.spectrum.iter_mut().zip(segment(first)).zip(&self.window[..]);
            if first + 1 < segments {
                for (((z, &re), &weight), &im) in windowed.zip(segment(first + 1)) {
                    *z = Complex { re: weight * re, im: weight * im };
                }
            } else {
                for ((z, &re), &weight) in windowed {
                    *z = Complex { re: weight * re, im: 0.0 };
                }
            }
            transform.process_with_scratch(&mut self.spectrum, &mut self.scratch);
            self.add_squares(first == 0);
        }
        let (mean, interior) = (1.0 / segments as f32, n.div_ceil(2));
        self.power[0] = mean * self.sums[0];
        let bins = self.sums[1..interior].iter().zip(self.sums[n - interior + 1..].iter().rev());
        self.power[1..interior].iter_mut().zip(bins).for_each(|(power, (bin, mirror))| *power = mean * (bin + mirror));
        if n.is_multiple_of(2) {
            self.power[n / 2] = mean * self.sums[n / 2];
        }
    }

    fn single_power(&mut self, transform: &dyn RealToComplex<f32>, frame: &[f32]) -> Result<()> {
        let n = self.window.len();
        for index in 0..self.starts.len() {
            let segment = &frame[self.starts[index]..][..n];
            for ((y, &x), &weight) in self.windowed.iter_mut().zip(segment).zip(&self.window[..]) {
                *y = weight * x;
            }
            transform.process_with_scratch(&mut self.windowed, &mut self.spectrum, &mut self.scratch)?;
            self.add_squares(index == 0);
        }
        // Interior bins stand for their mirror images too.
        let mean = 1.0 / self.starts.len() as f32;
        self.power.iter_mut().zip(&self.sums).for_each(|(power, sum)| *power = 2.0 * mean * sum);
        self.power[0] *= 0.5;
        if n.is_multiple_of(2) {
            self.power[n / 2] *= 0.5;
        }
        Ok(())
    }

    /// Adds the squared magnitudes of the spectrum to the sums, which begin anew with the first segment.
    fn add_squares(&mut self, is_first: bool) {
        let squares = self.sums.iter_mut().zip(&self.spectrum);
        if is_first {
            squares.for_each(|(sum, z)| *sum = z.norm_sqr());
        } else {
            squares.for_each(|(sum, z)| *sum += z.norm_sqr());
        }
    }
}

/// Writes the `bins.len()` strongest bins of `power`, strongest first, lower bin first among equals; −1 and NaN where
/// there are too few finite ones. `keys` has the length of `power` and is overwritten.
///
/// Power is not negative, so its bits are in its order. A key is those bits above the inverted bin: one integer
/// comparison then settles both power and tie, and the selection has no data-dependent closure to call.
pub fn strongest(power: &[f32], keys: &mut [u64], bins: &mut [i32], peaks: &mut [f32]) {
    for (bin, (key, &power)) in keys.iter_mut().zip(power).enumerate() {
        let bits = if power.is_finite() { u64::from(power.to_bits()) + 1 } else { 0 };
        *key = bits << 32 | u64::from(!(bin as u32));
    }
    let k = bins.len();
    let head = if k < keys.len() {
        let first = keys.len() - k;
        keys.select_nth_unstable(first);
        &mut keys[first..]
    } else {
        keys
    };
    head.sort_unstable();
    for ((&key, bin), peak) in head.iter().rev().zip(bins).zip(peaks) {
        (*bin, *peak) = match (key >> 32) as u32 {
            0 => (-1, f32::NAN),
            bits => (!(key as u32) as i32, f32::from_bits(bits - 1)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top(power: &[f32], k: usize) -> (Vec<i32>, Vec<f32>) {
        let (mut keys, mut bins, mut peaks) = (vec![0; power.len()], vec![0; k], vec![0.0; k]);
        strongest(power, &mut keys, &mut bins, &mut peaks);
        (bins, peaks)
    }

    #[test]
    fn strongest_first_and_lower_bins_among_equals() {
        assert_eq!(top(&[1.0, 5.0, 3.0, 5.0, 0.0], 3), (vec![1, 3, 2], vec![5.0, 5.0, 3.0]));
        assert_eq!(top(&[0.0, 0.0, 0.0], 2), (vec![0, 1], vec![0.0, 0.0]));
        assert_eq!(top(&[2.0, 1.0], 2).0, [0, 1]);
    }

    #[test]
    fn non_finite_power_is_never_selected() {
        let (bins, peaks) = top(&[f32::NAN, 1.0, f32::INFINITY], 3);
        assert_eq!(bins, [1, -1, -1]);
        assert!(peaks[0] == 1.0 && peaks[1].is_nan() && peaks[2].is_nan());
    }
}
