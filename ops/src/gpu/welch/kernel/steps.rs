//! Launches of their own: power and products of neighbours from spectra in device memory, the gain of power, and the
//! gradients of both.

use cubecl::prelude::*;

use crate::gpu::complex::{ComplexBuffers, dot, square};
use crate::gpu::reduce::RowBlockShape;
use crate::gpu::segments::has_gradient;
use crate::gpu::welch::kernel::gain::{neighbours, products_beside};
use crate::options::{POWER_TAPS, PRODUCT_TAPS};

/// Spectra `[rows, segments, bins]`.
#[derive(CubeType, CubeLaunch)]
pub struct SpectraShape {
    pub rows: u32,
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

/// Inputs of a gain of `taps` factors per bin, or their gradients.
#[derive(CubeType, CubeLaunch)]
pub struct GainInput {
    /// `[rows, bins]`.
    pub power: Box<[f32]>,
    /// Products of bins with the bins above, `[rows, bins − 1]`; neither read nor written where the gain takes none.
    pub products: Box<[f32]>,
}

/// Applies the gain `[bins, taps]`: a unit per bin.
#[cube(launch)]
pub fn apply_row_gain(
    input: &GainInput,
    gain: &[f32],
    into: &mut [f32],
    rows: u32,
    bins: u32,
    #[comptime] taps: usize,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= rows * bins {
        terminate!();
    }
    // Adjacent units take adjacent bins, so each power is read from memory once and twice from a cache.
    let (row, bin) = (at / bins, at % bins);
    let (below, above) = neighbours(bin, bins);
    let from = row * bins;
    let tap = comptime!(taps as u32) * bin;
    let mut sum = gain[tap as usize] * input.power[(from + below) as usize]
        + gain[(tap + 1) as usize] * input.power[at as usize]
        + gain[(tap + 2) as usize] * input.power[(from + above) as usize];
    if comptime!(taps == PRODUCT_TAPS) {
        let (below, above) = products_beside(bin, bins);
        let from = row * (bins - 1);
        let tap = tap + comptime!(POWER_TAPS as u32);
        sum += gain[tap as usize] * input.products[(from + below) as usize]
            + gain[(tap + 1) as usize] * input.products[(from + above) as usize];
    }
    into[at as usize] = sum;
}

/// The adjoint of the gain: a unit per bin sums over the bins whose factors read its power, and over those whose factors
/// read its product with the bin above.
#[cube(launch)]
pub fn gain_adjoint(grad: &[f32], gain: &[f32], into: &mut GainInput, rows: u32, bins: u32, #[comptime] taps: usize) {
    let at = ABSOLUTE_POS as u32;
    if at >= rows * bins {
        terminate!();
    }
    let (row, bin) = (at / bins, at % bins);
    let last = bins - 1;
    let first = row * bins;
    // The bin's own factor, the lower one of the bin above, the upper one of the bin below.
    let mut sum = part(grad, gain, first, bin, 1u32, taps);
    if bin < last {
        sum += part(grad, gain, first, bin + 1, 0u32, taps);
    }
    if bin > 0 {
        sum += part(grad, gain, first, bin - 1, 2u32, taps);
    }
    // The mirrored ones: the first bin's lower factor reads bin 1, the last bin's upper one the bin before it.
    if bin == 1 {
        sum += part(grad, gain, first, 0u32, 0u32, taps);
    }
    if bin + 1 == last {
        sum += part(grad, gain, first, last, 2u32, taps);
    }
    into.power[at as usize] = sum;
    if comptime!(taps == PRODUCT_TAPS) {
        if bin < last {
            // The upper factor of the bin, the lower one of the bin above, and the mirrored ones of both ends.
            let mut sum = part(grad, gain, first, bin, 4u32, taps) + part(grad, gain, first, bin + 1, 3u32, taps);
            if bin == 0 {
                sum += part(grad, gain, first, 0u32, 3u32, taps);
            }
            if bin + 1 == last {
                sum += part(grad, gain, first, last, 4u32, taps);
            }
            into.products[(row * last + bin) as usize] = sum;
        }
    }
}

/// The product of the gradient of `bin` and its factor `tap`; 0 without a gradient, also where the factor is not finite.
#[cube]
fn part(grad: &[f32], gain: &[f32], row: u32, bin: u32, tap: u32, #[comptime] taps: usize) -> f32 {
    let own = grad[(row + bin) as usize];
    let mut product = 0.0f32;
    if has_gradient(own) {
        product = own * gain[(comptime!(taps as u32) * bin + tap) as usize];
    }
    product
}

/// The gain's gradient from each block of rows, `[blocks, bins, taps]`: a unit per bin of a block.
#[cube(launch)]
pub fn gain_sums(
    grad: &[f32],
    input: &GainInput,
    sums: &mut [f32],
    rows: u32,
    bins: u32,
    blocks: RowBlockShape,
    #[comptime] taps: usize,
) {
    let place = ABSOLUTE_POS as u32;
    if place >= blocks.count * bins {
        terminate!();
    }
    let (first, bin) = (place / bins * blocks.length, place % bins);
    // The gradient of a factor is the sum over rows of the bin's gradient times what the factor reads. Each unit adds
    // the rows of its block in order, so that the bits of the sum do not vary.
    let (below, above) = neighbours(bin, bins);
    let (product_below, product_above) = products_beside(bin, bins);
    let mut from = Array::<f32>::new(taps);
    #[unroll]
    for tap in 0..taps {
        from[tap] = 0.0f32;
    }
    for row in first..min(first + blocks.length, rows) {
        // A bin without a gradient adds nothing, also where power is not finite.
        let g = grad[(row * bins + bin) as usize];
        if has_gradient(g) {
            from[0] += g * input.power[(row * bins + below) as usize];
            from[1] += g * input.power[(row * bins + bin) as usize];
            from[2] += g * input.power[(row * bins + above) as usize];
            if comptime!(taps == PRODUCT_TAPS) {
                from[3] += g * input.products[(row * (bins - 1) + product_below) as usize];
                from[4] += g * input.products[(row * (bins - 1) + product_above) as usize];
            }
        }
    }
    let at = taps * place as usize;
    #[unroll]
    for tap in 0..taps {
        sums[at + tap] = from[tap];
    }
}
