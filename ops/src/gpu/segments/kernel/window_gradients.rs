//! Adjoint of the window: gradients of the signal and of the window from the gradient of windowed segments.

use cubecl::prelude::*;

use super::{sum_over_segment, transform_of};
use crate::gpu::complex::ComplexBuffers;
use crate::gpu::reduce::RowBlockShape;
use crate::gpu::segments::plan::SegmentLayout;

/// The shape of a batch of frames.
#[derive(CubeType, CubeLaunch)]
pub struct FrameShape {
    /// Frames of the launch.
    pub rows: u32,
    /// Samples from one frame's start to the next.
    pub frame: u32,
    /// Samples from one segment's start to the next.
    pub hop: u32,
}

/// Value `j` of the gradient of a windowed segment.
#[cube]
fn segment_value(grad: &ComplexBuffers, row: u32, segment: u32, j: u32, #[comptime] layout: SegmentLayout) -> f32 {
    let at = transform_of(row, segment, layout) as usize * comptime!(layout.n as usize) + j as usize;
    if comptime!(layout.paired) { if segment % 2 == 0 { grad.re[at] } else { grad.im[at] } } else { grad.re[at] }
}

/// The mean of window times gradient of each segment: subtracting the mean is an orthogonal projection, and so its own
/// adjoint.
#[cube(launch)]
pub fn segment_means(
    grad: &ComplexBuffers,
    window: &[f32],
    means: &mut [f32],
    count: u32,
    #[comptime] layout: SegmentLayout,
) {
    let units = comptime!(layout.units);
    let t = UNIT_POS % units;
    let slot = CUBE_POS as u32 * comptime!(layout.cube_segments()) + UNIT_POS / units;
    let (row, segment) = (slot / comptime!(layout.segments), slot % comptime!(layout.segments));
    // Each unit adds every `units`-th value, adjacent units adjacent ones.
    let mut sum = 0.0f32;
    if slot < count {
        for j in range_stepped(t, comptime!(layout.n), units) {
            sum += window[j as usize] * segment_value(grad, row, segment, j, layout);
        }
    }
    // Units past the last segment take part, since the sum has barriers.
    let sum = sum_over_segment(sum, units);
    if slot < count && t == 0u32 {
        means[slot as usize] = sum / f32::cast_from(comptime!(layout.n));
    }
}

/// The gradient of every sample: the sum over the segments that hold it. A unit per sample.
#[cube(launch)]
pub fn overlap_add(
    grad: &ComplexBuffers,
    window: &[f32],
    means: &[f32],
    into: &mut [f32],
    shape: FrameShape,
    #[comptime] layout: SegmentLayout,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= shape.rows * shape.frame {
        terminate!();
    }
    let (row, sample) = (at / shape.frame, at % shape.frame);
    let n = comptime!(layout.n);
    // The segments that hold the sample: from the first that ends after it to the last that starts before it.
    let mut first = 0u32;
    if sample >= n {
        first = (sample - n) / shape.hop + 1;
    }
    let end = min(sample / shape.hop + 1, comptime!(layout.segments));
    let mut sum = 0.0f32;
    for segment in first..end {
        // The adjoint of y = window·(x − mean): from window·gradient its mean over the segment is subtracted.
        let j = sample - segment * shape.hop;
        let mut value = window[j as usize] * segment_value(grad, row, segment, j, layout);
        if comptime!(layout.detrend) {
            value -= means[(row * comptime!(layout.segments) + segment) as usize];
        }
        sum += value;
    }
    into[at as usize] = sum;
}

/// The window's gradient from each block of rows, `[blocks, n]`: a unit per value of a block.
#[cube(launch)]
pub fn window_sums(
    signal: &[f32],
    grad: &ComplexBuffers,
    active: &[u32],
    means: &[f32],
    sums: &mut [f32],
    shape: FrameShape,
    blocks: RowBlockShape,
    #[comptime] layout: SegmentLayout,
) {
    let at = ABSOLUTE_POS as u32;
    let n = comptime!(layout.n);
    if at >= blocks.count * n {
        terminate!();
    }
    // Adjacent units take adjacent values of a window; each adds the rows of its block in order, so that the bits of
    // the sum do not vary.
    let (first, j) = (at / n * blocks.length, at % n);
    let mut sum = 0.0f32;
    for row in first..min(first + blocks.length, shape.rows) {
        for segment in 0..comptime!(layout.segments) {
            // A transform without a gradient adds nothing, also where its samples are not finite.
            if active[transform_of(row, segment, layout) as usize] != 0 {
                let mut sample = signal[row as usize * shape.frame as usize + (segment * shape.hop + j) as usize];
                if comptime!(layout.detrend) {
                    sample -= means[(row * comptime!(layout.segments) + segment) as usize];
                }
                sum += sample * segment_value(grad, row, segment, j, layout);
            }
        }
    }
    sums[at as usize] = sum;
}
