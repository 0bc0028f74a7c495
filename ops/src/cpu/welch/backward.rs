//! Gradients of exact Welch power through planned transforms.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::{Tasks, optional_chunks};
use crate::cpu::runtime::{sum_blocks, take};
use crate::cpu::welch::estimate::{Estimate, WindowedGradients, add_factor_gradient};
use crate::cpu::welch::gain;
use crate::cpu::welch::planned::{PlannedWelch, add_pair};

/// As [`welch_psd_backward`](crate::cpu::welch_psd_backward()).
pub(in crate::cpu) fn welch_psd_backward<T: Real>(
    signal: &[T],
    frame_len: usize,
    estimate: &Estimate<'_, T>,
    grad_power: &[T],
    [of_signal, of_window, of_gain]: [Option<&mut [T]>; 3],
) {
    let options = estimate.options;
    let (n, bins) = (options.n_fft, options.bins());
    let rows = grad_power.len() / bins;
    let through_segments = of_signal.is_some() || of_window.is_some();
    let backward = WelchBackward::new(estimate, through_segments);
    // One partial sum `[window, gain]` per block of rows, so that the order of sums follows from shapes.
    let window_len = if of_window.is_some() { n } else { 0 };
    let gain_len = of_gain.as_ref().map_or(0, |gain| gain.len());
    let partial = window_len + gain_len;
    let tasks = Tasks::reduction(rows, 3 * backward.forward.work(), partial);
    let mut partials = vec![T::zero(); partial * tasks.count.max(1)];
    let pieces = (signal.chunks(tasks.rows * frame_len))
        .zip(grad_power.chunks(tasks.rows * bins))
        .zip(optional_chunks(of_signal, tasks.rows * frame_len))
        .zip(optional_chunks((partial > 0).then_some(&mut partials[..]), partial.max(1)));
    tasks.run(pieces, |(((frames, grad_power), grad_frames), sums)| {
        let (window, gain) = sums.unwrap_or_default().split_at_mut(window_len);
        let mut sums = WelchSums { window, gain };
        let rows = frames.chunks_exact(frame_len).zip(grad_power.chunks_exact(bins));
        T::with_scratch(|scratch| {
            let (complex, real, _) = scratch.buffers(backward.complex_len(), backward.real_len(), 0);
            for ((frame, grad_power), grad_frame) in rows.zip(optional_chunks(grad_frames, frame_len)) {
                let mut buffers = backward.cut(complex, real);
                backward.row(frame, grad_power, &mut buffers, grad_frame.unwrap_or_default(), &mut sums);
            }
        });
    });
    // Add the blocks in order. The scaling is a function of the window, too, and adds its part to the gradient.
    let (window, gain) = sum_blocks(&mut partials, partial).split_at(window_len);
    if let Some(grad_window) = of_window {
        grad_window.copy_from_slice(window);
        add_factor_gradient(estimate.window, options.scaling, grad_window);
    }
    if let Some(grad_gain) = of_gain {
        grad_gain.copy_from_slice(gain);
    }
}

/// Sums over the rows of a task, empty for gradients that are not requested.
struct WelchSums<'a, T> {
    window: &'a mut [T],
    gain: &'a mut [T],
}

struct WelchBackwardBuffers<'a, T> {
    /// A transform and its scratch.
    complex: &'a mut [Complex<T>],
    /// Factors of the bins, and of the bins above in the gradient of bins where the gain takes products.
    filter: &'a mut [T],
    /// `[n]`, gradients of windowed samples.
    grad: &'a mut [T],
    pair_sums: &'a mut [T],
    /// The sums that the gain takes, or their gradients.
    sums: &'a mut [T],
}

struct WelchBackward<'a, T> {
    forward: PlannedWelch<'a, T>,
    inverse: Arc<dyn Fft<T>>,
    /// Whether any gradient needs the backward pass through the segments, and not only through the gain.
    through_segments: bool,
}

impl<'a, T: Real> WelchBackward<'a, T> {
    fn new(estimate: &Estimate<'a, T>, through_segments: bool) -> Self {
        let inverse = T::plan(estimate.options.n_fft, FftDirection::Inverse);
        Self { forward: PlannedWelch::new(estimate), inverse, through_segments }
    }

    fn complex_len(&self) -> usize {
        let n = self.forward.estimate.options.n_fft;
        self.forward.complex_len().max(n + self.inverse.get_inplace_scratch_len())
    }

    fn real_len(&self) -> usize {
        let Estimate { options, gain, .. } = self.forward.estimate;
        options.n_fft + 2 * self.forward.pair_sums_len() + gain::sums_len(gain, options.bins())
    }

    fn cut<'b>(&self, complex: &'b mut [Complex<T>], mut real: &'b mut [T]) -> WelchBackwardBuffers<'b, T> {
        let [filter, pair_sums] = [0; 2].map(|_| take(&mut real, self.forward.pair_sums_len()));
        let grad = take(&mut real, self.forward.estimate.options.n_fft);
        WelchBackwardBuffers { complex, filter, grad, pair_sums, sums: real }
    }

    /// The filter of a row from the gradient of the sums that its gain takes.
    fn set_filter(&self, grad_sums: &[T], filter: &mut [T]) {
        let n = self.forward.estimate.options.n_fft;
        let (of_power, of_products) = grad_sums.split_at(self.forward.estimate.options.bins());
        let (squares, products) = filter.split_at_mut(n);
        let twice = T::of(2.0) * self.forward.factor;
        squares.iter_mut().zip(of_power).for_each(|(q, &g)| *q = twice * g);
        for k in 1..n.div_ceil(2) {
            squares[n - k] = squares[k];
        }
        for (k, &g) in of_products.iter().enumerate() {
            products[k] = self.forward.factor * g;
            products[n - 1 - k] = products[k];
        }
    }

    /// Gradients of one frame: overwrites `grad_frame`, unless that is empty, and adds to `sums`.
    ///
    /// With respect to a segment's windowed samples y the gradient is Σ_k G\[k\] e^{2πi jk/n} over all k, with
    /// G\[k\] = q\[k\] X\[k\] + r\[k\] X\[k+1\] + r\[k−1\] X\[k−1\], q\[k\] = q\[n−k\] = 2 · factor times the gradient
    /// of the power before the gain, and r\[k\] = r\[n−1−k\] = factor times that of the product, 0 if the gain takes none:
    /// a filter that takes real samples to real ones, so two segments pass through it as one complex transform.
    fn row(
        &self,
        frame: &[T],
        grad_power: &[T],
        buffers: &mut WelchBackwardBuffers<'_, T>,
        grad_frame: &mut [T],
        sums: &mut WelchSums<'_, T>,
    ) {
        grad_frame.fill(T::zero());
        if grad_power.iter().all(T::is_zero) {
            return;
        }
        let Estimate { window, options, segments, gain } = self.forward.estimate;
        let (n, hop) = (options.n_fft, options.hop);
        let WelchBackwardBuffers { complex, filter, grad, pair_sums, sums: row_sums } = buffers;
        // The filter of all n bins, from the gradient of the sums before the gain.
        match gain {
            Some(gain) => gain::adjoint(gain, grad_power, row_sums),
            None => row_sums.copy_from_slice(grad_power),
        }
        self.set_filter(row_sums, filter);
        for pair in 0..segments.count.div_ceil(2) {
            // The spectrum of two segments, computed anew.
            let offsets = self.forward.transform_pair(frame, pair, complex);
            if !sums.gain.is_empty() {
                add_pair(complex, pair, n, pair_sums);
            }
            if !self.through_segments {
                continue;
            }
            // Through the filter, and back to the time domain.
            let (z, scratch) = complex.split_at_mut(n);
            apply_filter(filter, z);
            self.inverse.process_with_scratch(z, scratch);
            // The real part is the gradient of the first segment's windowed samples, the imaginary part the second's.
            for (at, offset) in (2 * pair..segments.count).zip(offsets) {
                if at % 2 == 0 {
                    grad.iter_mut().zip(&*z).for_each(|(grad, z)| *grad = z.re);
                } else {
                    grad.iter_mut().zip(&*z).for_each(|(grad, z)| *grad = z.im);
                }
                let start = segments.index(at) * hop;
                let grad_segment = grad_frame.get_mut(start..start + n).unwrap_or_default();
                let segment = self.forward.segment(frame, at);
                let mut sums = WindowedGradients { segment: grad_segment, window: sums.window };
                sums.add(segment, offset, window, options.detrend, grad);
            }
        }
        if !sums.gain.is_empty() {
            self.forward.fold(pair_sums, row_sums);
            gain::add_gradient(row_sums, grad_power, sums.gain);
        }
    }
}

/// Multiplies the bins of a spectrum by the first factors of `filter`, and adds to each its neighbours times the ones
/// behind them, if there are any.
fn apply_filter<T: Real>(filter: &[T], z: &mut [Complex<T>]) {
    let n = z.len();
    let (own, products) = filter.split_at(n);
    if products.is_empty() {
        return z.iter_mut().zip(own).for_each(|(z, &q)| *z = z.scale(q));
    }
    let (first, mut below) = (z[0], z[n - 1]);
    for k in 0..n {
        let (here, above) = (z[k], if k + 1 < n { z[k + 1] } else { first });
        z[k] = here.scale(own[k]) + above.scale(products[k]) + below.scale(products[(k + n - 1) % n]);
        below = here;
    }
}
