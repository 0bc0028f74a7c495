//! One bin of a convolution's spectrum.

use cubecl::prelude::*;

use crate::gpu::complex::{Complex, conjugate, difference, scaled, sum, times};

/// Bin k of the convolution of a row with a kernel: `row` and `kernel` are bin k of their spectra, `far_row` and
/// `far_kernel` bin N − k, and `w` is exp(−2πi k/N).
///
/// With P and Q the kernel's bin k and the conjugate of its bin N − k, He is (P + Q)/2 and i Ho is (P − Q)/2.
#[cube]
pub fn convolved(
    row: Complex,
    far_row: Complex,
    kernel: Complex,
    far_kernel: Complex,
    w: Complex,
    #[comptime] is_reversed: bool,
) -> Complex {
    let (p, q, far) = (kernel, conjugate(far_kernel), conjugate(far_row));
    // i Ho/2 is a quarter of P − Q, and both A and B take that and its product with W.
    let quarter = scaled(0.25f32, difference(p, q));
    let turned = times(quarter, w);
    let a = sum(scaled(0.5f32, sum(p, q)), difference(quarter, turned));
    let b = sum(quarter, turned);
    if comptime!(is_reversed) {
        difference(times(conjugate(a), row), times(conjugate(b), far))
    } else {
        sum(times(a, row), times(b, far))
    }
}

/// Bin k of the correlation of rows x and g from sums over the batch: `direct` and `crossed` are Σ X[k]* G[k] and
/// Σ X[N − k] G[k], `far_direct` and `far_crossed` the same of bin N − k, and `w` is exp(−2πi k/N).
///
/// It is [`convolved`] with x as the reversed kernel, whose products are in the sums.
#[cube]
pub fn correlated(direct: Complex, crossed: Complex, far_direct: Complex, far_crossed: Complex, w: Complex) -> Complex {
    let near = scaled(0.25f32, difference(direct, crossed));
    let far = scaled(0.25f32, difference(conjugate(far_crossed), conjugate(far_direct)));
    let turned = times(sum(near, far), conjugate(w));
    difference(sum(scaled(0.5f32, sum(direct, crossed)), difference(near, far)), turned)
}
