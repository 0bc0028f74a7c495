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

/// Every row through the transform, in natural order on both sides: real and imaginary parts `input` `[rows, n]` →
/// `output` `[rows, n]`.
pub fn butterfly<T: Real>(input: [&[T]; 2], transform: &ButterflyTransform<'_, T>, [out_re, out_im]: [&mut [T]; 2]) {
    debug_assert!(input[0].len().is_multiple_of(transform.n));
    debug_assert!([input[1].len(), out_re.len(), out_im.len()] == [input[0].len(); 3]);
    if isa::supports_length(transform.n)
        && let (Some(input), Some(transform)) = (T::parts_as_f32(input), transform.as_f32())
        && let (Some(out_re), Some(out_im)) = (T::as_f32_mut(out_re), T::as_f32_mut(out_im))
    {
        return forward::butterfly(input, &transform, [out_re, out_im]);
    }
    plain::butterfly(input, transform, [out_re, out_im]);
}

/// Gradients of [`butterfly`](butterfly()) for `grad` `[rows, n]`, those of both parts of its output: overwrites those
/// that are given, of the input's real and imaginary parts, the twiddles and the gates, if the transform has gates.
///
/// The stages of a row are computed anew. A row whose gradients are 0 throughout gives 0, also if its values are
/// not finite.
pub fn butterfly_backward<T: Real>(
    input: [&[T]; 2],
    transform: &ButterflyTransform<'_, T>,
    grad: [&[T]; 2],
    into: [Option<&mut [T]>; 4],
) {
    debug_assert!(input[0].len().is_multiple_of(transform.n));
    debug_assert!([input[1].len(), grad[0].len(), grad[1].len()] == [input[0].len(); 3]);
    debug_assert!(into[3].is_none() || transform.gates.is_some());
    if isa::supports_length(transform.n)
        && let (Some(input), Some(transform)) = (T::parts_as_f32(input), transform.as_f32())
        && let Some(grad) = T::parts_as_f32(grad)
    {
        let into = into.map(|gradient| gradient.and_then(T::as_f32_mut));
        return backward::butterfly_backward(input, &transform, grad, into);
    }
    plain::butterfly_backward(input, transform, grad, into);
}
