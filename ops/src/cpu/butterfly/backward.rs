//! Gradients of the gated butterfly transform, a row in every lane.

use crate::cpu::ButterflyGradients;
use crate::cpu::ButterflyTransform;
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
use crate::cpu::butterfly::tile::enter;
use crate::cpu::butterfly::tile::enter_natural;
use crate::cpu::butterfly::tile::leave_reversed;
use crate::cpu::butterfly::tile::with_rows;
use crate::cpu::butterfly::tiling::complex_width;
use crate::cpu::butterfly::tiling::lane_blocks;
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
use crate::cpu::runtime::reduction::sum_blocks;
use crate::cpu::runtime::tasks::optional_chunks;

/// As [`butterfly_backward`](crate::cpu::butterfly_backward()).
pub(in crate::cpu) fn butterfly_backward(
    re: &[f32],
    im: &[f32],
    network: &ButterflyTransform<'_, f32>,
    grad_re: &[f32],
    grad_im: &[f32],
    gradients: ButterflyGradients<'_, f32>,
) {
    let n = network.n;
    let (set, rows, order) = (InstructionSet::current(), re.len() / n, bit_reversal(n));
    // Weights without gates serve both ways.
    with_prepared(network, n, Closed::Run, Pass::Forward, |forward| {
        with_prepared(network, n, Closed::Run, Pass::Backward, |backward| {
            let sums_a_slot = if gradients.gates.is_some() { 3 } else { 2 };
            let partial = forward.program.pairs.len() * sums_a_slot;
            let tasks = lane_blocks(rows, 4 * forward.program.pairs.len(), partial);
            let len = tasks.rows * n;
            with_buffer(partial * tasks.count.max(1), |partials| {
                let pieces = (re.chunks(len).zip(im.chunks(len)))
                    .zip(grad_re.chunks(len).zip(grad_im.chunks(len)))
                    .zip(optional_chunks(gradients.re, len).zip(optional_chunks(gradients.im, len)))
                    .zip(optional_chunks((partial > 0).then_some(&mut partials[..]), partial.max(1)));
                tasks.run(pieces, |(((input, grad), into), sums)| {
                    with_lines(lines(forward, sums_a_slot), |memory| {
                        let sums = sums.unwrap_or_default();
                        let task = Backward { forward, backward, order: &order, memory, input, grad, into, sums };
                        dispatch(set, complex_width(rows, n), task);
                    });
                });
                let total = sum_blocks(partials, partial);
                write_gradients(forward, total, sums_a_slot, gradients.twiddles, gradients.gates);
            });
        });
    });
}

/// Lines of memory for the widest registers.
fn lines(prepared: &Prepared, sums_a_slot: usize) -> usize {
    let (n, program) = (prepared.program.n, &prepared.program);
    let complexes = (program.passes + 2) * n;
    2 * MAX_LANES * lines_for(n) + MAX_LANES * lines_for(2 * complexes + program.pairs.len() * sums_a_slot) + MAX_LANES
}

struct Backward<'a> {
    forward: &'a Prepared,
    backward: &'a Prepared,
    order: &'a [u32],
    memory: &'a mut [Line],
    input: (&'a [f32], &'a [f32]),
    grad: (&'a [f32], &'a [f32]),
    into: (Option<&'a mut [f32]>, Option<&'a mut [f32]>),
    /// Of twiddles and gates, `[slots, 2 or 3]`.
    sums: &'a mut [f32],
}

impl Task for Backward<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        match (self.forward.soft, self.sums.len() == 3 * self.forward.program.pairs.len()) {
            (false, false) => self.rows::<V, 2, 2>(),
            (false, true) => self.rows::<V, 2, 3>(),
            (true, false) => self.rows::<V, 4, 2>(),
            (true, true) => self.rows::<V, 4, 3>(),
        }
    }
}

impl Backward<'_> {
    #[inline(always)]
    fn rows<V: Lanes, const W: usize, const S: usize>(self) {
        let Self { forward, backward, order, mut memory, input, grad, into, sums } = self;
        let program = &*forward.program;
        let n = program.n;
        let spare_re = take_values(&mut memory, V::COUNT * n);
        let spare_im = take_values(&mut memory, V::COUNT * n);
        let levels = take_complexes::<V>(&mut memory, (program.passes + 1) * n);
        let grads = take_complexes::<V>(&mut memory, n);
        let slots = take_registers::<V>(&mut memory, program.pairs.len() * S);
        slots.fill(V::splat(0.0));
        let len = V::COUNT * n;
        let tiles = (input.0.chunks(len).zip(input.1.chunks(len)))
            .zip(grad.0.chunks(len).zip(grad.1.chunks(len)))
            .zip(optional_chunks(into.0, len).zip(optional_chunks(into.1, len)));
        for (((re, im), (grad_re, grad_im)), (into_re, into_im)) in tiles {
            // Rows that ask for nothing give nothing, also if their values are not finite.
            let asks = |row: usize| {
                let row = row * n..(row + 1) * n;
                grad_re[row.clone()].iter().chain(&grad_im[row]).any(|&grad| grad != 0.0)
            };
            let mut asking = [false; MAX_LANES];
            for (row, asking) in asking.iter_mut().enumerate().take(re.len() / n) {
                *asking = asks(row);
            }
            let (re, im) =
                (Rows::new::<V>(re, n, n, Some(&asking), spare_re), Rows::new::<V>(im, n, n, Some(&asking), spare_im));
            enter(order, &re, &im, &mut levels[..n]);
            V::call(RunLevels::<V, W> { program, weights: forward.weights(), levels });
            let (re, im) = (
                Rows::new::<V>(grad_re, n, n, Some(&asking), spare_re),
                Rows::new::<V>(grad_im, n, n, Some(&asking), spare_im),
            );
            enter_natural(&re, &im, grads);
            let sums = slots.as_chunks_mut::<S>().0;
            V::call(RunBackward::<V, W, S> { program, weights: backward.weights(), levels, grad: grads, sums });
            for (into, imaginary) in [(into_re, false), (into_im, true)] {
                let Some(into) = into else { continue };
                with_rows::<V>(
                    into,
                    n,
                    spare_re,
                    #[inline(always)]
                    |rows| {
                        leave_reversed(
                            order,
                            grads,
                            #[inline(always)]
                            |z| if imaginary { z.im } else { z.re },
                            rows,
                        );
                    },
                );
                for (row, _) in into.chunks_exact_mut(n).zip(asking).filter(|&(_, asking)| !asking) {
                    row.fill(0.0);
                }
            }
        }
        over_lanes(slots, sums);
    }
}
