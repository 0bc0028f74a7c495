//! Gated butterfly transforms of rows.
//!
//! The f32 kernels keep one row per lane: rows are transposed into a tile of registers in bit-reversed order, go
//! through the stages as a [`program`] orders them, and are transposed back. Lanes share nothing, so a row's result
//! does not depend on the rows beside it.

mod backward;
pub(in crate::cpu) mod backward_steps;
mod forward;
pub(in crate::cpu) mod plain;
pub(in crate::cpu) mod program;
pub(in crate::cpu) mod steps;
#[cfg(test)]
pub(in crate::cpu) mod tests;
pub(in crate::cpu) mod tile;

use crate::cpu::isa;
use crate::cpu::real::Real;

/// Gated butterfly transform of length `n`, a power of two that is at least 4.
///
/// Stage s, of log2 n, works on the vector in bit-reversed order. With half = 2^s, its pair p = block · half + j joins
/// a = v\[2 block half + j\] and b = v\[2 block half + j + half\]: with t = w b, a' = a + g t and
/// b' = g (a − t) + (1 − g) b. With g = 0 that is the identity, also of values that are not finite. The exact twiddle
/// is exp(−2πi j / (2 half)); with exact twiddles and open gates the transform is the unnormalised forward DFT (Cooley
/// and Tukey, 1965).
#[derive(Debug, Clone, Copy)]
pub struct ButterflyTransform<'a, T> {
    /// Length of the transform.
    pub n: usize,
    /// w, as `[log2 n, n / 2, 2]`: real part, imaginary part.
    pub twiddles: &'a [T],
    /// g, as `[log2 n, n / 2]`; every gate is 1 if absent.
    pub gates: Option<&'a [T]>,
}

impl<'a, T: Real> ButterflyTransform<'a, T> {
    pub(in crate::cpu) fn as_f32(&self) -> Option<ButterflyTransform<'a, f32>> {
        let gates = self.gates.map_or(Some(None), |gates| T::as_f32(gates).map(Some))?;
        Some(ButterflyTransform { n: self.n, twiddles: T::as_f32(self.twiddles)?, gates })
    }
}

/// Gradients that [`butterfly_backward`](super::butterfly_backward()) overwrites; each may be absent.
#[derive(Debug, Default)]
pub struct ButterflyGradients<'a, T> {
    /// Gradient of the input's real parts, `[rows, n]`.
    pub re: Option<&'a mut [T]>,
    /// Gradient of the input's imaginary parts, `[rows, n]`.
    pub im: Option<&'a mut [T]>,
    /// Gradient of the twiddles, `[log2 n, n / 2, 2]`.
    pub twiddles: Option<&'a mut [T]>,
    /// Gradient of the gates, `[log2 n, n / 2]`; only for a transform that has gates.
    pub gates: Option<&'a mut [T]>,
}

impl<'a, T: Real> ButterflyGradients<'a, T> {
    /// The same gradients if they are of f32, else none of them.
    pub(super) fn into_f32(self) -> ButterflyGradients<'a, f32> {
        let f32 = |gradient: Option<&'a mut [T]>| gradient.and_then(T::as_f32_mut);
        ButterflyGradients { re: f32(self.re), im: f32(self.im), twiddles: f32(self.twiddles), gates: f32(self.gates) }
    }
}

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
        return forward::butterfly(re, im, &transform, out_re, out_im);
    }
    plain::butterfly(re, im, transform, out_re, out_im);
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
    plain::butterfly_backward(re, im, transform, grad_re, grad_im, gradients);
}
