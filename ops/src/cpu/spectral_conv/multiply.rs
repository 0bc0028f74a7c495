//! Products of complex matrices per mode on one thread.

use super::product_rows::ModeProductKernel;
use super::product_shape::ModeProduct;
use super::product_tiles::multiply_tiles;
use crate::cpu::isa::{dispatch_widest, simd_enabled};
use crate::cpu::real::Real;

/// The fewest modes that registers take.
const MIN_MODES: usize = 8;

/// Computes a product on this thread: real and imaginary parts each.
///
/// # Panics
/// If a part is shorter than its span.
pub(super) fn multiply<T: Real>(
    product: &ModeProduct,
    left: [&[T]; 2],
    right: [&[T]; 2],
    [out_re, out_im]: [&mut [T]; 2],
) {
    let ModeProduct { rows, columns, terms, modes, .. } = *product;
    let spans = [product.left.span(rows, terms, modes), product.right.span(terms, columns, modes)];
    assert!(left.iter().all(|part| spans[0] <= part.len()) && right.iter().all(|part| spans[1] <= part.len()));
    let out = product.product.span(rows, columns, modes);
    assert!(out <= out_re.len() && out <= out_im.len());
    if modes >= MIN_MODES
        && let (Some(left), Some(right)) = (single(left), single(right))
        && let (Some(out_re), Some(out_im)) = (T::as_f32_mut(out_re), T::as_f32_mut(out_im))
        && simd_enabled()
    {
        // SAFETY: the spans were just checked.
        return unsafe { multiply_tiles(product, left, right, [out_re, out_im]) };
    }
    let kernel = ModeProductKernel { product, left, right, out: [out_re, out_im] };
    if simd_enabled() { dispatch_widest(kernel) } else { kernel.run_rows() }
}

/// Parts in f32, if they are.
fn single<T: Real>([re, im]: [&[T]; 2]) -> Option<[&[f32]; 2]> {
    Some([T::as_f32(re)?, T::as_f32(im)?])
}
