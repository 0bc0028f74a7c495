//! Welch power and peaks through a learned network, a frame in every lane.

use crate::cpu::LearnedWelch;
use crate::cpu::Real;
use crate::cpu::butterfly::bit_reversal::bit_reversal;
use crate::cpu::butterfly::prepared::Closed;
use crate::cpu::butterfly::prepared::Pass;
use crate::cpu::butterfly::prepared::Prepared;
use crate::cpu::butterfly::prepared::with_prepared;
use crate::cpu::butterfly::steps::Run;
use crate::cpu::butterfly::tile::MAX_LANES;
use crate::cpu::butterfly::tiling::lane_tasks;
use crate::cpu::butterfly::tiling::width;
use crate::cpu::isa::InstructionSet;
use crate::cpu::isa::Task;
use crate::cpu::isa::dispatch;
use crate::cpu::isa::lines::Line;
use crate::cpu::isa::lines::lines_for;
use crate::cpu::isa::lines::take_complexes;
use crate::cpu::isa::lines::take_registers;
use crate::cpu::isa::lines::take_values;
use crate::cpu::isa::lines::with_lines;
use crate::cpu::isa::register::Lanes;
use crate::cpu::learned::frames::Frames;
use crate::cpu::learned::frames::put_bins;
use crate::cpu::top_k;
use crate::cpu::top_k::forward::Tile;
use crate::cpu::top_k::forward::strongest;

/// As [`learned_welch_psd`](crate::cpu::learned_welch_psd()).
pub(in crate::cpu) fn learned_welch_psd(
    signal: &[f32],
    frame_len: usize,
    model: &LearnedWelch<'_, f32>,
    power: &mut [f32],
) {
    let bins = model.options.bins();
    let (set, rows, order) = (InstructionSet::current(), power.len() / bins, bit_reversal(model.transform.n));
    with_prepared(&model.transform, bins, Closed::LeftOut, Pass::Forward, |prepared| {
        let frames = Frames::new(model, prepared, &order, frame_len);
        let tasks = lane_tasks(rows, work(model, prepared));
        let pieces = signal.chunks(tasks.rows * frame_len).zip(power.chunks_mut(tasks.rows * bins));
        tasks.run(pieces, |(signal, power)| {
            with_lines(power_lines(&frames) + frames.power_lines(), |memory| {
                dispatch(set, width(rows), Power { frames: &frames, memory, signal, power });
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
    let bins = model.options.bins();
    let (set, rows, order) = (InstructionSet::current(), out_bins.len() / k, bit_reversal(model.transform.n));
    with_prepared(&model.transform, bins, Closed::LeftOut, Pass::Forward, |prepared| {
        let frames = Frames::new(model, prepared, &order, frame_len);
        let tasks = lane_tasks(rows, work(model, prepared) + top_k::work(bins, k));
        let pieces = signal
            .chunks(tasks.rows * frame_len)
            .zip(out_bins.chunks_mut(tasks.rows * k))
            .zip(out_power.chunks_mut(tasks.rows * k));
        tasks.run(pieces, |((signal, out_bins), out_power)| {
            f32::with_scratch(|scratch| {
                let (_, _, keys) = scratch.buffers(0, 0, bins);
                with_lines(power_lines(&frames) + MAX_LANES * lines_for(bins), |memory| {
                    let task = Peaks { frames: &frames, memory, signal, k, keys, out_bins, out_power };
                    dispatch(set, width(rows), task);
                });
            });
        });
    });
}

/// Butterflies of a frame.
fn work(model: &LearnedWelch<'_, f32>, prepared: &Prepared) -> usize {
    let open = model.weights.iter().filter(|&&weight| weight != 0.0).count();
    open * (prepared.program.pairs.len() + model.transform.n / 2)
}

/// Lines of memory that the power of a tile takes.
fn power_lines(frames: &Frames<'_>) -> usize {
    3 * MAX_LANES * lines_for(frames.options().n_fft) + frames.power_lines()
}

/// The scaled power of a tile's frames, before the gain.
#[inline(always)]
fn tile_power<'m, V: Lanes>(frames: &Frames<'_>, signal: &[f32], memory: &mut &'m mut [Line]) -> &'m mut [V] {
    let (program, n) = (&*frames.prepared.program, frames.options().n_fft);
    let spare = take_values(memory, V::COUNT * n);
    let tile = take_complexes::<V>(memory, n);
    let power = take_registers::<V>(memory, frames.options().bins());
    power.fill(V::splat(0.0));
    for (index, &weight) in frames.model.weights.iter().enumerate() {
        if weight == 0.0 {
            continue;
        }
        frames.enter(&frames.segments::<V>(signal, index, None, spare), tile);
        if frames.prepared.soft {
            V::call(Run::<V, 4> { program, weights: frames.prepared.weights(), tile });
        } else {
            V::call(Run::<V, 2> { program, weights: frames.prepared.weights(), tile });
        }
        frames.add_power(tile, weight, power);
    }
    frames.scale_bins(power);
    power
}

struct Power<'a> {
    frames: &'a Frames<'a>,
    memory: &'a mut [Line],
    signal: &'a [f32],
    power: &'a mut [f32],
}

impl Task for Power<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { frames, mut memory, signal, power } = self;
        let bins = frames.options().bins();
        let spare = take_values(&mut memory, V::COUNT * bins);
        let tiles = signal.chunks(V::COUNT * frames.frame_len).zip(power.chunks_mut(V::COUNT * bins));
        for (signal, power) in tiles {
            let mut memory = &mut *memory;
            let tile = tile_power::<V>(frames, signal, &mut memory);
            let whole = power.len() == V::COUNT * bins;
            put_bins(
                bins,
                #[inline(always)]
                |k| frames.gained(tile, k),
                bins,
                if whole { &mut *power } else { &mut *spare },
            );
            if !whole {
                power.copy_from_slice(&spare[..power.len()]);
            }
        }
    }
}

struct Peaks<'a> {
    frames: &'a Frames<'a>,
    memory: &'a mut [Line],
    signal: &'a [f32],
    k: usize,
    keys: &'a mut [u64],
    out_bins: &'a mut [i64],
    out_power: &'a mut [f32],
}

impl Task for Peaks<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { frames, mut memory, signal, k, keys, out_bins, out_power } = self;
        let bins = frames.options().bins();
        let stride = bins.next_multiple_of(Line::LEN);
        let rows = take_values(&mut memory, V::COUNT * stride);
        let tiles = signal
            .chunks(V::COUNT * frames.frame_len)
            .zip(out_bins.chunks_mut(V::COUNT * k).zip(out_power.chunks_mut(V::COUNT * k)));
        for (signal, (out_bins, out_power)) in tiles {
            let mut memory = &mut *memory;
            let tile = tile_power::<V>(frames, signal, &mut memory);
            put_bins(
                bins,
                #[inline(always)]
                |k| frames.gained(tile, k),
                stride,
                rows,
            );
            let tile = Tile { power: rows, stride, bins };
            strongest::<V>(&tile, k, keys, out_bins, out_power);
        }
    }
}
