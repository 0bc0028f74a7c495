//! Adjoint of framing and window: gradients of a row and of the window from the gradient of windowed frames.

use super::frame_samples::Framing;
use crate::cpu::real::Real;

/// Sums that the gradients of a row's frames are added to; either may be empty.
pub(super) struct FrameGradients<'a, T> {
    pub framing: &'a Framing,
    /// `[n_fft]`.
    pub window: &'a [T],
    /// `[samples]`.
    pub signal: &'a mut [T],
    /// `[n_fft]`.
    pub of_window: &'a mut [T],
}

impl<T: Real> FrameGradients<'_, T> {
    /// Adds the part of frame `frame` of `row`, from `grad`, the gradient of its windowed samples.
    pub fn add(&mut self, row: &[T], frame: usize, grad: &[T]) {
        let Some(inside) = self.framing.inside(frame) else {
            return self.add_at_an_end(row, frame, grad);
        };
        if !self.signal.is_empty() {
            let sums = self.signal[inside.clone()].iter_mut();
            sums.zip(grad).zip(self.window).for_each(|((sum, &grad), &window)| *sum += window * grad);
        }
        let sums = self.of_window.iter_mut();
        sums.zip(grad).zip(&row[inside]).for_each(|((sum, &grad), &sample)| *sum += sample * grad);
    }

    /// [`add`](Self::add) for a frame that reaches beyond the row.
    fn add_at_an_end(&mut self, row: &[T], frame: usize, grad: &[T]) {
        for (j, &grad) in grad.iter().enumerate() {
            let sample = self.framing.sample(frame, j);
            if let Some(sum) = sample.and_then(|sample| self.signal.get_mut(sample)) {
                *sum += self.window[j] * grad;
            }
            if let Some(sum) = self.of_window.get_mut(j) {
                *sum += sample.map_or(self.framing.constant(), |sample| row[sample]) * grad;
            }
        }
    }
}
