//! Bands in launches of their own, after transforms of any length, and their gradients.

use cubecl::prelude::*;

use crate::gpu::complex::{ComplexBuffers, square};
use crate::gpu::mel::kernel::{BandShape, SparseRows, first_band, formed, guarded, sparse_row};
use crate::gpu::mel::plan::{BandForm, BandPlan};
use crate::gpu::segments::{SegmentShape, has_gradient};

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
