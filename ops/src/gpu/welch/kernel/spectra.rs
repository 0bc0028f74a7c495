//! Power and products of neighbours from spectra in device memory, and the gradients of spectra from theirs.

use cubecl::prelude::*;

use crate::gpu::complex::{ComplexBuffers, dot, square};
use crate::gpu::segments::has_gradient;

/// Spectra `[rows, segments, bins]`.
#[derive(CubeType, CubeLaunch)]
pub struct SpectraShape {
    /// Rows.
    pub rows: u32,
    /// Segments of a row.
    pub segments: u32,
    /// One-sided bins of a segment.
    pub bins: u32,
    /// The bin after the last one that stands for two.
    pub interior: u32,
}

/// Power of each row, `[rows, bins]`, times `factor` (one f32): a unit per bin takes the mean over the row's segments.
#[cube(launch)]
pub fn sum_squares(spectra: &ComplexBuffers, factor: &[f32], into: &mut [f32], shape: SpectraShape) {
    let at = ABSOLUTE_POS as u32;
    if at >= shape.rows * shape.bins {
        terminate!();
    }
    // Adjacent units take adjacent bins; each adds the segments in order, so that the bits of the sum do not vary.
    let (row, bin) = (at / shape.bins, at % shape.bins);
    let mut sum = 0.0f32;
    for segment in 0..shape.segments {
        sum += square(spectra, ((row * shape.segments + segment) * shape.bins + bin) as usize);
    }
    // The scaling, the average over segments, and twice the interior bins.
    let mut scale = factor[0] / f32::cast_from(shape.segments);
    if bin > 0 && bin < shape.interior {
        scale *= 2.0f32;
    }
    into[at as usize] = scale * sum;
}

/// Products of each bin with the bin above, `[rows, bins − 1]`, times `factor`: a unit per product takes the mean over
/// the row's segments of 2 Re X\[k\] X*\[k+1\].
#[cube(launch)]
pub fn sum_products(spectra: &ComplexBuffers, factor: &[f32], into: &mut [f32], shape: SpectraShape) {
    let products = shape.bins - 1;
    let at = ABSOLUTE_POS as u32;
    if at >= shape.rows * products {
        terminate!();
    }
    let (row, bin) = (at / products, at % products);
    let mut sum = 0.0f32;
    for segment in 0..shape.segments {
        let lower = ((row * shape.segments + segment) * shape.bins + bin) as usize;
        sum += dot(spectra, lower, lower + 1);
    }
    into[at as usize] = 2.0f32 * factor[0] / f32::cast_from(shape.segments) * sum;
}

/// Gradients of power, and of products of neighbours where a gain takes them.
#[derive(CubeType, CubeLaunch)]
pub struct SumGradientBuffers {
    /// `[rows, bins]`.
    pub power: Box<[f32]>,
    /// `[rows, bins − 1]`; not read without products.
    pub products: Box<[f32]>,
}

/// Gradients of spectra whose Hermitian sum is that of windowed samples: at bin k 2·factor·power\[k\]·X\[k\], and
/// factor·(products\[k\]·X\[k+1\] + products\[k−1\]·X\[k−1\]), twice that at both ends. A unit per value; where there is no
/// gradient it is 0, also of spectra that are not finite.
#[cube(launch)]
pub fn spectrum_gradients(
    spectra: &ComplexBuffers,
    factor: &[f32],
    grad: &SumGradientBuffers,
    into: &mut ComplexBuffers,
    shape: SpectraShape,
    #[comptime] has_products: bool,
) {
    let place = ABSOLUTE_POS as u32;
    if place >= shape.rows * shape.segments * shape.bins {
        terminate!();
    }
    let (row, bin) = (place / shape.bins / shape.segments, place % shape.bins);
    let at = place as usize;
    let scale = factor[0] / f32::cast_from(shape.segments);
    let mut re = 0.0f32;
    let mut im = 0.0f32;
    let own = grad.power[(row * shape.bins + bin) as usize];
    if has_gradient(own) {
        re = 2.0f32 * scale * own * spectra.re[at];
        im = 2.0f32 * scale * own * spectra.im[at];
    }
    if comptime!(has_products) {
        // Bins at the ends stand for themselves alone, and the mirror image of a product is beside them too.
        let is_end = bin == 0 || bin + 1 == shape.bins;
        let scale = select(is_end, 2.0f32 * scale, scale);
        let first = row * (shape.bins - 1);
        if bin + 1 < shape.bins {
            let above = grad.products[(first + bin) as usize];
            if has_gradient(above) {
                re += scale * above * spectra.re[at + 1];
                im += scale * above * spectra.im[at + 1];
            }
        }
        if bin > 0 {
            let below = grad.products[(first + bin - 1) as usize];
            if has_gradient(below) {
                re += scale * below * spectra.re[at - 1];
                im += scale * below * spectra.im[at - 1];
            }
        }
    }
    into.re[at] = re;
    into.im[at] = im;
}
