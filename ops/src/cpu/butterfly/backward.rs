//! Gradients of the gated butterfly transform in f32, one row per lane.

use crate::cpu::butterfly::ButterflyTransform;
use crate::cpu::butterfly::backward_steps::RunBackward;
use crate::cpu::butterfly::program::{ClosedGates, PreparedButterfly, WeightForm, with_prepared};
use crate::cpu::butterfly::steps::RunLevels;
use crate::cpu::butterfly::tile::{
    LaneRows, bit_reversal, complex_width, load_natural, load_reversed, store_reversed, tile_blocks, with_rows,
};
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, take_registers, take_values, with_lines};
use crate::cpu::isa::register::{MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, dispatch};
use crate::cpu::runtime::tasks::optional_chunks;
use crate::cpu::runtime::{sum_blocks, with_zeros};

/// As [`butterfly_backward`](crate::cpu::butterfly_backward()).
pub(super) fn butterfly_backward(
    [re, im]: [&[f32]; 2],
    transform: &ButterflyTransform<'_, f32>,
    [grad_re, grad_im]: [&[f32]; 2],
    [of_re, of_im, of_twiddles, of_gates]: [Option<&mut [f32]>; 4],
) {
    let n = transform.n;
    let (set, rows, order) = (InstructionSet::current(), re.len() / n, bit_reversal(n));
    // The two forms differ only where weights include gates.
    with_prepared(transform, ClosedGates::Compute, WeightForm::Forward, |forward| {
        with_prepared(transform, ClosedGates::Compute, WeightForm::Backward, |backward| {
            let sums_per_slot = if of_gates.is_some() { 3 } else { 2 };
            let partial = forward.program.pairs.len() * sums_per_slot;
            let tasks = tile_blocks(rows, 4 * forward.program.pairs.len(), partial);
            let len = tasks.rows * n;
            with_zeros(partial * tasks.count.max(1), |partials| {
                let pieces = (re.chunks(len).zip(im.chunks(len)))
                    .zip(grad_re.chunks(len).zip(grad_im.chunks(len)))
                    .zip(optional_chunks(of_re, len).zip(optional_chunks(of_im, len)))
                    .zip(optional_chunks((partial > 0).then_some(&mut partials[..]), partial.max(1)));
                tasks.run(pieces, |(((input, grad), into), sums)| {
                    with_lines(lines(forward, sums_per_slot), |memory| {
                        let sums = sums.unwrap_or_default();
                        let kernel =
                            BackwardKernel { forward, backward, order: &order, memory, input, grad, into, sums };
                        dispatch(set, complex_width(rows, n), kernel);
                    });
                });
                let total = sum_blocks(partials, partial);
                write_gradients(forward, total, sums_per_slot, of_twiddles, of_gates);
            });
        });
    });
}

/// Lines of memory for the widest registers.
fn lines(prepared: &PreparedButterfly<'_>, sums_per_slot: usize) -> usize {
    let (n, program) = (prepared.program.n, &prepared.program);
    let complexes = (program.passes + 2) * n;
    2 * MAX_LANES * lines_for(n)
        + MAX_LANES * lines_for(2 * complexes + program.pairs.len() * sums_per_slot)
        + MAX_LANES
}

struct BackwardKernel<'a> {
    forward: &'a PreparedButterfly<'a>,
    backward: &'a PreparedButterfly<'a>,
    order: &'a [u32],
    memory: &'a mut [Line],
    input: (&'a [f32], &'a [f32]),
    grad: (&'a [f32], &'a [f32]),
    into: (Option<&'a mut [f32]>, Option<&'a mut [f32]>),
    /// Of twiddles and gates, `[slots, 2 or 3]`.
    sums: &'a mut [f32],
}

impl Kernel for BackwardKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        match (self.forward.soft, self.sums.len() == 3 * self.forward.program.pairs.len()) {
            (false, false) => self.rows::<V, 2, 2>(token),
            (false, true) => self.rows::<V, 2, 3>(token),
            (true, false) => self.rows::<V, 4, 2>(token),
            (true, true) => self.rows::<V, 4, 3>(token),
        }
    }
}

impl BackwardKernel<'_> {
    #[inline(always)]
    fn rows<V: Register, const W: usize, const S: usize>(self, token: V::Token) {
        let Self { forward, backward, order, mut memory, input, grad, into, sums } = self;
        let program = &*forward.program;
        let n = program.n;
        let spare_re = take_values(&mut memory, V::LANES * n);
        let spare_im = take_values(&mut memory, V::LANES * n);
        let levels = take_complexes::<V>(token, &mut memory, (program.passes + 1) * n);
        let grads = take_complexes::<V>(token, &mut memory, n);
        let slots = take_registers::<V>(token, &mut memory, program.pairs.len() * S);
        slots.fill(V::splat(token, 0.0));
        let len = V::LANES * n;
        let tiles = (input.0.chunks(len).zip(input.1.chunks(len)))
            .zip(grad.0.chunks(len).zip(grad.1.chunks(len)))
            .zip(optional_chunks(into.0, len).zip(optional_chunks(into.1, len)));
        for (((re, im), (grad_re, grad_im)), (into_re, into_im)) in tiles {
            // Rows whose gradient is 0 contribute 0, also if their values are not finite.
            let has_gradient_at = |row: usize| {
                let row = row * n..(row + 1) * n;
                grad_re[row.clone()].iter().chain(&grad_im[row]).any(|&grad| grad != 0.0)
            };
            let mut has_gradient = [false; MAX_LANES];
            for (row, has_gradient) in has_gradient.iter_mut().enumerate().take(re.len() / n) {
                *has_gradient = has_gradient_at(row);
            }
            let (re, im) = (
                LaneRows::<V>::new(re, n, n, Some(&has_gradient), spare_re),
                LaneRows::<V>::new(im, n, n, Some(&has_gradient), spare_im),
            );
            // Forward, storing the inputs of every pass.
            load_reversed(token, order, &re, &im, &mut levels[..n]);
            V::call_shared(token, RunLevels::<V, W> { program, weights: forward.weights(), levels });
            // Backward through the stages; the weights' sums stay in lanes until the last tile.
            let (re, im) = (
                LaneRows::<V>::new(grad_re, n, n, Some(&has_gradient), spare_re),
                LaneRows::<V>::new(grad_im, n, n, Some(&has_gradient), spare_im),
            );
            load_natural(token, &re, &im, grads);
            let sums = slots.as_chunks_mut::<S>().0;
            V::call_shared(
                token,
                RunBackward::<V, W, S> { program, weights: backward.weights(), levels, grad: grads, sums },
            );
            // The input's gradient into rows.
            for (into, imaginary) in [(into_re, false), (into_im, true)] {
                let Some(into) = into else { continue };
                with_rows::<V>(
                    into,
                    n,
                    spare_re,
                    #[inline(always)]
                    |rows| {
                        store_reversed(
                            order,
                            grads,
                            #[inline(always)]
                            |z| if imaginary { z.im } else { z.re },
                            rows,
                        );
                    },
                );
                for (row, _) in into.chunks_exact_mut(n).zip(has_gradient).filter(|&(_, has_gradient)| !has_gradient) {
                    row.fill(0.0);
                }
            }
        }
        sum_lanes(token, slots, sums);
    }
}

/// The sum over lanes of each register.
#[inline(always)]
pub(in crate::cpu) fn sum_lanes<V: Register>(token: V::Token, registers: &[V], into: &mut [f32]) {
    for (registers, into) in registers.chunks(4).zip(into.chunks_mut(4)) {
        let mut four = [V::splat(token, 0.0); 4];
        four[..registers.len()].copy_from_slice(registers);
        // Transposed, lane i of each quad belongs to register i.
        let [a, b, c, d] = V::transpose_quads(four);
        let quads = ((a + b) + (c + d)).into_quads();
        for (i, into) in into.iter_mut().enumerate() {
            *into = quads.iter().take(V::LANES / 4).map(|quad| quad[i]).sum();
        }
    }
}

/// Overwrites the gradients of a transform's twiddles and gates, each if given, with the sums `[slots, sums_per_slot]`
/// of a program's slots. The gradient of a butterfly without a slot is 0.
pub(in crate::cpu) fn write_gradients(
    prepared: &PreparedButterfly<'_>,
    sums: &[f32],
    sums_per_slot: usize,
    mut twiddles: Option<&mut [f32]>,
    mut gates: Option<&mut [f32]>,
) {
    if let Some(twiddles) = &mut twiddles {
        twiddles.fill(0.0);
    }
    if let Some(gates) = &mut gates {
        gates.fill(0.0);
    }
    for (&pair, sums) in prepared.program.pairs.iter().zip(sums.chunks_exact(sums_per_slot)) {
        let pair = pair as usize;
        if let Some(twiddles) = &mut twiddles {
            twiddles[2 * pair..2 * pair + 2].copy_from_slice(&sums[..2]);
        }
        if let Some(gates) = &mut gates {
            gates[pair] = sums[2];
        }
    }
}
