//! Gradients of the learned Welch power, a frame in every lane.

use crate::cpu::LearnedGradients;
use crate::cpu::LearnedWelch;
use crate::cpu::butterfly::backward_steps::RunBackward;
use crate::cpu::butterfly::bit_reversal::bit_reversal;
use crate::cpu::butterfly::prepared::Closed;
use crate::cpu::butterfly::prepared::Pass;
use crate::cpu::butterfly::prepared::Prepared;
use crate::cpu::butterfly::prepared::with_buffer;
use crate::cpu::butterfly::prepared::with_prepared;
use crate::cpu::butterfly::steps::RunLevels;
use crate::cpu::butterfly::sums::over_lanes;
use crate::cpu::butterfly::sums::write_gradients;
use crate::cpu::butterfly::tile::MAX_LANES;
use crate::cpu::butterfly::tile::Rows;
use crate::cpu::butterfly::tile::RowsMut;
use crate::cpu::butterfly::tile::leave_reversed;
use crate::cpu::butterfly::tiling::lane_blocks;
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
use crate::cpu::isa::register::Complex;
use crate::cpu::isa::register::Lanes;
use crate::cpu::learned::frames::Frames;
use crate::cpu::learned::frames::neighbours;
use crate::cpu::learned::frames::squared;
use crate::cpu::learned::gain::GAIN_TAPS;
use crate::cpu::learned::sums::Lengths;
use crate::cpu::learned::sums::Sums;
use crate::cpu::runtime::reduction::sum_blocks;
use crate::cpu::runtime::tasks::optional_chunks;
use crate::cpu::welch::segment::WindowedGradients;

/// Terms that are added up before their sum is added to others.
const CHUNK: usize = 64;

/// As [`learned_welch_psd_backward`](crate::cpu::learned_welch_psd_backward()).
pub(in crate::cpu) fn learned_welch_psd_backward(
    signal: &[f32],
    frame_len: usize,
    model: &LearnedWelch<'_, f32>,
    grad_power: &[f32],
    gradients: LearnedGradients<'_, f32>,
) {
    let (n, bins) = (model.options.n_fft, model.options.bins());
    let (set, rows, order) = (InstructionSet::current(), grad_power.len() / bins, bit_reversal(n));
    with_prepared(&model.transform, bins, Closed::Run, Pass::Forward, |forward| {
        with_prepared(&model.transform, bins, Closed::Run, Pass::Backward, |backward| {
            let sums_a_slot = if gradients.gates.is_some() { 3 } else { 2 };
            let lengths = Lengths::of(model, &gradients, forward.program.pairs.len() * sums_a_slot);
            let partial = lengths.total();
            let work = model.options.segments * 4 * forward.program.pairs.len();
            let tasks = lane_blocks(rows, work, partial);
            let pass = Backward {
                frames: Frames::new(model, forward, &order, frame_len),
                backward,
                through_segments: gradients.signal.is_some() || gradients.window.is_some() || lengths.transform > 0,
                lengths,
                sums_a_slot,
            };
            with_buffer(partial * tasks.count.max(1), |partials| {
                let pieces = (signal.chunks(tasks.rows * frame_len))
                    .zip(grad_power.chunks(tasks.rows * bins))
                    .zip(optional_chunks(gradients.signal, tasks.rows * frame_len))
                    .zip(optional_chunks((partial > 0).then_some(&mut partials[..]), partial.max(1)));
                tasks.run(pieces, |(((signal, grad_power), grad_signal), sums)| {
                    with_lines(pass.lines(), |memory| {
                        let sums = pass.lengths.cut(sums.unwrap_or_default());
                        let task = BackwardTask { pass: &pass, memory, signal, grad_power, grad_signal, sums };
                        dispatch(set, width(rows), task);
                    });
                });
                let total = pass.lengths.cut(sum_blocks(partials, partial));
                if pass.lengths.transform > 0 {
                    write_gradients(forward, total.transform, sums_a_slot, gradients.twiddles, gradients.gates);
                }
                total.write(model, gradients.window, gradients.weights, gradients.gain);
            });
        });
    });
}

struct Backward<'a> {
    frames: Frames<'a>,
    backward: &'a Prepared,
    lengths: Lengths,
    sums_a_slot: usize,
    /// Whether a row's gradient goes on through its segments, or ends at the weights and the gain.
    through_segments: bool,
}

impl Backward<'_> {
    /// Lines of memory for the widest registers.
    fn lines(&self) -> usize {
        let (program, options) = (&self.frames.prepared.program, self.frames.options());
        let complexes = (program.passes + 2) * options.n_fft;
        let slots = program.pairs.len() * self.sums_a_slot;
        let registers = slots + options.segments + GAIN_TAPS * options.bins();
        MAX_LANES * (lines_for(2 * complexes + registers) + 2 * lines_for(options.n_fft) + 8)
            + 3 * self.frames.power_lines()
    }

    /// Whether segment `index` has to go through the network: one of weight 0 only for the gradient of its weight.
    fn needs(&self, index: usize) -> bool {
        self.lengths.weights > 0 || self.frames.model.weights[index] != 0.0
    }

    /// Turns the gradient of the power after the gain into that of Σ_s weights\[s\] |Y_s\[k\]|², one for each bin.
    #[inline(always)]
    fn ungained<V: Lanes>(&self, grad_gained: &[V], grad_power: &mut [V]) {
        let bins = grad_gained.len();
        if let Some(gain) = self.frames.model.gain {
            let taps = gain.as_chunks::<GAIN_TAPS>().0;
            for k in 0..bins {
                grad_power[k] = grad_gained[k] * V::splat(taps[k][1]);
            }
            for k in 0..bins {
                let [below, above] = neighbours(k, bins);
                grad_power[below] = grad_gained[k].mul_add(V::splat(taps[k][0]), grad_power[below]);
                grad_power[above] = grad_gained[k].mul_add(V::splat(taps[k][2]), grad_power[above]);
            }
        } else {
            grad_power.copy_from_slice(grad_gained);
        }
        self.frames.scale_bins(grad_power);
    }
}

struct BackwardTask<'a> {
    pass: &'a Backward<'a>,
    memory: &'a mut [Line],
    signal: &'a [f32],
    grad_power: &'a [f32],
    grad_signal: Option<&'a mut [f32]>,
    sums: Sums<'a, f32>,
}

impl Task for BackwardTask<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        match (self.pass.backward.soft, self.pass.sums_a_slot) {
            (false, 2) => self.rows::<V, 2, 2>(),
            (false, _) => self.rows::<V, 2, 3>(),
            (true, 2) => self.rows::<V, 4, 2>(),
            (true, _) => self.rows::<V, 4, 3>(),
        }
    }
}

/// A tile's registers.
struct TileMemory<'a, V> {
    /// For rows of which not all are there.
    spare: &'a mut [f32],
    /// What goes into each pass, and the output.
    levels: &'a mut [Complex<V>],
    grad: &'a mut [Complex<V>],
    /// Sums of the slots.
    slots: &'a mut [V],
    weights: &'a mut [V],
    gain: &'a mut [V],
    power: &'a mut [V],
    grad_gained: &'a mut [V],
    grad_power: &'a mut [V],
    /// The gradient of the tapered samples, a row after the other.
    rows: &'a mut [f32],
}

impl BackwardTask<'_> {
    #[inline(always)]
    fn rows<V: Lanes, const W: usize, const S: usize>(self) {
        let Self { pass, mut memory, signal, grad_power, grad_signal, sums } = self;
        let options = pass.frames.options();
        let (n, bins, program) = (options.n_fft, options.bins(), &*pass.backward.program);
        let spare = take_values(&mut memory, V::COUNT * n);
        let mut tile = TileMemory::<V> {
            spare,
            levels: take_complexes(&mut memory, (program.passes + 1) * n),
            grad: take_complexes(&mut memory, n),
            slots: take_registers(&mut memory, program.pairs.len() * S),
            weights: take_registers(&mut memory, options.segments),
            gain: take_registers(&mut memory, GAIN_TAPS * bins),
            power: take_registers(&mut memory, bins),
            grad_gained: take_registers(&mut memory, bins),
            grad_power: take_registers(&mut memory, bins),
            rows: take_values(&mut memory, V::COUNT * n),
        };
        let none = V::splat(0.0);
        tile.slots.fill(none);
        tile.weights.fill(none);
        tile.gain.fill(none);
        let tiles = signal
            .chunks(V::COUNT * pass.frames.frame_len)
            .zip(grad_power.chunks(V::COUNT * bins))
            .zip(optional_chunks(grad_signal, V::COUNT * pass.frames.frame_len));
        for ((signal, grad_power), grad_signal) in tiles {
            pass.tile::<V, W, S>(signal, grad_power, grad_signal.unwrap_or_default(), &mut tile, sums.window);
        }
        if !sums.transform.is_empty() {
            over_lanes(tile.slots, sums.transform);
        }
        if !sums.weights.is_empty() {
            over_lanes(tile.weights, sums.weights);
        }
        if !sums.gain.is_empty() {
            over_lanes(tile.gain, sums.gain);
        }
    }
}

impl Backward<'_> {
    /// The frames of one tile: overwrites `grad_signal`, which may be empty, and adds to the sums.
    #[inline(always)]
    fn tile<V: Lanes, const W: usize, const S: usize>(
        &self,
        signal: &[f32],
        grad_gained: &[f32],
        grad_signal: &mut [f32],
        tile: &mut TileMemory<'_, V>,
        window_sums: &mut [f32],
    ) {
        let (model, n, bins) = (self.frames.model, self.frames.options().n_fft, self.frames.options().bins());
        grad_signal.fill(0.0);
        // Rows that ask for nothing give nothing, also if their samples are not finite.
        let mut asking = [false; MAX_LANES];
        for (asking, grad) in asking.iter_mut().zip(grad_gained.chunks_exact(bins)) {
            *asking = grad.iter().any(|&grad| grad != 0.0);
        }
        enter_bins(grad_gained, bins, &asking, tile.spare, tile.grad_gained);
        self.ungained(tile.grad_gained, tile.grad_power);
        tile.power.fill(V::splat(0.0));
        for index in (0..model.weights.len()).filter(|&index| self.needs(index)) {
            let segments = self.frames.segments::<V>(signal, index, Some(&asking), tile.spare);
            let offsets = self.frames.enter(&segments, &mut tile.levels[..n]);
            let (program, weights) = (&*self.backward.program, self.frames.prepared.weights());
            V::call(RunLevels::<V, W> { program, weights, levels: tile.levels });
            let output = tile.levels.len() - n;
            if self.lengths.weights > 0 {
                let sum = &mut tile.weights[index];
                *sum = *sum + energy(&tile.levels[output..], tile.grad_power);
            }
            let weight = model.weights[index];
            if weight == 0.0 {
                continue;
            }
            self.frames.add_power(&tile.levels[output..], weight, tile.power);
            if !self.through_segments {
                continue;
            }
            let twice = V::splat(2.0 * weight);
            for ((grad, z), &factor) in tile.grad.iter_mut().zip(&tile.levels[output..]).zip(&*tile.grad_power) {
                let factor = twice * factor;
                *grad = Complex { re: factor * z.re, im: factor * z.im };
            }
            let none = V::splat(0.0);
            tile.grad[bins..].fill(Complex { re: none, im: none });
            let (weights, sums) = (self.backward.weights(), tile.slots.as_chunks_mut().0);
            let (levels, grad) = (&*tile.levels, &mut *tile.grad);
            V::call(RunBackward::<V, W, S> { program, weights, levels, grad, sums });
            leave_reversed(
                self.frames.order,
                tile.grad,
                #[inline(always)]
                |z| z.re,
                RowsMut::new::<V>(tile.rows, n, n),
            );
            for row in (0..V::COUNT).filter(|&row| asking[row]) {
                let start = row * self.frames.frame_len + index * model.options.hop;
                let segment = grad_signal.get_mut(start..start + n).unwrap_or_default();
                let mut into = WindowedGradients { segment, window: window_sums };
                let grad = &mut tile.rows[row * n..(row + 1) * n];
                into.add(segments.row(row), offsets[row], model.window, model.options.detrend, grad);
            }
        }
        self.frames.scale_bins(tile.power);
        if self.lengths.gain > 0 {
            let sums = tile.gain.as_chunks_mut::<GAIN_TAPS>().0;
            for (k, sums) in sums.iter_mut().enumerate() {
                let [below, above] = neighbours(k, bins);
                for (sum, from) in sums.iter_mut().zip([below, k, above]) {
                    *sum = tile.grad_gained[k].mul_add(tile.power[from], *sum);
                }
            }
        }
    }
}

/// The rows of `bins` values that count into registers, one for each bin. `spare` is as in [`Rows::new`].
#[inline(always)]
fn enter_bins<V: Lanes>(values: &[f32], bins: usize, only: &[bool; MAX_LANES], spare: &mut [f32], into: &mut [V]) {
    let rows = Rows::new::<V>(values, bins, bins, Some(only), spare);
    for (quad, into) in into.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *into = rows.quads(quad);
    }
    // There is one more than a multiple of 4.
    let mut nyquist = V::Array::default();
    for (row, into) in nyquist.as_mut().iter_mut().enumerate() {
        *into = rows.row(row)[bins - 1];
    }
    into[bins - 1] = V::load(&nyquist);
}

/// Σ_k grad\[k\] |output\[k\]|².
#[inline(always)]
fn energy<V: Lanes>(output: &[Complex<V>], grad: &[V]) -> V {
    let mut total = V::splat(0.0);
    for (output, grad) in output.chunks(CHUNK).zip(grad.chunks(CHUNK)) {
        let mut sum = V::splat(0.0);
        for (z, &grad) in output.iter().zip(grad) {
            sum = squared(z).mul_add(grad, sum);
        }
        total = total + sum;
    }
    total
}
