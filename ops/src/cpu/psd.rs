//! Welch power spectra with exact transforms.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::parallel::Tasks;
use super::real::Real;
use super::{scaling, segment, simd};
use crate::options::WelchOptions;

/// One-sided Welch power of every row: `signal` `[rows, frame_len]`, `window` `[n_fft]` → `power` `[rows, bins]`.
///
/// `power[k]` is the mean over segments of c_k |X\[k\]|², times the factor of the scaling, with c_k = 1 at DC and
/// Nyquist and 2 between (Welch, 1967). A non-finite sample in a segment makes every bin of its row non-finite, and
/// leaves the other rows alone.
pub fn welch_psd<T: Real>(signal: &[T], frame_len: usize, window: &[T], options: &WelchOptions, power: &mut [T]) {
    let bins = options.bins();
    let rows = power.len() / bins;
    debug_assert_eq!(power.len(), rows * bins);
    debug_assert_eq!(signal.len(), rows * frame_len);
    if simd::takes(options.n_fft)
        && let (Some(signal), Some(window)) = (T::as_f32(signal), T::as_f32(window))
        && let Some(power) = T::as_f32_mut(power)
    {
        return simd::welch_psd(signal, frame_len, window, options, power);
    }
    let welch = Welch::new(window, options);
    let tasks = Tasks::independent(rows, welch.work());
    let pieces = signal.chunks(tasks.rows * frame_len).zip(power.chunks_mut(tasks.rows * bins));
    tasks.run(pieces, |(frames, power)| {
        T::with_scratch(|scratch| {
            let (complex, sums, _) = scratch.buffers(welch.complex_len(), options.n_fft, 0);
            for (frame, power) in frames.chunks_exact(frame_len).zip(power.chunks_exact_mut(bins)) {
                welch.row(frame, complex, sums, power);
            }
        });
    });
}

/// What every row of a call shares.
pub(super) struct Welch<'a, T> {
    pub window: &'a [T],
    pub options: &'a WelchOptions,
    /// What |X|² summed over segments is multiplied by.
    pub factor: T,
    transform: Arc<dyn Fft<T>>,
}

impl<'a, T: Real> Welch<'a, T> {
    pub fn new(window: &'a [T], options: &'a WelchOptions) -> Self {
        debug_assert_eq!(window.len(), options.n_fft);
        let factor = scaling::factor(window, options.scaling) / options.segments as f64;
        let transform = T::plan(options.n_fft, FftDirection::Forward);
        Self { window, options, factor: T::of(factor), transform }
    }

    /// Work of a row, in the unit of [`Tasks`].
    pub fn work(&self) -> usize {
        let n = self.options.n_fft;
        // A planned transform takes about half the time of a gated one.
        self.options.segments.div_ceil(2) * n * n.ilog2() as usize / 4
    }

    /// Complex values a row needs: a transform and its scratch.
    pub fn complex_len(&self) -> usize {
        self.options.n_fft + self.transform.get_inplace_scratch_len()
    }

    /// The power of one frame. `complex` has `complex_len` values, `sums` has `n_fft`.
    pub fn row(&self, frame: &[T], complex: &mut [Complex<T>], sums: &mut [T], power: &mut [T]) {
        for pair in 0..self.options.segments.div_ceil(2) {
            self.transform_pair(frame, pair, complex);
            let spectrum = &complex[..sums.len()];
            if pair == 0 {
                sums.iter_mut().zip(spectrum).for_each(|(sum, z)| *sum = z.norm_sqr());
            } else {
                sums.iter_mut().zip(spectrum).for_each(|(sum, z)| *sum += z.norm_sqr());
            }
        }
        // Z = X₁ + i X₂ of two real segments: |Z[k]|² + |Z[n-k]|² = 2 (|X₁[k]|² + |X₂[k]|²), and an interior bin
        // counts twice.
        let half = sums.len() / 2;
        let mirrored = sums[half..].iter().rev();
        for ((power, &lower), &upper) in power[1..].iter_mut().zip(&sums[1..]).zip(mirrored) {
            *power = self.factor * (lower + upper);
        }
        power[0] = self.factor * sums[0];
        power[half] = self.factor * sums[half];
    }

    /// Puts the transform of x₁ + i x₂ at the start of `complex`, x₁ and x₂ the tapered segments 2 pair and
    /// 2 pair + 1, and gives the means taken off. An odd last segment has zero for its partner.
    pub fn transform_pair(&self, frame: &[T], pair: usize, complex: &mut [Complex<T>]) -> [T; 2] {
        let (z, scratch) = complex.split_at_mut(self.options.n_fft);
        let first = self.segment(frame, 2 * pair);
        let first_offset = segment::offset(first, self.options.detrend);
        let first = first.iter().zip(self.window);
        let second_offset = if 2 * pair + 1 < self.options.segments {
            let second = self.segment(frame, 2 * pair + 1);
            let second_offset = segment::offset(second, self.options.detrend);
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

    /// Segment `index` of a frame.
    pub fn segment<'f>(&self, frame: &'f [T], index: usize) -> &'f [T] {
        &frame[index * self.options.hop..][..self.options.n_fft]
    }
}
