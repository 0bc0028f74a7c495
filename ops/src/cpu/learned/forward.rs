//! Learned Welch power and peaks in f32, one frame per lane.

use crate::cpu::butterfly::bit_reversal::bit_reversal;
use crate::cpu::butterfly::prepared::{ClosedGates, PreparedButterfly, WeightForm, with_prepared};
use crate::cpu::butterfly::steps::RunProgram;
use crate::cpu::butterfly::tiling::{tile_tasks, width};
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, take_registers, take_values, with_lines};
use crate::cpu::isa::register::MAX_LANES;
use crate::cpu::isa::register::Register;
use crate::cpu::isa::{InstructionSet, Kernel, dispatch};
use crate::cpu::learned::arguments::LearnedWelch;
use crate::cpu::learned::frames::{LearnedFrames, store_bins};
use crate::cpu::real::Real;
use crate::cpu::top_k;
use crate::cpu::top_k::forward::{PowerTile, top_k_tile};
use crate::open_blocks::OpenBlocks;

/// As [`learned_welch_psd`](crate::cpu::learned_welch_psd()).
pub(in crate::cpu) fn learned_welch_psd(
    signal: &[f32],
    frame_len: usize,
    model: &LearnedWelch<'_, f32>,
    power: &mut [f32],
) {
    let bins = model.options.bins();
    let (set, rows, order) = (InstructionSet::current(), power.len() / bins, bit_reversal(model.transform.n));
    with_prepared(&model.transform, bins, ClosedGates::Skip, WeightForm::Forward, |prepared| {
        let frames = LearnedFrames::new(model, prepared, &order, frame_len);
        let tasks = tile_tasks(rows, work(model, prepared));
        let pieces = signal.chunks(tasks.rows * frame_len).zip(power.chunks_mut(tasks.rows * bins));
        tasks.run(pieces, |(signal, power)| {
            with_lines(tile_lines(&frames) + MAX_LANES * lines_for(bins), |memory| {
                dispatch(set, width(rows), PowerKernel { frames: &frames, memory, signal, power });
            });
        });
    });
}

/// As [`learned_welch_peaks`](crate::cpu::learned_welch_peaks()).
pub(in crate::cpu) fn learned_welch_peaks(
    signal: &[f32],
    frame_len: usize,
    model: &LearnedWelch<'_, f32>,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [f32],
) {
    let (bins, searched) = (model.options.bins(), model.options.searched().len());
    let (set, rows, order) = (InstructionSet::current(), out_bins.len() / k, bit_reversal(model.transform.n));
    let open = model.open_blocks(k);
    with_prepared(&model.transform, bins, ClosedGates::Skip, WeightForm::Forward, |prepared| {
        let frames = LearnedFrames::new(model, prepared, &order, frame_len);
        let tasks = tile_tasks(rows, work(model, prepared) + top_k::work(searched, k));
        let pieces = signal
            .chunks(tasks.rows * frame_len)
            .zip(out_bins.chunks_mut(tasks.rows * k))
            .zip(out_power.chunks_mut(tasks.rows * k));
        tasks.run(pieces, |((signal, out_bins), out_power)| {
            f32::with_scratch(|scratch| {
                let (_, _, keys) = scratch.buffers(0, 0, searched);
                with_lines(tile_lines(&frames) + MAX_LANES * lines_for(bins), |memory| {
                    let kernel = PeaksKernel { frames: &frames, memory, signal, k, open, keys, out_bins, out_power };
                    dispatch(set, width(rows), kernel);
                });
            });
        });
    });
}

/// Butterflies of a frame.
fn work(model: &LearnedWelch<'_, f32>, prepared: &PreparedButterfly<'_>) -> usize {
    let open = model.weights.iter().filter(|&&weight| weight != 0.0).count();
    open * (prepared.program.pairs.len() + model.transform.n / 2)
}

/// Lines of memory that the sums of a tile take.
fn tile_lines(frames: &LearnedFrames<'_>) -> usize {
    3 * MAX_LANES * lines_for(frames.options().n_fft) + frames.sums_lines()
}

/// The scaled sums of a tile's frames that the gain takes.
#[inline(always)]
fn tile_sums<'m, V: Register>(
    token: V::Token,
    frames: &LearnedFrames<'_>,
    signal: &[f32],
    memory: &mut &'m mut [Line],
) -> &'m mut [V] {
    let (program, n) = (&*frames.prepared.program, frames.options().n_fft);
    let spare = take_values(memory, V::LANES * n);
    let tile = take_complexes::<V>(token, memory, n);
    let sums = take_registers::<V>(token, memory, frames.sums_len());
    sums.fill(V::splat(token, 0.0));
    for (index, &weight) in frames.model.weights.iter().enumerate() {
        if weight == 0.0 {
            continue;
        }
        // Windowed samples into lanes, all stages, and the weighted sums of the outputs.
        frames.load(token, &frames.segments::<V>(signal, index, None, spare), tile);
        if frames.prepared.soft {
            V::call_shared(token, RunProgram::<V, 4> { program, weights: frames.prepared.weights(), tile });
        } else {
            V::call_shared(token, RunProgram::<V, 2> { program, weights: frames.prepared.weights(), tile });
        }
        frames.add_sums(token, tile, weight, sums);
    }
    frames.scale_sums(token, sums);
    sums
}

/// The power of one task's rows.
struct PowerKernel<'a> {
    frames: &'a LearnedFrames<'a>,
    memory: &'a mut [Line],
    signal: &'a [f32],
    power: &'a mut [f32],
}

impl Kernel for PowerKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { frames, mut memory, signal, power } = self;
        let bins = frames.options().bins();
        let spare = take_values(&mut memory, V::LANES * bins);
        let tiles = signal.chunks(V::LANES * frames.frame_len).zip(power.chunks_mut(V::LANES * bins));
        for (signal, power) in tiles {
            let mut memory = &mut *memory;
            let tile = tile_sums::<V>(token, frames, signal, &mut memory);
            // Gain, and lanes into rows; the last tile may have fewer rows than lanes.
            let whole = power.len() == V::LANES * bins;
            store_bins(
                bins,
                #[inline(always)]
                |k| frames.gained(token, tile, k),
                bins,
                if whole { &mut *power } else { &mut *spare },
            );
            if !whole {
                power.copy_from_slice(&spare[..power.len()]);
            }
        }
    }
}

/// The strongest bins of one task's rows.
struct PeaksKernel<'a> {
    frames: &'a LearnedFrames<'a>,
    memory: &'a mut [Line],
    signal: &'a [f32],
    k: usize,
    /// The blocks of bins that are searched.
    open: OpenBlocks,
    /// A value for each bin, overwritten.
    keys: &'a mut [u64],
    out_bins: &'a mut [i64],
    out_power: &'a mut [f32],
}

impl Kernel for PeaksKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { frames, mut memory, signal, k, open, keys, out_bins, out_power } = self;
        let bins = frames.options().bins();
        let stride = bins.next_multiple_of(Line::LEN);
        let rows = take_values(&mut memory, V::LANES * stride);
        let tiles = signal
            .chunks(V::LANES * frames.frame_len)
            .zip(out_bins.chunks_mut(V::LANES * k).zip(out_power.chunks_mut(V::LANES * k)));
        for (signal, (out_bins, out_power)) in tiles {
            let mut memory = &mut *memory;
            let tile = tile_sums::<V>(token, frames, signal, &mut memory);
            // Gain, and lanes into rows, which are searched.
            store_bins(
                bins,
                #[inline(always)]
                |k| frames.gained(token, tile, k),
                stride,
                rows,
            );
            let tile = PowerTile::new(rows, stride, frames.options().searched()).with_open(open);
            top_k_tile::<V, false>(token, &tile, k, keys, out_bins, out_power);
        }
    }
}
