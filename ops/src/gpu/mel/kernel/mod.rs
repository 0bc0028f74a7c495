//! Device code of mel spectra.

mod fused;
mod steps;

use cubecl::prelude::*;

use crate::gpu::complex::Complex;
use crate::gpu::mel::plan::{BandForm, BandPlan};
use crate::gpu::segments::{RowPadding, SegmentShape};
use crate::gpu::signal::Signal;
pub use fused::{mel_frames, row_power};
pub use steps::{band_slopes, bin_gradients, frame_bands};

/// A sparse matrix, each of whose rows has its weights side by side.
#[derive(CubeType, CubeLaunch)]
pub struct SparseRows {
    /// First column of each row and offset of its weights; then both of a row past the last one.
    pub rows: Box<[u32]>,
    /// Weights of all rows.
    pub weights: Box<[f32]>,
}

/// The buffers of a launch that transforms frames.
#[derive(CubeType, CubeLaunch)]
pub struct FrameInput {
    /// Rows of samples; f32 in pairs where frames start with a pair and are transformed by halves.
    pub signal: Signal,
    /// Factors of the samples of a frame, f32, in pairs where samples are.
    pub window: Signal,
    /// The table of the transform.
    pub table: Box<[Complex]>,
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
pub fn first_band(frame: u32, frames: &SegmentShape, bands: &BandShape) -> usize {
    (frame / frames.segments * bands.bands) as usize * frames.segments as usize + (frame % frames.segments) as usize
}

/// Whether all samples of a frame are of its row, and none of its padding.
#[cube]
pub fn is_inner(frame: u32, shape: &SegmentShape, #[comptime] plan: BandPlan) -> bool {
    if comptime!(plan.padding == RowPadding::None) {
        true.runtime()
    } else {
        let position = frame % shape.segments * shape.hop;
        position >= shape.padding && position + comptime!(plan.n) <= shape.padding + shape.samples
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
