//! Gradients of the learned Welch power in f32, one frame per lane.

use crate::cpu::butterfly::backward_steps::RunBackward;
use crate::cpu::butterfly::bit_reversal::bit_reversal;
use crate::cpu::butterfly::prepared::{ClosedGates, PreparedButterfly, WeightForm, with_prepared};
use crate::cpu::butterfly::steps::RunLevels;
use crate::cpu::butterfly::sums::{sum_lanes, write_gradients};
use crate::cpu::butterfly::tile::{LaneRows, LaneRowsMut, store_reversed};
use crate::cpu::butterfly::tiling::{tile_blocks, width};
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, take_registers, take_values, with_lines};
use crate::cpu::isa::register::MAX_LANES;
use crate::cpu::isa::register::{Complex, Register};
use crate::cpu::isa::{InstructionSet, Kernel, dispatch};
use crate::cpu::learned::arguments::{LearnedGradients, LearnedWelch};
use crate::cpu::learned::frames::LearnedFrames;
use crate::cpu::learned::gain::{sources, taps_of};
use crate::cpu::learned::sums::{LearnedSums, Lengths};
use crate::cpu::runtime::reduction::sum_blocks;
use crate::cpu::runtime::scratch::with_zeros;
use crate::cpu::runtime::tasks::optional_chunks;
use crate::cpu::welch::segment::WindowedGradients;

/// Terms that are summed before their sum is added to others.
const CHUNK: usize = 64;

/// As [`learned_welch_psd_backward`](crate::cpu::learned_welch_psd_backward()).
pub(super) fn learned_welch_psd_backward(
    signal: &[f32],
    frame_len: usize,
    model: &LearnedWelch<'_, f32>,
    grad_power: &[f32],
    gradients: LearnedGradients<'_, f32>,
) {
    let (n, bins) = (model.options.n_fft, model.options.bins());
    let (set, rows, order) = (InstructionSet::current(), grad_power.len() / bins, bit_reversal(n));
    // Closed butterflies are computed too, because their gates have gradients.
    with_prepared(&model.transform, bins, ClosedGates::Compute, WeightForm::Forward, |forward| {
        with_prepared(&model.transform, bins, ClosedGates::Compute, WeightForm::Backward, |backward| {
            // One partial sum of each parameter's gradient per block of rows, so that the order of sums follows from
            // shapes.
            let sums_per_slot = if gradients.gates.is_some() { 3 } else { 2 };
            let lengths = Lengths::of(model, &gradients, forward.program.pairs.len() * sums_per_slot);
            let partial = lengths.total();
            let work = model.options.segments * 4 * forward.program.pairs.len();
            let tasks = tile_blocks(rows, work, partial);
            let call = LaneBackward {
                frames: LearnedFrames::new(model, forward, &order, frame_len),
                backward,
                through_segments: gradients.signal.is_some() || gradients.window.is_some() || lengths.transform > 0,
                lengths,
                sums_per_slot,
            };
            with_zeros(partial * tasks.count.max(1), |partials| {
                let pieces = (signal.chunks(tasks.rows * frame_len))
                    .zip(grad_power.chunks(tasks.rows * bins))
                    .zip(optional_chunks(gradients.signal, tasks.rows * frame_len))
                    .zip(optional_chunks((partial > 0).then_some(&mut partials[..]), partial.max(1)));
                tasks.run(pieces, |(((signal, grad_power), grad_signal), sums)| {
                    with_lines(call.lines(), |memory| {
                        let sums = call.lengths.cut(sums.unwrap_or_default());
                        let kernel =
                            LearnedBackwardKernel { call: &call, memory, signal, grad_power, grad_signal, sums };
                        dispatch(set, width(rows), kernel);
                    });
                });
                // Add the blocks in order, and turn the slots' sums into gradients of twiddles and gates.
                let total = call.lengths.cut(sum_blocks(partials, partial));
                if call.lengths.transform > 0 {
                    write_gradients(forward, total.transform, sums_per_slot, gradients.twiddles, gradients.gates);
                }
                total.write(model, gradients.window, gradients.weights, gradients.gain);
            });
        });
    });
}

/// Values shared by every row of a call.
struct LaneBackward<'a> {
    frames: LearnedFrames<'a>,
    backward: &'a PreparedButterfly<'a>,
    lengths: Lengths,
    sums_per_slot: usize,
    /// Whether any gradient needs the backward pass through the segments, and not only through weights and gain.
    through_segments: bool,
}

impl LaneBackward<'_> {
    /// Lines of memory for the widest registers.
    fn lines(&self) -> usize {
        let (program, options) = (&self.frames.prepared.program, self.frames.options());
        let complexes = (program.passes + 2) * options.n_fft;
        let slots = program.pairs.len() * self.sums_per_slot;
        let registers = slots + options.segments + self.gain_len();
        MAX_LANES * (lines_for(2 * complexes + registers) + 2 * lines_for(options.n_fft) + 8)
            + 2 * self.frames.sums_lines()
            + MAX_LANES * lines_for(options.bins())
    }

    /// Whether segment `index` has to be transformed: one of weight 0 only for the gradient of its weight.
    fn needs(&self, index: usize) -> bool {
        self.lengths.weights > 0 || self.frames.model.weights[index] != 0.0
    }

    /// Factors of the gain.
    fn gain_len(&self) -> usize {
        self.frames.model.gain.map_or(0, <[f32]>::len)
    }

    /// Turns the gradient of the power after the gain into that of the sums before it, which are neither scaled nor
    /// doubled: Σ_s weights\[s\] |Y_s\[k\]|², and Σ_s weights\[s\] Re Y_s\[k\] Y_s*\[k+1\].
    #[inline(always)]
    fn gain_backward<V: Register>(&self, token: V::Token, grad_gained: &[V], grad_sums: &mut [V]) {
        let bins = grad_gained.len();
        if let Some(gain) = self.frames.model.gain {
            grad_sums.fill(V::splat(token, 0.0));
            for (k, taps) in gain.chunks_exact(taps_of(gain, bins)).enumerate() {
                for (&tap, into) in taps.iter().zip(sources(k, bins)) {
                    grad_sums[into] = grad_gained[k].mul_add(V::splat(token, tap), grad_sums[into]);
                }
            }
        } else {
            for (into, &grad) in grad_sums.iter_mut().zip(grad_gained) {
                *into = grad;
            }
        }
        self.frames.scale_sums(token, grad_sums);
    }
}

/// The rows of one task.
struct LearnedBackwardKernel<'a> {
    call: &'a LaneBackward<'a>,
    memory: &'a mut [Line],
    signal: &'a [f32],
    grad_power: &'a [f32],
    grad_signal: Option<&'a mut [f32]>,
    sums: LearnedSums<'a, f32>,
}

impl Kernel for LearnedBackwardKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        match (self.call.backward.soft, self.call.sums_per_slot) {
            (false, 2) => self.rows::<V, 2, 2>(token),
            (false, _) => self.rows::<V, 2, 3>(token),
            (true, 2) => self.rows::<V, 4, 2>(token),
            (true, _) => self.rows::<V, 4, 3>(token),
        }
    }
}

/// Memory of a tile.
struct TileMemory<'a, V> {
    /// For tiles with fewer rows than lanes.
    spare: &'a mut [f32],
    /// The inputs of each pass, and the output.
    levels: &'a mut [Complex<V>],
    grad: &'a mut [Complex<V>],
    /// Sums of the slots.
    slots: &'a mut [V],
    weights: &'a mut [V],
    gain: &'a mut [V],
    /// The sums that the gain takes, and their gradients.
    sums: &'a mut [V],
    grad_gained: &'a mut [V],
    grad_sums: &'a mut [V],
    /// The gradient of the windowed samples, a row after the other.
    rows: &'a mut [f32],
}

impl LearnedBackwardKernel<'_> {
    #[inline(always)]
    fn rows<V: Register, const W: usize, const S: usize>(self, token: V::Token) {
        let Self { call, mut memory, signal, grad_power, grad_signal, sums } = self;
        let options = call.frames.options();
        let (n, bins, program) = (options.n_fft, options.bins(), &*call.backward.program);
        let spare = take_values(&mut memory, V::LANES * n);
        let mut tile = TileMemory::<V> {
            spare,
            levels: take_complexes(token, &mut memory, (program.passes + 1) * n),
            grad: take_complexes(token, &mut memory, n),
            slots: take_registers(token, &mut memory, program.pairs.len() * S),
            weights: take_registers(token, &mut memory, options.segments),
            gain: take_registers(token, &mut memory, call.gain_len()),
            sums: take_registers(token, &mut memory, call.frames.sums_len()),
            grad_gained: take_registers(token, &mut memory, bins),
            grad_sums: take_registers(token, &mut memory, call.frames.sums_len()),
            rows: take_values(&mut memory, V::LANES * n),
        };
        let none = V::splat(token, 0.0);
        tile.slots.fill(none);
        tile.weights.fill(none);
        tile.gain.fill(none);
        // A tile has a row per lane. Sums over rows stay in lanes until the last tile.
        let tiles = signal
            .chunks(V::LANES * call.frames.frame_len)
            .zip(grad_power.chunks(V::LANES * bins))
            .zip(optional_chunks(grad_signal, V::LANES * call.frames.frame_len));
        for ((signal, grad_power), grad_signal) in tiles {
            call.tile::<V, W, S>(token, signal, grad_power, grad_signal.unwrap_or_default(), &mut tile, sums.window);
        }
        // Add the lanes in order.
        if !sums.transform.is_empty() {
            sum_lanes(token, tile.slots, sums.transform);
        }
        if !sums.weights.is_empty() {
            sum_lanes(token, tile.weights, sums.weights);
        }
        if !sums.gain.is_empty() {
            sum_lanes(token, tile.gain, sums.gain);
        }
    }
}

impl LaneBackward<'_> {
    /// The frames of one tile: overwrites `grad_signal`, which may be empty, and adds to the sums.
    #[inline(always)]
    fn tile<V: Register, const W: usize, const S: usize>(
        &self,
        token: V::Token,
        signal: &[f32],
        grad_gained: &[f32],
        grad_signal: &mut [f32],
        tile: &mut TileMemory<'_, V>,
        window_sums: &mut [f32],
    ) {
        let (model, n, bins) = (self.frames.model, self.frames.options().n_fft, self.frames.options().bins());
        grad_signal.fill(0.0);
        // Rows whose gradient is 0 contribute 0, also if their samples are not finite.
        let mut has_gradient = [false; MAX_LANES];
        for (has_gradient, grad) in has_gradient.iter_mut().zip(grad_gained.chunks_exact(bins)) {
            *has_gradient = grad.iter().any(|&grad| grad != 0.0);
        }
        load_bins(token, grad_gained, bins, &has_gradient, tile.spare, tile.grad_gained);
        // Backward through the gain.
        self.gain_backward(token, tile.grad_gained, tile.grad_sums);
        tile.sums.fill(V::splat(token, 0.0));
        for index in (0..model.weights.len()).filter(|&index| self.needs(index)) {
            // Forward through window and stages, storing the inputs of every pass.
            let segments = self.frames.segments::<V>(signal, index, Some(&has_gradient), tile.spare);
            let offsets = self.frames.load(token, &segments, &mut tile.levels[..n]);
            let (program, weights) = (&*self.backward.program, self.frames.prepared.weights());
            V::call_shared(token, RunLevels::<V, W> { program, weights, levels: tile.levels });
            let output = tile.levels.len() - n;
            // Gradient of the segment's weight, and its power for that of the gain.
            if self.lengths.weights > 0 {
                let sum = &mut tile.weights[index];
                *sum = *sum + weighted_sums(token, &tile.levels[output..], tile.grad_sums.split_at(bins));
            }
            let weight = model.weights[index];
            if weight == 0.0 {
                continue;
            }
            self.frames.add_sums(token, &tile.levels[output..], weight, tile.sums);
            if !self.through_segments {
                continue;
            }
            // Gradient of the transform's output, zero past the bins.
            let twice = V::splat(token, 2.0 * weight);
            let (of_power, of_products) = tile.grad_sums.split_at(bins);
            let output = &tile.levels[output..];
            for ((grad, z), &factor) in tile.grad.iter_mut().zip(output).zip(of_power) {
                let factor = twice * factor;
                *grad = Complex { re: factor * z.re, im: factor * z.im };
            }
            for (k, &factor) in of_products.iter().enumerate() {
                let factor = V::splat(token, weight) * factor;
                for (into, from) in [(k, k + 1), (k + 1, k)] {
                    let grad = &mut tile.grad[into];
                    grad.re = factor.mul_add(output[from].re, grad.re);
                    grad.im = factor.mul_add(output[from].im, grad.im);
                }
            }
            let none = V::splat(token, 0.0);
            tile.grad[bins..].fill(Complex { re: none, im: none });
            // Backward through the stages.
            let (weights, sums) = (self.backward.weights(), tile.slots.as_chunks_mut().0);
            let (levels, grad) = (&*tile.levels, &mut *tile.grad);
            V::call_shared(token, RunBackward::<V, W, S> { program, weights, levels, grad, sums });
            // Lanes into rows, then backward through window and detrending.
            store_reversed(
                self.frames.order,
                tile.grad,
                #[inline(always)]
                |z| z.re,
                LaneRowsMut::<V>::new(tile.rows, n, n),
            );
            for row in (0..V::LANES).filter(|&row| has_gradient[row]) {
                let start = row * self.frames.frame_len + index * model.options.hop;
                let segment = grad_signal.get_mut(start..start + n).unwrap_or_default();
                let mut into = WindowedGradients { segment, window: window_sums };
                let grad = &mut tile.rows[row * n..(row + 1) * n];
                into.add(segments.row(row), offsets[row], model.window, model.options.detrend, grad);
            }
        }
        // Gradient of the gain, from the scaled sums of all segments.
        self.frames.scale_sums(token, tile.sums);
        if self.lengths.gain > 0 {
            for (k, into) in tile.gain.chunks_exact_mut(self.gain_len() / bins).enumerate() {
                for (into, from) in into.iter_mut().zip(sources(k, bins)) {
                    *into = tile.grad_gained[k].mul_add(tile.sums[from], *into);
                }
            }
        }
    }
}

/// Loads rows of `bins` values into registers, one for each bin. `only` and `spare` are as in [`LaneRows::new`].
#[inline(always)]
fn load_bins<V: Register>(
    token: V::Token,
    values: &[f32],
    bins: usize,
    only: &[bool; MAX_LANES],
    spare: &mut [f32],
    into: &mut [V],
) {
    let rows = LaneRows::<V>::new(values, bins, bins, Some(only), spare);
    for (quad, into) in into.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *into = rows.quads(token, quad);
    }
    // The last bin, Nyquist, is one more than a multiple of 4.
    let mut nyquist = V::Array::default();
    for (row, into) in nyquist.as_mut().iter_mut().enumerate() {
        *into = rows.row(row)[bins - 1];
    }
    into[bins - 1] = V::load(token, &nyquist);
}

/// Σ_k of_power\[k\] |output\[k\]|² + Σ_k of_products\[k\] Re output\[k\] output*\[k+1\].
#[inline(always)]
fn weighted_sums<V: Register>(token: V::Token, output: &[Complex<V>], (of_power, of_products): (&[V], &[V])) -> V {
    let mut total = V::splat(token, 0.0);
    for (output, grad) in output.chunks(CHUNK).zip(of_power.chunks(CHUNK)) {
        let mut sum = V::splat(token, 0.0);
        for (z, &grad) in output.iter().zip(grad) {
            sum = z.product(*z).mul_add(grad, sum);
        }
        total = total + sum;
    }
    let above = output[1..].chunks(CHUNK);
    for ((output, above), grad) in output.chunks(CHUNK).zip(above).zip(of_products.chunks(CHUNK)) {
        let mut sum = V::splat(token, 0.0);
        for ((z, above), &grad) in output.iter().zip(above).zip(grad) {
            sum = z.product(*above).mul_add(grad, sum);
        }
        total = total + sum;
    }
    total
}
