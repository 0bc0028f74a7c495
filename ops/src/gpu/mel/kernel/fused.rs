//! Bands of frames in one launch: frames are loaded where they are in the signal, and their spectra stay in shared memory.

use cubecl::prelude::*;

use super::arguments::{
    BandShape, FrameInput, FrameShape, SparseRows, first_band, formed, frame_sample, is_inner, sparse_row,
};
use crate::gpu::complex::{Complex, ComplexArray, complex, registers, times};
use crate::gpu::mel::plan::{FusedPlan, Padding};
use crate::gpu::transform::kernel::{
    Sequence, mirrored, own_sequence, padded, root, run_passes, short_transform, write_exchange,
};

/// Bands `[rows, bands, frames]` of every frame: the sequences of the transform are the frames, `frames.count` of them.
#[cube(launch, launch_unchecked)]
pub fn mel_frames(
    input: &FrameInput,
    filters: &SparseRows,
    output: &mut [f32],
    frames: FrameShape,
    bands: BandShape,
    #[comptime] plan: FusedPlan,
) {
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(plan.exchange_len() as usize));
    let own = own_sequence(frames.count, plan.launch.input, plan.launch);
    frame_magnitudes(&mut exchange, input, &own, &frames, plan);
    store_bands(&exchange, filters, output, &frames, &bands, plan);
}

/// One-sided power `[rows, bins]` of windowed rows, times `factor` (one f32) where it is scaled: the sequences of the
/// transform are the rows, each of them one frame.
#[cube(launch, launch_unchecked)]
pub fn row_power(
    input: &FrameInput,
    factor: &[f32],
    output: &mut [f32],
    frames: FrameShape,
    #[comptime] is_scaled: bool,
    #[comptime] plan: FusedPlan,
) {
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(plan.exchange_len() as usize));
    let own = own_sequence(frames.count, plan.launch.input, plan.launch);
    frame_magnitudes(&mut exchange, input, &own, &frames, plan);
    if own.is_present {
        let bins = comptime!(plan.bands.bins());
        for bin in range_stepped(own.t, bins, comptime!(plan.launch.layout.units)) {
            let mut power = bin_magnitude(&exchange, own.base, bin, plan);
            // Interior bins stand for two.
            if bin > 0 && bin < comptime!(plan.bands.n.div_ceil(2)) {
                power *= 2.0f32;
            }
            if comptime!(is_scaled) {
                power *= factor[0];
            }
            output[(own.row * bins + bin) as usize] = power;
        }
    }
}

/// Transforms a frame, and leaves power or amplitude of its bins in shared memory, where [`bin_magnitude`] finds them.
#[cube]
fn frame_magnitudes(
    exchange: &mut Shared<[Complex]>,
    input: &FrameInput,
    own: &Sequence,
    frames: &FrameShape,
    #[comptime] plan: FusedPlan,
) {
    let mut z = registers(comptime!(plan.launch.layout.values()));
    load_frame(&mut z, input, own, frames, plan);
    run_passes(&mut z, exchange, &input.table, own, own, plan.launch);
    // The spectrum goes to shared memory, once all units have read what they need of the last exchange.
    sync_cube();
    write_exchange(&z, exchange, own, comptime!(plan.launch.passes() - 1), plan.launch);
    sync_cube();
    square_spectrum(exchange, input, own, plan);
    sync_cube();
}

/// Loads the windowed samples that a unit's first pass takes.
#[cube]
fn load_frame(
    z: &mut ComplexArray,
    input: &FrameInput,
    own: &Sequence,
    frames: &FrameShape,
    #[comptime] plan: FusedPlan,
) {
    let frame = frames.first + own.row;
    if is_inner(frame, frames, plan.bands) {
        load_windowed(z, input, own, frames, true, plan);
    } else {
        load_windowed(z, input, own, frames, false, plan);
    }
}

/// The same, where it is known at compile time whether the frame is inside its row.
#[cube]
fn load_windowed(
    z: &mut ComplexArray,
    input: &FrameInput,
    own: &Sequence,
    frames: &FrameShape,
    #[comptime] is_inner: bool,
    #[comptime] plan: FusedPlan,
) {
    let launch = comptime!(plan.launch);
    let radix = comptime!(launch.radix(0));
    let span = comptime!(launch.span(0));
    let padding = comptime!(if is_inner { Padding::None } else { plan.bands.padding });
    let frame = frames.first + own.row;
    #[unroll]
    for q in 0..comptime!(launch.layout.per_unit(radix)) {
        let j = short_transform(own.t, q, span, launch);
        #[unroll]
        for m in 0..radix {
            let at = j + comptime!(m * span);
            let held = comptime!((q * radix + m) as usize);
            if comptime!(plan.is_by_halves()) {
                z.re[held] = windowed(input, frame, 2u32 * at, frames, padding);
                z.im[held] = windowed(input, frame, 2u32 * at + 1, frames, padding);
            } else {
                z.re[held] = windowed(input, frame, at, frames, padding);
                z.im[held] = 0.0f32;
            }
        }
    }
}

#[cube]
fn windowed(input: &FrameInput, frame: u32, j: u32, frames: &FrameShape, #[comptime] padding: Padding) -> f32 {
    input.window[j as usize] * frame_sample(&input.signal, frame, j, frames, padding)
}

/// Puts power or amplitude in the place of bins: that of bin k below the middle into the real part of value k, and that of
/// the last bin of an even number of samples into the imaginary part of value 0.
#[cube]
fn square_spectrum(exchange: &mut Shared<[Complex]>, input: &FrameInput, own: &Sequence, #[comptime] plan: FusedPlan) {
    let launch = comptime!(plan.launch);
    let points = comptime!(launch.points);
    if comptime!(plan.is_by_halves()) {
        // Bins k and h − k from the spectrum Z of pairs of samples, h of them, as where it is folded:
        // (Z(k) + Z*(h − k))/2 ± w·(Z(k) − Z*(h − k))/2i. A unit reads and writes these two values alone.
        for k in range_stepped(own.t, comptime!(points / 2 + 1), comptime!(launch.layout.units)) {
            let low = (own.base + padded(k, launch)) as usize;
            let high = (own.base + padded(mirrored(k, points), launch)) as usize;
            let (bin, image) = (exchange[low], exchange[high]);
            let (a, b, c, d) = (bin.extract(0usize), bin.extract(1usize), image.extract(0usize), image.extract(1usize));
            let w = root(&input.table, comptime!(launch.fold_twiddles_at()), k, comptime!(launch.fold_root()));
            let odd = times(complex(b + d, c - a), w);
            let (re, im) = (odd.extract(0usize), odd.extract(1usize));
            let lower = magnitude(0.5f32 * (a + c + re), 0.5f32 * (b - d + im), plan);
            let upper = magnitude(0.5f32 * (a + c - re), 0.5f32 * (b - d - im), plan);
            exchange[high] = complex(upper, 0.0f32);
            exchange[low] = complex(lower, select(k == 0, upper, 0.0f32.runtime()));
        }
    } else {
        for k in range_stepped(own.t, comptime!(points / 2 + 1), comptime!(launch.layout.units)) {
            let at = (own.base + padded(k, launch)) as usize;
            let bin = exchange[at];
            exchange[at] = complex(magnitude(bin.extract(0usize), bin.extract(1usize), plan), 0.0f32);
        }
    }
}

#[cube]
fn magnitude(re: f32, im: f32, #[comptime] plan: FusedPlan) -> f32 {
    let power = fma(re, re, im * im);
    if comptime!(plan.bands.is_power) { power } else { power.sqrt() }
}

/// Sums bands and stores them: adjacent units take the same band of adjacent frames, which are adjacent in memory.
#[cube]
fn store_bands(
    exchange: &Shared<[Complex]>,
    filters: &SparseRows,
    output: &mut [f32],
    frames: &FrameShape,
    bands: &BandShape,
    #[comptime] plan: FusedPlan,
) {
    let launch = comptime!(plan.launch);
    let sequences = comptime!(launch.layout.sequences);
    let slot = UNIT_POS % sequences;
    let own = CUBE_POS as u32 * sequences + slot;
    if own < frames.count {
        let frame = frames.first + own;
        let base = slot * comptime!(launch.layout.sequence_stride());
        let to = first_band(frame, frames, bands);
        for band in range_stepped(UNIT_POS / sequences, bands.bands, comptime!(launch.layout.units)) {
            let row = sparse_row(filters, band);
            let mut sum = 0.0f32;
            for index in row.from..row.end {
                let bin = row.first + index - row.from;
                sum += filters.weights[index as usize] * bin_magnitude(exchange, base, bin, plan);
            }
            output[to + band as usize * frames.frames as usize] = formed(sum, bands, plan.bands);
        }
    }
}

/// The power or amplitude of a bin, where [`square_spectrum`] left it.
#[cube]
fn bin_magnitude(exchange: &Shared<[Complex]>, base: u32, bin: u32, #[comptime] plan: FusedPlan) -> f32 {
    if comptime!(plan.is_by_halves()) {
        let is_last = bin == comptime!(plan.launch.points);
        let value = exchange[(base + padded(select(is_last, 0u32.runtime(), bin), plan.launch)) as usize];
        select(is_last, value.extract(1usize), value.extract(0usize))
    } else {
        exchange[(base + padded(bin, plan.launch)) as usize].extract(0usize)
    }
}
