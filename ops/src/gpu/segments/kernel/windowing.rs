//! Segments of frames, minus their mean, times the window.

use cubecl::prelude::*;

use super::{sum_over_segment, transform_of};
use crate::gpu::segments::plan::SegmentLayout;

/// The buffers that windowing reads.
#[derive(CubeType, CubeLaunch)]
pub struct WindowInput {
    /// `[rows, frame]`.
    pub signal: Box<[f32]>,
    /// `[n]`.
    pub window: Box<[f32]>,
    /// `[rows]`; read where rows are skipped.
    pub active: Box<[u32]>,
    /// `[segments]`; read where segments are skipped.
    pub weights: Box<[f32]>,
}

/// The buffers that windowing writes.
#[derive(CubeType, CubeLaunch)]
pub struct WindowOutput {
    /// `[transforms, n]`.
    pub re: Box<[f32]>,
    /// `[transforms, n]`; written where segments are paired.
    pub im: Box<[f32]>,
    /// `[rows, segments]`; written with detrending.
    pub means: Box<[f32]>,
}

/// The kinds of transform that are skipped, whose output is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Skipped {
    /// Rows that are not active.
    pub rows: bool,
    /// Segments of weight 0.
    pub segments: bool,
}

/// Windows every segment: `layout.units` units per segment.
#[cube(launch)]
pub fn window_segments(
    input: &WindowInput,
    output: &mut WindowOutput,
    slots: u32,
    frame: u32,
    hop: u32,
    #[comptime] skipped: Skipped,
    #[comptime] layout: SegmentLayout,
) {
    let n = comptime!(layout.n);
    let units = comptime!(layout.units);
    // The unit's segment, and its number among the segment's units. Of an odd number of paired segments, the last pair
    // has a slot without a segment, which is 0.
    let t = UNIT_POS % units;
    let slot = CUBE_POS as u32 * comptime!(layout.cube_segments()) + UNIT_POS / units;
    let (row, segment) = (slot / comptime!(layout.slots()), slot % comptime!(layout.slots()));
    // Whether there is such a segment, and it counts.
    let mut taken = slot < slots && segment < comptime!(layout.segments);
    if comptime!(skipped.rows) {
        if taken {
            taken = input.active[row as usize] != 0;
        }
    }
    if comptime!(skipped.segments) {
        if taken {
            taken = input.weights[segment as usize] != 0.0f32;
        }
    }
    let start = row as usize * frame as usize + (segment * hop) as usize;

    // The mean, which every unit of the cube must take part in.
    let mut mean = 0.0f32;
    if comptime!(layout.detrend) {
        let mut sum = 0.0f32;
        if taken {
            for j in range_stepped(t, n, units) {
                sum += input.signal[start + j as usize];
            }
        }
        mean = sum_over_segment(sum, units) / f32::cast_from(n);
        if t == 0u32 && taken {
            output.means[(row * comptime!(layout.segments) + segment) as usize] = mean;
        }
    }
    // The windowed samples, or zeros: the transform reads all of its input.
    if slot < slots {
        let into = transform_of(row, segment, layout) as usize * n as usize;
        for j in range_stepped(t, n, units) {
            let mut value = 0.0f32;
            if taken {
                // A segment that is not taken is set to 0, not multiplied by it, since it may not be finite.
                value = input.window[j as usize] * (input.signal[start + j as usize] - mean);
            }
            // Two real segments are one complex transform: one in the real part, one in the imaginary part.
            if comptime!(layout.paired) {
                if segment % 2 == 0 {
                    output.re[into + j as usize] = value;
                } else {
                    output.im[into + j as usize] = value;
                }
            } else {
                output.re[into + j as usize] = value;
            }
        }
    }
}
