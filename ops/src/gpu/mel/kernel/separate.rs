//! Frames and bands in launches of their own, around transforms of any length.

use cubecl::prelude::*;

use super::arguments::{BandShape, MelFrameShape, SparseRows, first_band, formed, frame_sample, sparse_row};
use crate::gpu::complex::{ComplexBuffers, square};
use crate::gpu::mel::plan::BandPlan;

/// Windowed frames, `[count, n]`: a unit per value.
#[cube(launch)]
pub fn window_frames(
    signal: &[f32],
    window: &[f32],
    into: &mut [f32],
    frames: MelFrameShape,
    #[comptime] plan: BandPlan,
) {
    let at = ABSOLUTE_POS as u32;
    let n = comptime!(plan.n);
    if at >= frames.count * n {
        terminate!();
    }
    // Adjacent units take adjacent samples of a frame.
    let j = at % n;
    into[at as usize] = window[j as usize] * frame_sample(signal, frames.first + at / n, j, &frames, plan.padding);
}

/// Bands of spectra `[count, bins]`, `[rows, bands, frames]`: a unit per band of a frame.
#[cube(launch)]
pub fn frame_bands(
    spectra: &ComplexBuffers,
    filters: &SparseRows,
    output: &mut [f32],
    frames: MelFrameShape,
    shape: BandShape,
    #[comptime] plan: BandPlan,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= frames.count * shape.bands {
        terminate!();
    }
    // Adjacent units take adjacent bands of a frame, which share bins: most of their reads are from a cache.
    let (own, band) = (at / shape.bands, at % shape.bands);
    let to = first_band(frames.first + own, &frames, &shape) + band as usize * frames.frames as usize;
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
