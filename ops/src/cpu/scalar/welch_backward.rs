//! Gradients of exact Welch power through planned transforms.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use crate::cpu::real::Real;
use crate::cpu::runtime::reduction::sum_blocks;
use crate::cpu::runtime::scratch::take;
use crate::cpu::runtime::tasks::{Tasks, optional_chunks};
use crate::cpu::scalar::welch::PlannedWelch;
use crate::cpu::welch::scaling;
use crate::cpu::welch::segment::WindowedGradients;
use crate::options::WelchOptions;

/// As [`welch_psd_backward`](crate::cpu::welch_psd_backward()).
pub(in crate::cpu) fn welch_psd_backward<T: Real>(
    signal: &[T],
    frame_len: usize,
    window: &[T],
    options: &WelchOptions,
    grad_power: &[T],
    grad_signal: Option<&mut [T]>,
    grad_window: Option<&mut [T]>,
) {
    let bins = options.bins();
    let rows = grad_power.len() / bins;
    let backward = WelchBackward::new(window, options);
    let partial = if grad_window.is_some() { options.n_fft } else { 0 };
    let tasks = Tasks::reduction(rows, 3 * backward.forward.work(), partial);
    let mut partials = vec![T::zero(); partial * tasks.count.max(1)];
    let pieces = (signal.chunks(tasks.rows * frame_len))
        .zip(grad_power.chunks(tasks.rows * bins))
        .zip(optional_chunks(grad_signal, tasks.rows * frame_len))
        .zip(optional_chunks(grad_window.is_some().then_some(&mut partials[..]), options.n_fft));
    tasks.run(pieces, |(((frames, grad_power), grad_frames), window_sum)| {
        let window_sum = window_sum.unwrap_or_default();
        let rows = frames.chunks_exact(frame_len).zip(grad_power.chunks_exact(bins));
        T::with_scratch(|scratch| {
            let (complex, real, _) = scratch.buffers(backward.complex_len(), 2 * options.n_fft, 0);
            for ((frame, grad_power), grad_frame) in rows.zip(optional_chunks(grad_frames, frame_len)) {
                backward.row(frame, grad_power, complex, real, grad_frame.unwrap_or_default(), window_sum);
            }
        });
    });
    if let Some(grad_window) = grad_window {
        grad_window.copy_from_slice(sum_blocks(&mut partials, options.n_fft));
        scaling::add_factor_gradient(window, options.scaling, grad_window);
    }
}

/// Values shared by every row of a call.
struct WelchBackward<'a, T> {
    forward: PlannedWelch<'a, T>,
    inverse: Arc<dyn Fft<T>>,
}

impl<'a, T: Real> WelchBackward<'a, T> {
    fn new(window: &'a [T], options: &'a WelchOptions) -> Self {
        Self { forward: PlannedWelch::new(window, options), inverse: T::plan(options.n_fft, FftDirection::Inverse) }
    }

    fn complex_len(&self) -> usize {
        self.forward.complex_len().max(self.forward.options.n_fft + self.inverse.get_inplace_scratch_len())
    }

    /// Gradients of one frame: overwrites `grad_frame` and adds to `window_sum`; either may be empty.
    ///
    /// With respect to a segment's windowed samples y the gradient is Σ_k q\[k\] X\[k\] e^{2πi jk/n} over all k, with
    /// q\[k\] = q\[n-k\] = 2 · factor · grad_power\[k\]: q is real and even, a filter that takes real samples to real
    /// ones, so two segments pass through it as one complex transform.
    fn row(
        &self,
        frame: &[T],
        grad_power: &[T],
        complex: &mut [Complex<T>],
        mut real: &mut [T],
        grad_frame: &mut [T],
        window_sum: &mut [T],
    ) {
        grad_frame.fill(T::zero());
        if grad_power.iter().all(T::is_zero) {
            return;
        }
        let WelchOptions { n_fft, hop, segments, detrend, .. } = *self.forward.options;
        let filter = take(&mut real, n_fft);
        let grad = real;
        // q, over all n bins.
        let twice = T::of(2.0) * self.forward.factor;
        filter.iter_mut().zip(grad_power).for_each(|(q, &g)| *q = twice * g);
        for k in 1..n_fft.div_ceil(2) {
            filter[n_fft - k] = filter[k];
        }
        for pair in 0..segments.div_ceil(2) {
            // The spectrum of two segments, computed anew, times q, and back to the time domain.
            let offsets = self.forward.transform_pair(frame, pair, complex);
            let (z, scratch) = complex.split_at_mut(n_fft);
            z.iter_mut().zip(&*filter).for_each(|(z, &q)| *z = z.scale(q));
            self.inverse.process_with_scratch(z, scratch);
            // The real part is the gradient of the first segment's windowed samples, the imaginary part the second's.
            for (index, offset) in (2 * pair..segments).zip(offsets) {
                if index % 2 == 0 {
                    grad.iter_mut().zip(&*z).for_each(|(grad, z)| *grad = z.re);
                } else {
                    grad.iter_mut().zip(&*z).for_each(|(grad, z)| *grad = z.im);
                }
                let grad_segment = grad_frame.get_mut(index * hop..index * hop + n_fft).unwrap_or_default();
                let segment = self.forward.segment(frame, index);
                let mut sums = WindowedGradients { segment: grad_segment, window: window_sum };
                sums.add(segment, offset, self.forward.window, detrend, grad);
            }
        }
    }
}
