//! Bands in launches of their own, after transforms of any length.

use cubecl::prelude::*;

use super::arguments::{BandShape, SparseRows, first_band, formed, sparse_row};
use crate::gpu::complex::{ComplexBuffers, square};
use crate::gpu::mel::plan::BandPlan;
use crate::gpu::segments::SegmentShape;

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
