//! Samples of segments: the positions of segments in rows, and what stands beyond the ends of rows.

use cubecl::prelude::*;

use crate::gpu::segments::plan::RowPadding;

/// Segments of rows, numbered over all rows.
#[derive(CubeType, CubeLaunch)]
pub struct SegmentShape {
    /// Segments of a row.
    pub segments: u32,
    /// Samples of a row.
    pub samples: u32,
    /// Values from one row to the next.
    pub stride: u32,
    /// Samples from one segment's start to the next.
    pub hop: u32,
    /// Samples before a row that its first segment starts with.
    pub padding: u32,
    /// The constant of the padding.
    pub constant: f32,
    /// The first segment of a launch.
    pub first: u32,
    /// Segments of a launch.
    pub count: u32,
}

/// Whether a gradient is not 0. Compares bits without the sign: under fast-math, a comparison of floats may miss NaN.
#[cube]
pub fn has_gradient(gradient: f32) -> bool {
    (u32::reinterpret(gradient) << 1u32) != 0u32
}

/// Sample `j` of segment `segment`, which is inner where `padding` is none.
#[cube]
pub fn segment_sample(
    signal: &[f32],
    segment: u32,
    j: u32,
    shape: &SegmentShape,
    #[comptime] padding: RowPadding,
) -> f32 {
    let place = sample_place(segment, j, shape, padding);
    let mut value = shape.constant;
    if comptime!(padding != RowPadding::Constant) || place.is_inside {
        value = signal[place.at];
    }
    value
}

/// Position of a sample of a segment in the signal.
#[derive(CubeType, Clone, Copy)]
pub struct SamplePlace {
    /// The position.
    pub at: usize,
    /// Whether the sample is of the row, and not the constant of the padding, whose position is that of the row.
    pub is_inside: bool,
}

/// Position of sample `j` of segment `segment`, which is inner where `padding` is none.
#[cube]
pub fn sample_place(segment: u32, j: u32, shape: &SegmentShape, #[comptime] padding: RowPadding) -> SamplePlace {
    let start = (segment / shape.segments) as usize * shape.stride as usize;
    // From the start of the padding on.
    let position = segment % shape.segments * shape.hop + j;
    if comptime!(padding == RowPadding::None) {
        // The padding of segments that do not meet it, 0 where there is none.
        SamplePlace { at: start + (position - shape.padding) as usize, is_inside: true.runtime() }
    } else {
        let is_before = position < shape.padding;
        let last = shape.samples - 1;
        if comptime!(padding == RowPadding::Constant) {
            let is_inside = !is_before && position - shape.padding <= last;
            let at = select(is_inside, position - shape.padding, 0u32.runtime());
            SamplePlace { at: start + at as usize, is_inside }
        } else if comptime!(padding == RowPadding::Edge) {
            let at = min(select(is_before, 0u32.runtime(), position - shape.padding), last);
            SamplePlace { at: start + at as usize, is_inside: true.runtime() }
        } else if comptime!(padding == RowPadding::Circular) {
            // Padding is no longer than the row, so that one step of a row leads back into it.
            let at = select(is_before, position + shape.samples - shape.padding, position - shape.padding);
            SamplePlace { at: start + select(at > last, at - shape.samples, at) as usize, is_inside: true.runtime() }
        } else {
            let at = select(is_before, shape.padding - position, position - shape.padding);
            SamplePlace { at: start + select(at > last, 2u32 * last - at, at) as usize, is_inside: true.runtime() }
        }
    }
}
