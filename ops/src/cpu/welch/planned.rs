//! Exact Welch power and peaks through planned transforms.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::cpu::top_k::{self, top_k_of_bins};
use crate::cpu::welch::estimate::{Estimate, subtracted_mean};
use crate::cpu::welch::forward::{PeakRows, WelchOutputs};
use crate::cpu::welch::gain;

/// Computes the outputs of rows `signal` `[rows, frame_len]`.
pub(super) fn welch<T: Real>(signal: &[T], frame_len: usize, estimate: &Estimate<'_, T>, outputs: WelchOutputs<'_, T>) {
    let (bins, searched) = (estimate.options.bins(), estimate.options.searched());
    let welch = PlannedWelch::new(estimate);
    // Peaks need the power and the keys of a row.
    let (search, row_len, keys_len) = match &outputs {
        WelchOutputs::Power(_) => (0, 0, 0),
        WelchOutputs::Peaks(peaks) => (top_k::work(searched.len(), peaks.k), bins, searched.len()),
    };
    let tasks = Tasks::independent(outputs.rows(bins), welch.work() + search);
    let pieces = signal.chunks(tasks.rows * frame_len).zip(outputs.pieces(tasks.rows, bins));
    tasks.run(pieces, |(frames, outputs)| {
        T::with_scratch(|scratch| {
            let (complex, real, keys) = scratch.buffers(welch.complex_len(), welch.sums_len() + row_len, keys_len);
            let (sums, of_row) = real.split_at_mut(welch.sums_len());
            let frames = frames.chunks_exact(frame_len);
            match outputs {
                WelchOutputs::Power(power) => {
                    for (frame, power) in frames.zip(power.chunks_exact_mut(bins)) {
                        welch.row(frame, complex, sums, power);
                    }
                }
                WelchOutputs::Peaks(PeakRows { k, bins, power, .. }) => {
                    let outputs = bins.chunks_exact_mut(k).zip(power.chunks_exact_mut(k));
                    for (frame, (bins, power)) in frames.zip(outputs) {
                        welch.row(frame, complex, sums, of_row);
                        top_k_of_bins(of_row, searched.clone(), keys, bins, power);
                    }
                }
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

    /// Sums of a row over pairs of segments: |Z|² of all n bins, then, if the gain takes products, Re Z\[k\] Z*\[k+1\].
    pub fn pair_sums_len(&self) -> usize {
        let Estimate { options, gain, .. } = self.estimate;
        let has_products = gain::sums_len(gain, options.bins()) > options.bins();
        if has_products { 2 * options.n_fft } else { options.n_fft }
    }

    /// Values that a row needs: its sums over pairs of segments, and those that its gain takes, if there is one.
    fn sums_len(&self) -> usize {
        let Estimate { options, gain, .. } = self.estimate;
        self.pair_sums_len() + gain.map_or(0, |gain| gain::sums_len(Some(gain), options.bins()))
    }

    /// The power of one frame. `complex` has `complex_len` values, `sums` has `sums_len`.
    fn row(&self, frame: &[T], complex: &mut [Complex<T>], sums: &mut [T], power: &mut [T]) {
        let (pair_sums, sums) = sums.split_at_mut(self.pair_sums_len());
        for pair in 0..self.estimate.segments.count.div_ceil(2) {
            self.transform_pair(frame, pair, complex);
            add_pair(complex, pair, self.estimate.options.n_fft, pair_sums);
        }
        if let Some(gain) = self.estimate.gain {
            self.fold(pair_sums, sums);
            gain::apply(gain, sums, power);
        } else {
            self.fold(pair_sums, power);
        }
    }

    /// The sums of a row that its gain takes, or its power if it has none, from its sums over pairs of segments.
    pub fn fold(&self, pair_sums: &[T], sums: &mut [T]) {
        let (squares, products) = pair_sums.split_at(self.estimate.options.n_fft);
        let (power, folded) = sums.split_at_mut(self.estimate.options.bins());
        self.fold_squares(squares, power);
        // As for squares: Re Z[k] Z*[k+1] of a bin and its mirror image is twice the sum of both segments'.
        for (folded, (&lower, &upper)) in folded.iter_mut().zip(products.iter().zip(products.iter().rev())) {
            *folded = self.factor * (lower + upper);
        }
    }

    fn fold_squares(&self, sums: &[T], power: &mut [T]) {
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
        let first_offset = subtracted_mean(first, options.detrend);
        let first = first.iter().zip(window);
        let second_offset = if 2 * pair + 1 < segments.count {
            let second = self.segment(frame, 2 * pair + 1);
            let second_offset = subtracted_mean(second, options.detrend);
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

/// Adds |Z|² of a pair of segments, the first number 0, to the sums over all n bins, and Re Z\[k\] Z*\[k+1\] to those
/// behind them, if there are any; the first overwrites them.
pub(in crate::cpu) fn add_pair<T: Real>(spectrum: &[Complex<T>], pair: usize, n: usize, sums: &mut [T]) {
    let spectrum = &spectrum[..n];
    let (squares, products) = sums.split_at_mut(n);
    if pair == 0 {
        products.fill(T::zero());
        squares.iter_mut().zip(spectrum).for_each(|(sum, z)| *sum = z.norm_sqr());
    } else {
        squares.iter_mut().zip(spectrum).for_each(|(sum, z)| *sum += z.norm_sqr());
    }
    // After the last bin comes the first.
    let above = spectrum.iter().cycle().skip(1);
    for (sum, (z, above)) in products.iter_mut().zip(spectrum.iter().zip(above)) {
        *sum += z.re * above.re + z.im * above.im;
    }
}
