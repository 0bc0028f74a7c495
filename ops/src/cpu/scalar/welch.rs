//! Exact Welch power and peaks through planned transforms.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use crate::cpu::learned::gain;
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::cpu::top_k::{self, top_k_of_bins};
use crate::cpu::welch::estimate::Estimate;
use crate::cpu::welch::segment;

/// As [`estimate_psd`](crate::cpu::welch::estimate_psd).
pub(in crate::cpu) fn welch_psd<T: Real>(signal: &[T], frame_len: usize, estimate: &Estimate<'_, T>, power: &mut [T]) {
    let (n, bins) = (estimate.options.n_fft, estimate.options.bins());
    let welch = PlannedWelch::new(estimate);
    let tasks = Tasks::independent(power.len() / bins, welch.work());
    let pieces = signal.chunks(tasks.rows * frame_len).zip(power.chunks_mut(tasks.rows * bins));
    tasks.run(pieces, |(frames, power)| {
        T::with_scratch(|scratch| {
            let (complex, sums, _) = scratch.buffers(welch.complex_len(), n, 0);
            for (frame, power) in frames.chunks_exact(frame_len).zip(power.chunks_exact_mut(bins)) {
                welch.row(frame, complex, sums, power);
            }
        });
    });
}

/// As [`estimate_peaks`](crate::cpu::welch::estimate_peaks).
pub(in crate::cpu) fn welch_peaks<T: Real>(
    signal: &[T],
    frame_len: usize,
    estimate: &Estimate<'_, T>,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    let (n, bins, searched) = (estimate.options.n_fft, estimate.options.bins(), estimate.options.searched());
    let welch = PlannedWelch::new(estimate);
    let tasks = Tasks::independent(out_bins.len() / k, welch.work() + top_k::work(searched.len(), k));
    let pieces = signal
        .chunks(tasks.rows * frame_len)
        .zip(out_bins.chunks_mut(tasks.rows * k))
        .zip(out_power.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((frames, out_bins), out_power)| {
        T::with_scratch(|scratch| {
            let (complex, real, keys) = scratch.buffers(welch.complex_len(), n + bins, searched.len());
            let (sums, power) = real.split_at_mut(n);
            let outputs = out_bins.chunks_exact_mut(k).zip(out_power.chunks_exact_mut(k));
            for (frame, (out_bins, out_power)) in frames.chunks_exact(frame_len).zip(outputs) {
                welch.row(frame, complex, sums, power);
                top_k_of_bins(power, searched.clone(), keys, out_bins, out_power);
            }
        });
    });
}

/// Values shared by every row of a call.
pub(in crate::cpu) struct PlannedWelch<'a, T> {
    pub estimate: Estimate<'a, T>,
    /// Factor on |X|² summed over segments.
    pub factor: T,
    transform: Arc<dyn Fft<T>>,
}

impl<'a, T: Real> PlannedWelch<'a, T> {
    pub fn new(estimate: &Estimate<'a, T>) -> Self {
        let transform = T::plan(estimate.options.n_fft, FftDirection::Forward);
        Self { estimate: *estimate, factor: estimate.factor(), transform }
    }

    /// Work of a row, in the unit of [`Tasks`].
    pub fn work(&self) -> usize {
        let n = self.estimate.options.n_fft;
        // A planned transform takes about half the time of a gated one.
        self.estimate.segments.count.div_ceil(2) * n * n.max(2).ilog2() as usize / 4
    }

    /// Complex values a row needs: a transform and its scratch.
    pub fn complex_len(&self) -> usize {
        self.estimate.options.n_fft + self.transform.get_inplace_scratch_len()
    }

    /// The power of one frame. `complex` has `complex_len` values, `sums` has `n_fft`.
    pub fn row(&self, frame: &[T], complex: &mut [Complex<T>], sums: &mut [T], power: &mut [T]) {
        for pair in 0..self.estimate.segments.count.div_ceil(2) {
            self.transform_pair(frame, pair, complex);
            add_squares(complex, pair, sums);
        }
        self.fold(sums, power);
        if let Some(gain) = self.estimate.gain {
            gain::apply(gain, power);
        }
    }

    /// The power of a row before the gain from its sums of |Z|² over pairs of segments.
    pub fn fold(&self, sums: &[T], power: &mut [T]) {
        // From two-sided sums to one-sided power. Z = X₁ + i X₂ of two real segments: |Z[k]|² + |Z[n-k]|² = 2 (|X₁[k]|²
        // + |X₂[k]|²), and an interior bin counts twice.
        let mirrored = sums.iter().rev();
        for ((power, &lower), &upper) in power[1..].iter_mut().zip(&sums[1..]).zip(mirrored) {
            *power = self.factor * (lower + upper);
        }
        power[0] = self.factor * sums[0];
        if sums.len().is_multiple_of(2) {
            let nyquist = sums.len() / 2;
            power[nyquist] = self.factor * sums[nyquist];
        }
    }

    /// Puts the transform of x₁ + i x₂ at the start of `complex`, x₁ and x₂ being the windowed segments number 2 pair
    /// and 2 pair + 1, and returns the means that detrending subtracted. The partner of an odd last segment is zero.
    pub fn transform_pair(&self, frame: &[T], pair: usize, complex: &mut [Complex<T>]) -> [T; 2] {
        let Estimate { window, options, segments, .. } = self.estimate;
        let (z, scratch) = complex.split_at_mut(options.n_fft);
        let first = self.segment(frame, 2 * pair);
        let first_offset = segment::offset(first, options.detrend);
        let first = first.iter().zip(window);
        let second_offset = if 2 * pair + 1 < segments.count {
            let second = self.segment(frame, 2 * pair + 1);
            let second_offset = segment::offset(second, options.detrend);
            for ((z, (&x, &w)), &partner) in z.iter_mut().zip(first).zip(second) {
                *z = Complex { re: w * (x - first_offset), im: w * (partner - second_offset) };
            }
            second_offset
        } else {
            for (z, (&x, &w)) in z.iter_mut().zip(first) {
                *z = Complex { re: w * (x - first_offset), im: T::zero() };
            }
            T::zero()
        };
        self.transform.process_with_scratch(z, scratch);
        [first_offset, second_offset]
    }

    /// Segment number `at` of the estimate's.
    pub fn segment<'f>(&self, frame: &'f [T], at: usize) -> &'f [T] {
        let Estimate { options, segments, .. } = self.estimate;
        &frame[segments.index(at) * options.hop..][..options.n_fft]
    }
}

/// Adds |Z|² of a pair of segments, the first number 0, to the sums over all n bins; the first overwrites them.
pub(in crate::cpu) fn add_squares<T: Real>(spectrum: &[Complex<T>], pair: usize, sums: &mut [T]) {
    let spectrum = &spectrum[..sums.len()];
    if pair == 0 {
        sums.iter_mut().zip(spectrum).for_each(|(sum, z)| *sum = z.norm_sqr());
    } else {
        sums.iter_mut().zip(spectrum).for_each(|(sum, z)| *sum += z.norm_sqr());
    }
}
