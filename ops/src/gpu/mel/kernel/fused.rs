//! Bands of frames in one launch: frames are loaded where they are in the signal, and their spectra stay in shared
//! memory.

use cubecl::prelude::*;

use crate::gpu::complex::{Complex, ComplexArray, ComplexValues, complex, registers, times};
use crate::gpu::mel::kernel::{BandShape, FrameInput, SparseRows, first_band, formed, is_inner, sparse_row};
use crate::gpu::mel::plan::FusedMelPlan;
use crate::gpu::segments::{RowPadding, SegmentShape, sample_place};
use crate::gpu::signal::{sample, sample_pair};
use crate::gpu::transform::kernel::{
    Sequence, mirrored, own_sequence, padded, root, run_passes, short_transform, write_exchange,
};
use crate::sample_type::SampleType;

/// Bands `[rows, bands, frames]` of every frame: the sequences of the transform are the frames, `frames.count` of them.
#[cube(launch, launch_unchecked)]
pub fn mel_frames(
    input: &FrameInput,
    filters: &SparseRows,
    output: &mut [f32],
    frames: SegmentShape,
    bands: BandShape,
    #[comptime] plan: FusedMelPlan,
) {
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(plan.exchange_len() as usize));
    let mut magnitudes = Shared::<[f32]>::new_slice(comptime!(plan.magnitudes_len() as usize));
    // Transform a frame per sequence, and leave the power or amplitude of its bins in shared memory.
    let own = own_sequence(frames.count, plan.launch.input, plan.launch);
    frame_magnitudes(&mut exchange, &mut magnitudes, input, &own, &frames, plan);
    // Sum them into bands, by units that are spread over the cube's frames anew.
    store_bands(&magnitudes, filters, output, &frames, &bands, plan);
}

/// One-sided power `[rows, bins]` of windowed rows, times `factor` (one f32) where it is scaled: the sequences of the
/// transform are the rows, each of them one frame.
#[cube(launch, launch_unchecked)]
pub fn row_power(
    input: &FrameInput,
    factor: &[f32],
    output: &mut [f32],
    frames: SegmentShape,
    #[comptime] is_scaled: bool,
    #[comptime] plan: FusedMelPlan,
) {
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(plan.exchange_len() as usize));
    let mut magnitudes = Shared::<[f32]>::new_slice(comptime!(plan.magnitudes_len() as usize));
    // Transform a row per sequence, and leave the power of its bins in shared memory.
    let own = own_sequence(frames.count, plan.launch.input, plan.launch);
    frame_magnitudes(&mut exchange, &mut magnitudes, input, &own, &frames, plan);
    // Scale and store them: adjacent units of a sequence store adjacent bins.
    if own.is_present {
        let bins = comptime!(plan.bands.bins());
        for bin in range_stepped(own.t, bins, comptime!(plan.launch.layout.units)) {
            let mut power = magnitudes[magnitude_at(bin, own_slot(plan), plan)];
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

/// Transforms a frame, and leaves power or amplitude of its bins at [`magnitude_at`].
#[cube]
fn frame_magnitudes(
    exchange: &mut Shared<[Complex]>,
    magnitudes: &mut Shared<[f32]>,
    input: &FrameInput,
    own: &Sequence,
    frames: &SegmentShape,
    #[comptime] plan: FusedMelPlan,
) {
    // Variables, since they are loaded in a branch.
    let values = comptime!(plan.launch.layout.values());
    let mut samples = registers(values);
    load_frame(&mut samples, input, own, frames, plan);
    let mut z = ComplexValues::none();
    z.append(&samples, values);
    run_passes(&mut z, exchange, &input.table, own, own, plan.launch);
    // The spectrum goes to shared memory, once all units have read what they need of the last exchange.
    sync_cube();
    write_exchange(&z, exchange, own, comptime!(plan.launch.passes() - 1), plan.launch);
    sync_cube();
    // A bin and its mirror image were computed by different units, and so are the bins of a band: hence both barriers.
    square_spectrum(&*exchange, magnitudes, input, own, plan);
    sync_cube();
}

/// Loads the windowed samples that a unit's first pass takes.
#[cube]
fn load_frame(
    z: &mut ComplexArray,
    input: &FrameInput,
    own: &Sequence,
    frames: &SegmentShape,
    #[comptime] plan: FusedMelPlan,
) {
    // The frames inside their row, which are most, take no part in the arithmetic of padding.
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
    frames: &SegmentShape,
    #[comptime] is_inner: bool,
    #[comptime] plan: FusedMelPlan,
) {
    let launch = comptime!(plan.launch);
    // The first pass takes values `span` apart: a unit loads those of its short transforms, so that the pass needs no
    // exchange before it. Adjacent units load adjacent values.
    let radix = comptime!(launch.radix(0));
    let span = comptime!(launch.span(0));
    let padding = comptime!(if is_inner { RowPadding::None } else { plan.bands.padding });
    let frame = frames.first + own.row;
    #[unroll]
    for q in 0..comptime!(launch.layout.per_unit(radix)) {
        let j = short_transform(own.t, q, span, launch);
        #[unroll]
        for m in 0..radix {
            let at = j + comptime!(m * span);
            let held = comptime!((q * radix + m) as usize);
            let value = frame_value(input, frame, at, frames, padding, plan);
            z.re[held] = value.extract(0usize);
            z.im[held] = value.extract(1usize);
        }
    }
}

/// Value `at` of the row that is transformed for a frame: a pair of its windowed samples, or one of them.
#[cube]
fn frame_value(
    input: &FrameInput,
    frame: u32,
    at: u32,
    frames: &SegmentShape,
    #[comptime] padding: RowPadding,
    #[comptime] plan: FusedMelPlan,
) -> Complex {
    if comptime!(plan.is_by_halves()) {
        // A frame of even length is transformed as half as many complex values, samples of even number their real parts
        // and those of odd number their imaginary parts. A frame that meets no padding has the pairs of its row; of
        // others each sample is where it is mirrored, held or constant.
        let j = 2u32 * at;
        let pair = if comptime!(padding == RowPadding::None) {
            sample_pair(&input.signal, sample_place(frame, j, frames, padding).at, plan.samples)
        } else {
            complex(
                frame_sample(input, frame, j, frames, padding, plan),
                frame_sample(input, frame, j + 1, frames, padding, plan),
            )
        };
        sample_pair(&input.window, j as usize, SampleType::F32) * pair
    } else {
        let weight = sample(&input.window, at as usize, SampleType::F32);
        complex(weight * frame_sample(input, frame, at, frames, padding, plan), 0.0f32)
    }
}

/// Sample `j` of frame `frame`, which is inner where `padding` is none.
#[cube]
fn frame_sample(
    input: &FrameInput,
    frame: u32,
    j: u32,
    frames: &SegmentShape,
    #[comptime] padding: RowPadding,
    #[comptime] plan: FusedMelPlan,
) -> f32 {
    let place = sample_place(frame, j, frames, padding);
    let mut value = frames.constant;
    if comptime!(padding != RowPadding::Constant) || place.is_inside {
        value = sample(&input.signal, place.at, plan.samples);
    }
    value
}

/// Power or amplitude of the bins of a spectrum that lies in the exchange memory.
#[cube]
fn square_spectrum(
    exchange: &Shared<[Complex]>,
    magnitudes: &mut Shared<[f32]>,
    input: &FrameInput,
    own: &Sequence,
    #[comptime] plan: FusedMelPlan,
) {
    let launch = comptime!(plan.launch);
    let points = comptime!(launch.points);
    let slot = own_slot(plan);
    for k in range_stepped(own.t, comptime!(points / 2 + 1), comptime!(launch.layout.units)) {
        // The units of a sequence share out its bins; positions are padded so that they are on different banks.
        let bin = exchange[(own.base + padded(k, launch)) as usize];
        let (a, b) = (bin.extract(0usize), bin.extract(1usize));
        if comptime!(plan.is_by_halves()) {
            // Bins k and h − k from the spectrum Z of pairs of samples, h of them, as where it is folded:
            // (Z(k) + Z*(h − k))/2 ± w·(Z(k) − Z*(h − k))/2i.
            let image = exchange[(own.base + padded(mirrored(k, points), launch)) as usize];
            let (c, d) = (image.extract(0usize), image.extract(1usize));
            let w = root(&input.table, comptime!(launch.fold_twiddles_at()), k, comptime!(launch.fold_root()));
            let odd = times(complex(b + d, c - a), w);
            let (re, im) = (odd.extract(0usize), odd.extract(1usize));
            let lower = magnitude(0.5f32 * (a + c + re), 0.5f32 * (b - d + im), plan);
            let upper = magnitude(0.5f32 * (a + c - re), 0.5f32 * (b - d - im), plan);
            magnitudes[magnitude_at(k, slot, plan)] = lower;
            magnitudes[magnitude_at(points - k, slot, plan)] = upper;
        } else {
            magnitudes[magnitude_at(k, slot, plan)] = magnitude(a, b, plan);
        }
    }
}

/// Slot of this unit's sequence in its cube.
#[cube]
fn own_slot(#[comptime] plan: FusedMelPlan) -> u32 {
    UNIT_POS / comptime!(plan.launch.layout.units)
}

/// Position of the magnitude of a bin of the sequence in slot `slot`: those of all sequences are side by side, as units
/// that sum bands read them.
#[cube]
fn magnitude_at(bin: u32, slot: u32, #[comptime] plan: FusedMelPlan) -> usize {
    (bin * comptime!(plan.bin_stride()) + slot) as usize
}

#[cube]
fn magnitude(re: f32, im: f32, #[comptime] plan: FusedMelPlan) -> f32 {
    let power = fma(re, re, im * im);
    if comptime!(plan.bands.is_power) { power } else { power.sqrt() }
}

/// Sums bands and stores them: adjacent units take the same band of adjacent frames, which are adjacent in memory.
#[cube]
fn store_bands(
    magnitudes: &Shared<[f32]>,
    filters: &SparseRows,
    output: &mut [f32],
    frames: &SegmentShape,
    bands: &BandShape,
    #[comptime] plan: FusedMelPlan,
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
            output[to + band as usize * frames.segments as usize] = formed(sum, bands, plan.bands);
        }
    }
}
