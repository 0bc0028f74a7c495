//! The gated butterfly transform of rows, a row in every lane.

use super::prepared::{Closed, Pass, Prepared, with_prepared};
use super::steps::Run;
use super::tile::{Rows, enter, leave};
use super::{lane_tasks, width};
use crate::cpu::Network;
use crate::cpu::network::bit_reversal;
use crate::cpu::simd::lanes::Lanes;
use crate::cpu::simd::memory::{Line, lines_for, take_complexes, take_values, with_lines};
use crate::cpu::simd::{InstructionSet, Task, dispatch};

/// As [`butterfly`](crate::cpu::butterfly()).
pub(in crate::cpu) fn butterfly(
    re: &[f32],
    im: &[f32],
    network: &Network<'_, f32>,
    out_re: &mut [f32],
    out_im: &mut [f32],
) {
    let n = network.n;
    let (set, rows, order) = (InstructionSet::current(), re.len() / n, bit_reversal(n));
    with_prepared(network, n, Closed::LeftOut, Pass::Forward, |prepared| {
        let tasks = lane_tasks(rows, prepared.program.pairs.len() + n);
        let len = tasks.rows * n;
        let pieces = (re.chunks(len).zip(im.chunks(len))).zip(out_re.chunks_mut(len).zip(out_im.chunks_mut(len)));
        tasks.run(pieces, |((re, im), (out_re, out_im))| {
            with_lines(lines(n), |memory| {
                let task = Forward { prepared, order: &order, memory, re, im, out_re, out_im };
                dispatch(set, width(rows), task);
            });
        });
    });
}

/// Lines of memory for the widest tile, and a row of zeros.
fn lines(n: usize) -> usize {
    2 * super::tile::MAX_LANES * lines_for(n) + lines_for(n)
}

struct Forward<'a> {
    prepared: &'a Prepared,
    order: &'a [u32],
    memory: &'a mut [Line],
    re: &'a [f32],
    im: &'a [f32],
    out_re: &'a mut [f32],
    out_im: &'a mut [f32],
}

impl Task for Forward<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { prepared, order, mut memory, re, im, out_re, out_im } = self;
        let program = &*prepared.program;
        let n = program.n;
        let tile = take_complexes::<V>(&mut memory, n);
        let zeros = take_values(&mut memory, n);
        zeros.fill(0.0);
        let len = V::COUNT * n;
        let tiles = (re.chunks(len).zip(im.chunks(len))).zip(out_re.chunks_mut(len).zip(out_im.chunks_mut(len)));
        for ((re, im), (out_re, out_im)) in tiles {
            let rows = |values| Rows { values, stride: n, len: n, only: None };
            enter(order, rows(re), rows(im), zeros, tile);
            if prepared.soft {
                V::call(Run::<V, 4> { program, weights: prepared.weights(), tile });
            } else {
                V::call(Run::<V, 2> { program, weights: prepared.weights(), tile });
            }
            leave(tile, out_re, out_im);
        }
    }
}
