//! Gated butterfly transforms of rows.
//!
//! The f32 kernels keep one row per lane: rows are transposed into a tile of registers in bit-reversed order, go
//! through the stages as a [`program`] orders them, and are transposed back. Lanes share nothing, so a row's result
//! does not depend on the rows beside it. A transform whose twiddles are exact and whose gates are all 1 is a discrete
//! Fourier transform, and runs as one.

pub(in crate::cpu) mod arguments;
mod backward;
pub(in crate::cpu) mod backward_steps;
pub(in crate::cpu) mod bit_reversal;
mod forward;
mod liveness;
pub(in crate::cpu) mod prepared;
pub(in crate::cpu) mod program;
pub(in crate::cpu) mod steps;
pub(in crate::cpu) mod sums;
#[cfg(test)]
pub(in crate::cpu) mod tests;
pub(in crate::cpu) mod tile;
pub(in crate::cpu) mod tiling;

pub use arguments::{ButterflyGradients, ButterflyTransform};

use crate::cpu::fft::{direction, fourier};
use crate::cpu::real::Real;
use crate::cpu::{isa, scalar};
use crate::options::Direction;

/// Every row through the transform, in natural order on both sides: `re`, `im` `[rows, n]` → `out_re`, `out_im`
/// `[rows, n]`.
pub fn butterfly<T: Real>(
    re: &[T],
    im: &[T],
    transform: &ButterflyTransform<'_, T>,
    out_re: &mut [T],
    out_im: &mut [T],
) {
    let n = transform.n;
    let rows = re.len() / n;
    debug_assert_eq!(re.len(), rows * n);
    debug_assert!([im.len(), out_re.len(), out_im.len()] == [re.len(); 3]);
    if isa::supports_length(n)
        && let (Some(re), Some(im), Some(transform)) = (T::as_f32(re), T::as_f32(im), transform.as_f32())
        && let (Some(out_re), Some(out_im)) = (T::as_f32_mut(out_re), T::as_f32_mut(out_im))
    {
        return match direction(&transform) {
            Some(Direction::Forward) => fourier(Some([re, im]), n, 1.0, [out_re, out_im]),
            // The inverse transform of z is the forward one of z with its parts exchanged, its parts exchanged.
            Some(Direction::Inverse) => fourier(Some([im, re]), n, 1.0, [out_im, out_re]),
            None => forward::butterfly(re, im, &transform, out_re, out_im),
        };
    }
    scalar::butterfly::butterfly(re, im, transform, out_re, out_im);
}

/// Gradients of [`butterfly`](butterfly()) for `grad_re`, `grad_im` `[rows, n]`, the gradients of its outputs.
///
/// The stages of a row are computed anew. A row whose gradients are 0 throughout gives 0, also if its values are
/// not finite.
pub fn butterfly_backward<T: Real>(
    re: &[T],
    im: &[T],
    transform: &ButterflyTransform<'_, T>,
    grad_re: &[T],
    grad_im: &[T],
    gradients: ButterflyGradients<'_, T>,
) {
    let n = transform.n;
    let rows = re.len() / n;
    debug_assert_eq!(re.len(), rows * n);
    debug_assert!([im.len(), grad_re.len(), grad_im.len()] == [re.len(); 3]);
    debug_assert!(gradients.gates.is_none() || transform.gates.is_some());
    if isa::supports_length(n)
        && let (Some(re), Some(im), Some(transform)) = (T::as_f32(re), T::as_f32(im), transform.as_f32())
        && let (Some(grad_re), Some(grad_im)) = (T::as_f32(grad_re), T::as_f32(grad_im))
    {
        return backward::butterfly_backward(re, im, &transform, grad_re, grad_im, gradients.into_f32());
    }
    scalar::butterfly_backward::butterfly_backward(re, im, transform, grad_re, grad_im, gradients);
}
