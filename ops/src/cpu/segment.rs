//! From a segment to the windowed samples that are transformed, and back.

use super::real::Real;
use super::reduction::sum_by;
use crate::options::Detrend;

/// The segment's mean if `detrend` takes it off, else 0.
pub(super) fn offset<T: Real>(segment: &[T], detrend: Detrend) -> T {
    match detrend {
        Detrend::None => T::zero(),
        Detrend::Constant => mean(segment),
    }
}

/// `tapered = window * (segment - offset)`.
pub(super) fn taper<T: Real>(segment: &[T], offset: T, window: &[T], tapered: &mut [T]) {
    for ((y, &x), &w) in tapered.iter_mut().zip(segment).zip(window) {
        *y = w * (x - offset);
    }
}

/// What the gradients of a segment and of the window are added to.
pub(super) struct TaperGradients<'a, T> {
    /// The segment's samples in the gradient of the frame; empty if not wanted.
    pub segment: &'a mut [T],
    /// The window's gradient; empty if not wanted.
    pub window: &'a mut [T],
}

impl<T: Real> TaperGradients<'_, T> {
    /// Adds the gradients for `grad`, the gradient of the tapered samples, which is overwritten.
    pub fn add(&mut self, segment: &[T], offset: T, window: &[T], detrend: Detrend, grad: &mut [T]) {
        for ((sum, &g), &x) in self.window.iter_mut().zip(&*grad).zip(segment) {
            *sum += g * (x - offset);
        }
        if self.segment.is_empty() {
            return;
        }
        for (g, &w) in grad.iter_mut().zip(window) {
            *g *= w;
        }
        // Taking the mean off is a projection, and so its own adjoint.
        let shift = self::offset(grad, detrend);
        for (sum, &g) in self.segment.iter_mut().zip(&*grad) {
            *sum += g - shift;
        }
    }
}

fn mean<T: Real>(values: &[T]) -> T {
    T::of(sum_by(values, |_, value| value.into()) / values.len() as f64)
}
