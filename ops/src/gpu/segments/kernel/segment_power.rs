//! Power from transforms, and the gradient of transforms from that of power.

use cubecl::prelude::*;

use super::sum_over_segment;
use crate::gpu::complex::{ComplexBuffers, dot, square};
use crate::gpu::segments::plan::SegmentLayout;

/// Power of each row, `[rows, bins]`: a unit per bin sums over the row's transforms.
#[cube(launch)]
pub fn sum_squares(
    outputs: &ComplexBuffers,
    weights: &[f32],
    factor: &[f32],
    into: &mut [f32],
    rows: u32,
    #[comptime] layout: SegmentLayout,
) {
    let bins = comptime!(layout.bins());
    let at = ABSOLUTE_POS as u32;
    if at >= rows * bins {
        terminate!();
    }
    // Adjacent units take adjacent bins; each adds the transforms in order, so that the bits of the sum do not vary.
    let (row, bin) = (at / bins, at % bins);
    let n = comptime!(layout.n as usize);
    let mut sum = 0.0f32;
    for transform in 0..comptime!(layout.transforms()) {
        let start = (row * comptime!(layout.transforms()) + transform) as usize * n;
        if comptime!(layout.paired) {
            // Of z = x + iy with real x and y: |X|² + |Y|² at a bin is half of |Z|² at the bin and its mirror image.
            let mirrored = (comptime!(layout.n) - bin) % comptime!(layout.n);
            sum += 0.5f32 * (square(outputs, start + bin as usize) + square(outputs, start + mirrored as usize));
        } else {
            // A segment of weight 0 adds nothing, also where it is not finite.
            let weight = weights[transform as usize];
            if weight != 0.0f32 {
                sum += weight * square(outputs, start + bin as usize);
            }
        }
    }
    // The scaling, the average over segments, and twice the interior bins.
    let mut scale = factor[0];
    if comptime!(layout.paired) {
        scale /= f32::cast_from(comptime!(layout.segments));
    }
    if bin > 0 && bin < comptime!(layout.n.div_ceil(2)) {
        scale *= 2.0f32;
    }
    into[at as usize] = scale * sum;
}

/// Products of each bin of single segments with the bin above, `[rows, bins − 1]`: a unit per product sums
/// 2·weight·Re X\[k\] X*\[k+1\] over the row's segments, and scales it.
#[cube(launch)]
pub fn sum_products(
    outputs: &ComplexBuffers,
    weights: &[f32],
    factor: &[f32],
    into: &mut [f32],
    rows: u32,
    #[comptime] layout: SegmentLayout,
) {
    let products = comptime!(layout.bins() - 1);
    let at = ABSOLUTE_POS as u32;
    if at >= rows * products {
        terminate!();
    }
    let (row, bin) = (at / products, at % products);
    let mut sum = 0.0f32;
    for segment in 0..comptime!(layout.segments) {
        // As for squares, a segment of weight 0 adds nothing.
        let weight = weights[segment as usize];
        if weight != 0.0f32 {
            let start = (row * comptime!(layout.segments) + segment) as usize * comptime!(layout.n as usize);
            sum += weight * dot(outputs, start + bin as usize, start + bin as usize + 1);
        }
    }
    into[at as usize] = 2.0f32 * factor[0] * sum;
}

/// Gradients of weighted sums over segments.
#[derive(CubeType, CubeLaunch)]
pub struct SumGradientBuffers {
    /// Of the squares, `[rows, bins]`.
    pub power: Box<[f32]>,
    /// Of the products Re X\[k\] X*\[k+1\], `[rows, bins − 1]`; not read where there are none.
    pub products: Box<[f32]>,
}

/// The gradients of single segments' transforms X from those of the sums: weight·(2·power\[k\]·X\[k\] +
/// products\[k\]·X\[k+1\] + products\[k−1\]·X\[k−1\]); 0 above Nyquist, for segments of weight 0 and for rows that are
/// not active. A unit per value.
#[cube(launch)]
pub fn weight_bins(
    outputs: &ComplexBuffers,
    weights: &[f32],
    active: &[u32],
    grad: &SumGradientBuffers,
    into: &mut ComplexBuffers,
    rows: u32,
    #[comptime] with_products: bool,
    #[comptime] layout: SegmentLayout,
) {
    let place = ABSOLUTE_POS as u32;
    let n = comptime!(layout.n);
    let (transform, k) = (place / n, place % n);
    let (row, segment) = (transform / comptime!(layout.segments), transform % comptime!(layout.segments));
    if row >= rows {
        terminate!();
    }
    let bins = comptime!(layout.bins());
    // What has no gradient is set to 0, not multiplied by it, since it may not be finite.
    let weight = weights[segment as usize];
    let at = place as usize;
    let mut re = 0.0f32;
    let mut im = 0.0f32;
    if k < bins && weight != 0.0f32 && active[row as usize] != 0 {
        let by = 2.0f32 * weight * grad.power[(row * bins + k) as usize];
        re = by * outputs.re[at];
        im = by * outputs.im[at];
        if comptime!(with_products) {
            let first = row * comptime!(bins - 1);
            if k + 1 < bins {
                let by = weight * grad.products[(first + k) as usize];
                re += by * outputs.re[at + 1];
                im += by * outputs.im[at + 1];
            }
            if k > 0 {
                let by = weight * grad.products[(first + k - 1) as usize];
                re += by * outputs.re[at - 1];
                im += by * outputs.im[at - 1];
            }
        }
    }
    into.re[at] = re;
    into.im[at] = im;
}

/// Multiplies paired transforms by 2·factor·grad/segments, which is real and even over all n bins. A unit per value.
#[cube(launch)]
pub fn filter_bins(
    outputs: &mut ComplexBuffers,
    factor: &[f32],
    grad: &[f32],
    rows: u32,
    #[comptime] layout: SegmentLayout,
) {
    let at = ABSOLUTE_POS as u32;
    let n = comptime!(layout.n);
    let (row, k) = (at / n / comptime!(layout.transforms()), at % n);
    if row >= rows {
        terminate!();
    }
    // Bins above Nyquist take the gradient of their mirror image, so that the real segments of a pair stay apart.
    let bin = min(k, n - k);
    let twice = 2.0f32 * factor[0] / f32::cast_from(comptime!(layout.segments));
    let by = twice * grad[(row * comptime!(layout.bins()) + bin) as usize];
    outputs.re[at as usize] *= by;
    outputs.im[at as usize] *= by;
}

/// Per segment of every row, the sum over bins of gradient times square, and of gradient times product if they are
/// taken, `[rows, segments]`; 0 for rows that are not active. `layout.units` units per segment.
#[cube(launch)]
pub fn sum_bins(
    outputs: &ComplexBuffers,
    active: &[u32],
    grad: &SumGradientBuffers,
    into: &mut [f32],
    rows: u32,
    #[comptime] with_products: bool,
    #[comptime] layout: SegmentLayout,
) {
    let units = comptime!(layout.units);
    let bins = comptime!(layout.bins());
    let t = UNIT_POS % units;
    let slot = CUBE_POS as u32 * comptime!(layout.cube_segments()) + UNIT_POS / units;
    let row = slot / comptime!(layout.segments);
    // Each unit adds every `units`-th bin, adjacent units adjacent ones.
    let mut sum = 0.0f32;
    if row < rows {
        if active[row as usize] != 0 {
            for bin in range_stepped(t, bins, units) {
                let at = slot as usize * comptime!(layout.n as usize) + bin as usize;
                sum += grad.power[(row * bins + bin) as usize] * square(outputs, at);
                if comptime!(with_products) {
                    if bin + 1 < bins {
                        sum += grad.products[(row * comptime!(bins - 1) + bin) as usize] * dot(outputs, at, at + 1);
                    }
                }
            }
        }
    }
    // Units past the last segment take part, since the sum has barriers.
    let sum = sum_over_segment(sum, units);
    if row < rows && t == 0u32 {
        into[slot as usize] = sum;
    }
}
