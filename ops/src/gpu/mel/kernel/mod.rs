//! Device code of mel spectra.

mod fused;

use cubecl::prelude::*;

use crate::gpu::complex::{Complex, ComplexBuffers, square};
use crate::gpu::mel::plan::{BandForm, BandPlan};
use crate::gpu::segments::{RowPadding, SegmentShape, has_gradient};
use crate::gpu::signal::Signal;
pub use fused::{mel_frames, row_power};

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

/// Bands of spectra `[count, bins]`, `[rows, bands, frames]`: a unit per band of a frame.
#[cube(launch)]
pub fn frame_bands(
    spectra: &ComplexBuffers,
    filters: &SparseRows,
    output: &mut [f32],
    frames: SegmentShape,
    shape: BandShape,
    #[comptime] plan: BandPlan,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= frames.count * shape.bands {
        terminate!();
    }
    // Adjacent units take adjacent bands of a frame, which share bins: most of their reads are from a cache.
    let (own, band) = (at / shape.bands, at % shape.bands);
    let to = first_band(frames.first + own, &frames, &shape) + band as usize * frames.segments as usize;
    output[to] = formed(band_sum(spectra, filters, own, band, plan), &shape, plan);
}

/// The sum of a band of spectrum `frame`.
#[cube]
pub fn band_sum(
    spectra: &ComplexBuffers,
    filters: &SparseRows,
    frame: u32,
    band: u32,
    #[comptime] plan: BandPlan,
) -> f32 {
    let row = sparse_row(filters, band);
    let first = frame as usize * comptime!(plan.bins() as usize) + row.first as usize;
    let mut sum = 0.0f32;
    for index in row.from..row.end {
        let power = square(spectra, first + (index - row.from) as usize);
        let value = if comptime!(plan.is_power) { power } else { power.sqrt() };
        sum += filters.weights[index as usize] * value;
    }
    sum
}

/// Gradients of the sums of bands, `[count, bands]`, from those of the output `[rows, bands, frames]`: a unit per band
/// of a frame.
#[cube(launch)]
pub fn band_slopes(
    spectra: &ComplexBuffers,
    filters: &SparseRows,
    grad: &[f32],
    into: &mut [f32],
    frames: SegmentShape,
    shape: BandShape,
    #[comptime] plan: BandPlan,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= frames.count * shape.bands {
        terminate!();
    }
    let (own, band) = (at / shape.bands, at % shape.bands);
    // The gradient of the output, then that of the sum: through the logarithm f·ln(s) it is f/s times as large.
    let from = first_band(frames.first + own, &frames, &shape) + band as usize * frames.segments as usize;
    let mut slope = grad[from];
    if comptime!(plan.form != BandForm::Sum) {
        // Without a gradient the sum is not computed, so that one that is not finite adds no NaN.
        if has_gradient(slope) {
            let sum = band_sum(spectra, filters, own, band, plan);
            slope *= shape.factor / guarded(sum, &shape, plan);
            // Below the floor the output is constant.
            if comptime!(plan.form == BandForm::FloorLog) {
                slope = select(sum < shape.guard, 0.0f32.runtime(), slope);
            }
        }
    }
    into[(own * shape.bands + band) as usize] = slope;
}

/// Turns spectra X `[count, bins]` into their gradients, 2 g X of power and g X / |X| of amplitude, from those of the
/// sums of bands: a unit per bin. 0 where there is no gradient, also of bins that are not finite.
#[cube(launch)]
pub fn bin_gradients(
    spectra: &mut ComplexBuffers,
    filters: &SparseRows,
    slopes: &[f32],
    count: u32,
    bands: u32,
    #[comptime] plan: BandPlan,
) {
    let place = ABSOLUTE_POS as u32;
    let bins = comptime!(plan.bins());
    if place >= count * bins {
        terminate!();
    }
    let (frame, bin) = (place / bins, place % bins);
    // The adjoint of the bands: the sum over the bands that hold the bin, which are side by side.
    let row = sparse_row(filters, bin);
    let first = frame * bands + row.first;
    let mut slope = 0.0f32;
    for index in row.from..row.end {
        slope += filters.weights[index as usize] * slopes[(first + index - row.from) as usize];
    }
    // Back through power, d|X|² = 2·Re(X* dX), or through amplitude, d|X| = Re(X* dX)/|X|, which has none at 0.
    let at = place as usize;
    if comptime!(plan.is_power) {
        slope *= 2.0f32;
    } else if has_gradient(slope) {
        let (re, im) = (spectra.re[at], spectra.im[at]);
        let amplitude = fma(re, re, im * im).sqrt();
        slope = select(amplitude == 0.0f32, 0.0f32.runtime(), slope / amplitude);
    }
    if has_gradient(slope) {
        spectra.re[at] *= slope;
        spectra.im[at] *= slope;
    } else {
        spectra.re[at] = 0.0f32;
        spectra.im[at] = 0.0f32;
    }
}
