//! Device code of mel spectra: bands of frames in one launch, or in launches of their own after transforms of any length,
//! and their gradients.

use cubecl::prelude::*;

use crate::gpu::complex::{Complex, ComplexBuffers, square};
use crate::gpu::mel::{BandForm, BandPlan};
use crate::gpu::segments::{FrameInput, FusedFramePlan, SegmentShape, frame_magnitudes, has_gradient, magnitude_at};
use crate::gpu::transform::kernel::own_sequence;

/// A sparse matrix, each of whose rows has its weights side by side.
#[derive(CubeType, CubeLaunch)]
pub struct SparseRows {
    /// First column of each row and offset of its weights; then both of a row past the last one.
    pub rows: Box<[u32]>,
    /// Weights of all rows.
    pub weights: Box<[f32]>,
}

/// Bands, and their logarithms.
#[derive(CubeType, CubeLaunch)]
pub struct BandShape {
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

/// A band in a form: its sum, or the scaled logarithm of its guarded sum.
#[cube]
pub fn formed(sum: f32, shape: &BandShape, #[comptime] form: BandForm) -> f32 {
    if comptime!(form == BandForm::Sum) { sum } else { shape.factor * guarded(sum, shape, form).ln() }
}

/// The guarded sum of a band: plus the offset, or at least the floor. NaN, with which no comparison holds, stays NaN.
#[cube]
pub fn guarded(sum: f32, shape: &BandShape, #[comptime] form: BandForm) -> f32 {
    if comptime!(form == BandForm::OffsetLog) { sum + shape.guard } else { select(sum < shape.guard, shape.guard, sum) }
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
    output[to] = formed(band_sum(spectra, filters, own, band, plan), &shape, plan.form);
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
    let first = frame as usize * comptime!(plan.frame.bins() as usize) + row.first as usize;
    let mut sum = 0.0f32;
    for index in row.from..row.end {
        let power = square(spectra, first + (index - row.from) as usize);
        let value = if comptime!(plan.frame.is_power) { power } else { power.sqrt() };
        sum += filters.weights[index as usize] * value;
    }
    sum
}

/// Gradients of the sums of bands, `[count, bands]`, from those of `[rows, bands, frames]`: a unit per band of a frame.
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
            slope *= shape.factor / guarded(sum, &shape, plan.form);
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
    let bins = comptime!(plan.frame.bins());
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
    if comptime!(plan.frame.is_power) {
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

/// Bands `[rows, bands, frames]` of every frame: the sequences of the transform are the frames, `frames.count` of them.
#[cube(launch, launch_unchecked)]
pub fn mel_frames(
    input: &FrameInput,
    filters: &SparseRows,
    output: &mut [f32],
    frames: SegmentShape,
    bands: BandShape,
    #[comptime] plan: FusedFramePlan,
    #[comptime] form: BandForm,
) {
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(plan.exchange_len() as usize));
    let mut magnitudes = Shared::<[f32]>::new_slice(comptime!(plan.magnitudes_len() as usize));
    // Transform a frame per sequence, and leave the power or amplitude of its bins in shared memory.
    let own = own_sequence(frames.count, plan.launch.input, plan.launch);
    frame_magnitudes(&mut exchange, &mut magnitudes, input, &own, &frames, plan);
    // Sum them into bands, by units that are spread over the cube's frames anew.
    store_bands(&magnitudes, filters, output, &frames, &bands, plan, form);
}

/// Sums bands and stores them: adjacent units take the same band of adjacent frames, which are adjacent in memory.
#[cube]
fn store_bands(
    magnitudes: &Shared<[f32]>,
    filters: &SparseRows,
    output: &mut [f32],
    frames: &SegmentShape,
    bands: &BandShape,
    #[comptime] plan: FusedFramePlan,
    #[comptime] form: BandForm,
) {
    let launch = comptime!(plan.launch);
    let sequences = comptime!(launch.layout.sequences);
    let slot = UNIT_POS % sequences;
    let own = CUBE_POS as u32 * sequences + slot;
    // A unit goes through every `units`th band of one frame.
    // Units past the last frame have nothing to store, and no barrier follows.
    if own < frames.count {
        let to = first_band(frames.first + own, frames, bands);
        for band in range_stepped(UNIT_POS / sequences, bands.bands, comptime!(launch.layout.units)) {
            // Units of a band read the same weights, and magnitudes that are side by side in shared memory.
            let row = sparse_row(filters, band);
            let mut sum = 0.0f32;
            for index in row.from..row.end {
                let bin = row.first + index - row.from;
                sum += filters.weights[index as usize] * magnitudes[magnitude_at(bin, slot, plan)];
            }
            output[to + band as usize * frames.segments as usize] = formed(sum, bands, form);
        }
    }
}
