//! Detrending and windowing of one segment, and their gradients.

use crate::cpu::real::Real;
use crate::cpu::runtime::reduction::sum_by;
use crate::options::Detrend;

/// The mean that `detrend` subtracts from the segment, else 0.
pub(in crate::cpu) fn offset<T: Real>(segment: &[T], detrend: Detrend) -> T {
    match detrend {
        Detrend::None => T::zero(),
        Detrend::Constant => mean(segment),
    }
}

/// `windowed = window * (segment - offset)`.
pub(in crate::cpu) fn apply_window<T: Real>(segment: &[T], offset: T, window: &[T], windowed: &mut [T]) {
    for ((y, &x), &w) in windowed.iter_mut().zip(segment).zip(window) {
        *y = w * (x - offset);
    }
}

/// Destinations to which the gradients of a segment and of the window are added.
pub(in crate::cpu) struct WindowedGradients<'a, T> {
    /// The segment's samples in the gradient of the frame; empty if not requested.
    pub segment: &'a mut [T],
    /// The window's gradient; empty if not requested.
    pub window: &'a mut [T],
}

impl<T: Real> WindowedGradients<'_, T> {
    /// Adds the gradients for `grad`, the gradient of the windowed samples, which is overwritten.
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
        // Subtracting the mean is a projection, and so its own adjoint.
        let shift = self::offset(grad, detrend);
        for (sum, &g) in self.segment.iter_mut().zip(&*grad) {
            *sum += g - shift;
        }
    }
}

fn mean<T: Real>(values: &[T]) -> T {
    T::of(sum_by(values, |_, value| value.into()) / values.len() as f64)
}
