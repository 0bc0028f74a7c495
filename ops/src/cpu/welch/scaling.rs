//! Factor of a scaling, and its part in the window's gradient.

use crate::cpu::real::Real;
use crate::cpu::runtime::reduction::sum_by;
use crate::options::Scaling;

/// Factor on |X|² under `scaling` with `window`.
pub(in crate::cpu) fn factor<T: Real>(window: &[T], scaling: Scaling) -> f64 {
    match scaling {
        Scaling::Power => 1.0,
        Scaling::Spectrum => total(window).powi(-2),
        Scaling::Density { sample_rate } => (sample_rate * energy(window)).recip(),
    }
}

/// Adds the part through the scaling to `grad_window`, the gradient through the windowed samples alone.
///
/// The loss depends on the factor A only through A · |X|², and |X|² is a quadratic form in the windowed samples y. So,
/// with Euler's theorem, A · dL/dA = ½ Σ y · dL/dy = ½ Σ window · grad_window.
pub(in crate::cpu) fn add_factor_gradient<T: Real>(window: &[T], scaling: Scaling, grad_window: &mut [T]) {
    let through_factor = |grad: &[T]| 0.5 * sum_by(window, |j, w| w.into() * grad[j].into());
    match scaling {
        Scaling::Power => {}
        Scaling::Spectrum => {
            let shift = T::of(-2.0 * through_factor(grad_window) / total(window));
            grad_window.iter_mut().for_each(|grad| *grad += shift);
        }
        Scaling::Density { .. } => {
            let slope = T::of(-2.0 * through_factor(grad_window) / energy(window));
            for (grad, &w) in grad_window.iter_mut().zip(window) {
                *grad += slope * w;
            }
        }
    }
}

fn total<T: Real>(window: &[T]) -> f64 {
    sum_by(window, |_, w| w.into())
}

fn energy<T: Real>(window: &[T]) -> f64 {
    sum_by(window, |_, w| w.into() * w.into())
}
