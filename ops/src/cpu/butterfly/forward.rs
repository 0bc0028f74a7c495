//! The gated butterfly transform of rows in f32, one row per lane.

use crate::cpu::butterfly::ButterflyTransform;
use crate::cpu::butterfly::program::{ClosedGates, PreparedButterfly, WeightForm, with_prepared};
use crate::cpu::butterfly::steps::RunProgram;
use crate::cpu::butterfly::tile::{
    LaneRows, LaneRowsMut, bit_reversal, complex_width, load_reversed, store_natural, tile_tasks,
};
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, take_values, with_lines};
use crate::cpu::isa::register::{MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, dispatch};

/// As [`butterfly`](crate::cpu::butterfly()).
pub(super) fn butterfly(input: [&[f32]; 2], transform: &ButterflyTransform<'_, f32>, output: [&mut [f32]; 2]) {
    let n = transform.n;
    let (set, rows, order) = (InstructionSet::current(), input[0].len() / n, bit_reversal(n));
    with_prepared(transform, ClosedGates::Skip, WeightForm::Forward, |prepared| {
        let tasks = tile_tasks(rows, prepared.program.pairs.len() + n);
        tasks.run(tasks.pieces(Some(input), n, output, n), |(input, output)| {
            with_lines(lines(n), |memory| {
                let input = input.unwrap_or_default();
                let kernel = ButterflyKernel { prepared, order: &order, memory, input, output };
                dispatch(set, complex_width(rows, n), kernel);
            });
        });
    });
}

/// Lines of memory for the widest tile, and for its rows.
fn lines(n: usize) -> usize {
    4 * MAX_LANES * lines_for(n)
}

struct ButterflyKernel<'a> {
    prepared: &'a PreparedButterfly<'a>,
    /// The bit-reversed order of `n` values.
    order: &'a [u32],
    memory: &'a mut [Line],
    input: [&'a [f32]; 2],
    output: [&'a mut [f32]; 2],
}

impl Kernel for ButterflyKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { prepared, order, mut memory, input: [re, im], output: [out_re, out_im] } = self;
        let program = &*prepared.program;
        let n = program.n;
        let tile = take_complexes::<V>(token, &mut memory, n);
        let spare_re = take_values(&mut memory, V::LANES * n);
        let spare_im = take_values(&mut memory, V::LANES * n);
        let len = V::LANES * n;
        let tiles = (re.chunks(len).zip(im.chunks(len))).zip(out_re.chunks_mut(len).zip(out_im.chunks_mut(len)));
        for ((re, im), (out_re, out_im)) in tiles {
            // Rows into lanes, in bit-reversed order.
            let (re, im) = (LaneRows::<V>::new(re, n, n, None, spare_re), LaneRows::<V>::new(im, n, n, None, spare_im));
            load_reversed(token, order, &re, &im, tile);
            // All stages.
            if prepared.soft {
                V::call_shared(token, RunProgram::<V, 4> { program, weights: prepared.weights(), tile });
            } else {
                V::call_shared(token, RunProgram::<V, 2> { program, weights: prepared.weights(), tile });
            }
            // Lanes into rows; the last tile may have fewer rows than lanes.
            if out_re.len() == len {
                store_natural(tile, LaneRowsMut::<V>::new(out_re, n, n), LaneRowsMut::<V>::new(out_im, n, n));
            } else {
                store_natural(tile, LaneRowsMut::<V>::new(spare_re, n, n), LaneRowsMut::<V>::new(spare_im, n, n));
                out_re.copy_from_slice(&spare_re[..out_re.len()]);
                out_im.copy_from_slice(&spare_im[..out_im.len()]);
            }
        }
    }
}
