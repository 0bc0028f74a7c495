//! Kernel arguments, and what kernels share: samples of frames, sums of bands, logarithms.

use cubecl::prelude::*;

use crate::gpu::complex::Complex;
use crate::gpu::mel::plan::{BandForm, BandPlan, RowPadding};

/// A sparse matrix, each of whose rows has its weights side by side.
#[derive(CubeType, CubeLaunch)]
pub struct SparseRows {
    /// First column of each row and offset of its weights; then both of a row past the last one.
    pub rows: Box<[u32]>,
    /// Weights of all rows.
    pub weights: Box<[f32]>,
}

/// Rows of samples, and the factors of the samples of a frame.
#[derive(CubeType, CubeLaunch)]
pub struct SampleBuffers {
    pub signal: Box<[f32]>,
    pub window: Box<[f32]>,
}

/// The same, two samples and two factors side by side.
#[derive(CubeType, CubeLaunch)]
pub struct PairBuffers {
    pub signal: Box<[Complex]>,
    pub window: Box<[Complex]>,
}

/// The samples of a launch: the variant is known when the kernel is compiled.
#[derive(CubeType, CubeLaunch)]
#[expect(dead_code, reason = "variants are constructed as the generated kernel arguments")]
pub enum FrameSamples {
    /// One by one.
    Single(SampleBuffers),
    /// Two at a time: a frame starts with a pair, and is transformed by halves.
    Pairs(PairBuffers),
}

/// The buffers of a launch that transforms frames.
#[derive(CubeType, CubeLaunch)]
pub struct FrameInput {
    pub samples: FrameSamples,
    /// The table of the transform.
    pub table: Box<[Complex]>,
}

/// Frames of rows, numbered over all rows.
#[derive(CubeType, CubeLaunch)]
pub struct MelFrameShape {
    /// Frames of a row.
    pub frames: u32,
    /// Samples of a row.
    pub samples: u32,
    /// Values from one row to the next.
    pub stride: u32,
    /// Samples from one frame's start to the next.
    pub hop: u32,
    /// Samples before a row that its first frame starts with.
    pub padding: u32,
    /// The constant of the padding.
    pub constant: f32,
    /// The first frame of a launch.
    pub first: u32,
    /// Frames of a launch.
    pub count: u32,
}

/// Bands, and their logarithms.
#[derive(CubeType, CubeLaunch)]
pub struct BandShape {
    /// Bands of a frame.
    pub bands: u32,
    /// Offset or floor of a logarithm.
    pub guard: f32,
    /// Factor on a natural logarithm.
    pub factor: f32,
}

/// The weights of a row of a sparse matrix.
#[derive(CubeType, Clone, Copy)]
pub struct SparseRow {
    /// The column of the first one.
    pub first: u32,
    /// Offset of the first one.
    pub from: u32,
    /// Offset past the last one.
    pub end: u32,
}

/// Place of the weights of row `row`.
#[cube]
pub fn sparse_row(matrix: &SparseRows, row: u32) -> SparseRow {
    let at = (2u32 * row) as usize;
    SparseRow { first: matrix.rows[at], from: matrix.rows[at + 1], end: matrix.rows[at + 3] }
}

/// Position of a frame's first band in `[rows, bands, frames]`; the next band is as many values on as a row has frames.
#[cube]
pub fn first_band(frame: u32, frames: &MelFrameShape, bands: &BandShape) -> usize {
    (frame / frames.frames * bands.bands) as usize * frames.frames as usize + (frame % frames.frames) as usize
}

/// Whether all samples of a frame are of its row, and none of its padding.
#[cube]
pub fn is_inner(frame: u32, shape: &MelFrameShape, #[comptime] plan: BandPlan) -> bool {
    if comptime!(plan.padding == RowPadding::None) {
        true.runtime()
    } else {
        let position = frame % shape.frames * shape.hop;
        position >= shape.padding && position + comptime!(plan.n) <= shape.padding + shape.samples
    }
}

/// Sample `j` of frame `frame`, which is inner where `padding` is none.
#[cube]
pub fn frame_sample(signal: &[f32], frame: u32, j: u32, shape: &MelFrameShape, #[comptime] padding: RowPadding) -> f32 {
    let place = sample_place(frame, j, shape, padding);
    let mut value = shape.constant;
    if comptime!(padding != RowPadding::Constant) || place.is_inside {
        value = signal[place.at];
    }
    value
}

/// The same, of a signal of pairs.
#[cube]
pub fn frame_sample_of_pairs(
    signal: &[Complex],
    frame: u32,
    j: u32,
    shape: &MelFrameShape,
    #[comptime] padding: RowPadding,
) -> f32 {
    let place = sample_place(frame, j, shape, padding);
    let mut value = shape.constant;
    if comptime!(padding != RowPadding::Constant) || place.is_inside {
        let pair = signal[place.at / 2];
        value = select(place.at % 2 == 0, pair.extract(0usize), pair.extract(1usize));
    }
    value
}

/// Position of a sample of a frame in the signal.
#[derive(CubeType, Clone, Copy)]
pub struct SamplePlace {
    /// The position.
    pub at: usize,
    /// Whether the sample is of the row, and not the constant of the padding, whose position is that of the row.
    pub is_inside: bool,
}

/// Position of sample `j` of frame `frame`, which is inner where `padding` is none.
#[cube]
pub fn sample_place(frame: u32, j: u32, shape: &MelFrameShape, #[comptime] padding: RowPadding) -> SamplePlace {
    let start = (frame / shape.frames) as usize * shape.stride as usize;
    // From the start of the padding on.
    let position = frame % shape.frames * shape.hop + j;
    if comptime!(padding == RowPadding::None) {
        // The padding of frames that do not meet it, 0 where there is none.
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

/// A band in the form of the plan: its sum, or the scaled logarithm of its guarded sum.
#[cube]
pub fn formed(sum: f32, shape: &BandShape, #[comptime] plan: BandPlan) -> f32 {
    if comptime!(plan.form == BandForm::Sum) { sum } else { shape.factor * guarded(sum, shape, plan).ln() }
}

/// The guarded sum of a band: plus the offset, or at least the floor. NaN stays NaN, because no comparison with it
/// holds.
#[cube]
pub fn guarded(sum: f32, shape: &BandShape, #[comptime] plan: BandPlan) -> f32 {
    if comptime!(plan.form == BandForm::OffsetLog) {
        sum + shape.guard
    } else {
        select(sum < shape.guard, shape.guard, sum)
    }
}
