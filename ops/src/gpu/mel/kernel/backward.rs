//! Gradients of bands: of their sums, of bins, and from those of windowed frames to those of signal and window.

use cubecl::prelude::*;

use super::arguments::{BandShape, MelFrameShape, SparseRows, first_band, frame_sample, guarded, sparse_row};
use super::separate::band_sum;
use crate::gpu::complex::ComplexBuffers;
use crate::gpu::mel::plan::{BandForm, BandPlan, RowPadding};
use crate::gpu::reduce::RowBlockShape;

/// Gradients of the sums of bands, `[count, bands]`, from those of the output `[rows, bands, frames]`: a unit per band
/// of a frame.
#[cube(launch)]
pub fn band_slopes(
    spectra: &ComplexBuffers,
    filters: &SparseRows,
    grad: &[f32],
    into: &mut [f32],
    frames: MelFrameShape,
    shape: BandShape,
    #[comptime] plan: BandPlan,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= frames.count * shape.bands {
        terminate!();
    }
    let (own, band) = (at / shape.bands, at % shape.bands);
    // The gradient of the output, then that of the sum: through the logarithm f·ln(s) it is f/s times as large.
    let from = first_band(frames.first + own, &frames, &shape) + band as usize * frames.frames as usize;
    let mut slope = grad[from];
    if comptime!(plan.form != BandForm::Sum) {
        // Without a gradient the sum is not computed, so that one that is not finite adds no NaN.
        if slope != 0.0f32 {
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
    } else if slope != 0.0f32 {
        let (re, im) = (spectra.re[at], spectra.im[at]);
        let amplitude = fma(re, re, im * im).sqrt();
        slope = select(amplitude == 0.0f32, 0.0f32.runtime(), slope / amplitude);
    }
    if slope != 0.0f32 {
        spectra.re[at] *= slope;
        spectra.im[at] *= slope;
    } else {
        spectra.re[at] = 0.0f32;
        spectra.im[at] = 0.0f32;
    }
}

/// Adds to the gradient of every sample, `[rows, samples]`, the sum over the frames of a launch that hold it: a unit
/// per sample. `first_row` is the row of the first frame, and `rows` the rows that the frames are of.
#[cube(launch)]
pub fn add_frames(
    grad: &[f32],
    window: &[f32],
    into: &mut [f32],
    frames: MelFrameShape,
    first_row: u32,
    rows: u32,
    #[comptime] plan: BandPlan,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= rows * frames.samples {
        terminate!();
    }
    let (row, sample) = (first_row + at / frames.samples, at % frames.samples);
    let last = frames.samples - 1;
    // The frames at the sample itself, then at the places of the padding that repeat it.
    let mut sum = sum_at(grad, window, row, frames.padding + sample, &frames, plan);
    if comptime!(plan.padding == RowPadding::Reflect) {
        // The mirror images before and after the row; the samples at the ends have none.
        if sample > 0 && sample <= frames.padding {
            sum += sum_at(grad, window, row, frames.padding - sample, &frames, plan);
        }
        if sample < last && last - sample <= frames.padding {
            sum += sum_at(grad, window, row, frames.padding + 2u32 * last - sample, &frames, plan);
        }
    }
    // The repetitions after the row and before it.
    if comptime!(plan.padding == RowPadding::Circular) {
        if sample < frames.padding {
            sum += sum_at(grad, window, row, frames.padding + frames.samples + sample, &frames, plan);
        }
        if sample + frames.padding >= frames.samples {
            sum += sum_at(grad, window, row, sample + frames.padding - frames.samples, &frames, plan);
        }
    }
    // The ends of the row stand for all of the padding beyond them.
    if comptime!(plan.padding == RowPadding::Edge) {
        if sample == 0 {
            for position in 0..frames.padding {
                sum += sum_at(grad, window, row, position, &frames, plan);
            }
        }
        if sample == last {
            for beyond in 1..frames.padding + 1 {
                sum += sum_at(grad, window, row, frames.padding + last + beyond, &frames, plan);
            }
        }
    }
    into[row as usize * frames.samples as usize + sample as usize] += sum;
}

/// The sum at a position of a padded row over the frames of the launch that hold it.
#[cube]
fn sum_at(
    grad: &[f32],
    window: &[f32],
    row: u32,
    position: u32,
    frames: &MelFrameShape,
    #[comptime] plan: BandPlan,
) -> f32 {
    let n = comptime!(plan.n);
    // From the first frame that ends after the position to the last one that starts before it.
    let mut first = 0u32;
    if position >= n {
        first = (position - n) / frames.hop + 1;
    }
    let end = min(position / frames.hop + 1, frames.frames);
    // Of those, the frames of this launch.
    let of_row = row * frames.frames;
    let first = max(of_row + first, frames.first);
    let end = min(of_row + end, frames.first + frames.count);
    let mut sum = 0.0f32;
    for frame in first..end {
        let j = position - (frame - of_row) * frames.hop;
        sum += window[j as usize] * grad[(frame - frames.first) as usize * comptime!(n as usize) + j as usize];
    }
    sum
}

/// The window's gradient from each block of the frames of a launch, `[blocks, n]`: a unit per value of a block.
#[cube(launch)]
pub fn window_sums(
    signal: &[f32],
    grad: &[f32],
    sums: &mut [f32],
    frames: MelFrameShape,
    blocks: RowBlockShape,
    #[comptime] plan: BandPlan,
) {
    let at = ABSOLUTE_POS as u32;
    let n = comptime!(plan.n);
    if at >= blocks.count * n {
        terminate!();
    }
    // Adjacent units take adjacent values of a window; each adds the frames of its block in order, so that the bits of
    // the sum do not vary.
    let (first, j) = (at / n * blocks.length, at % n);
    let mut sum = 0.0f32;
    for frame in first..min(first + blocks.length, frames.count) {
        let slope = grad[frame as usize * comptime!(n as usize) + j as usize];
        // A frame without a gradient adds nothing, also where its samples are not finite.
        if slope != 0.0f32 {
            sum += slope * frame_sample(signal, frames.first + frame, j, &frames, plan.padding);
        }
    }
    sums[at as usize] = sum;
}
