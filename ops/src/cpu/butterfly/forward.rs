//! The gated butterfly transform of rows, a row in every lane.

use crate::cpu::ButterflyTransform;
use crate::cpu::butterfly::bit_reversal::bit_reversal;
use crate::cpu::butterfly::prepared::Closed;
use crate::cpu::butterfly::prepared::Pass;
use crate::cpu::butterfly::prepared::Prepared;
use crate::cpu::butterfly::prepared::with_prepared;
use crate::cpu::butterfly::steps::Run;
use crate::cpu::butterfly::tile::MAX_LANES;
use crate::cpu::butterfly::tile::Rows;
use crate::cpu::butterfly::tile::RowsMut;
use crate::cpu::butterfly::tile::enter;
use crate::cpu::butterfly::tile::leave;
use crate::cpu::butterfly::tiling::complex_width;
use crate::cpu::butterfly::tiling::lane_tasks;
use crate::cpu::isa::InstructionSet;
use crate::cpu::isa::Task;
use crate::cpu::isa::dispatch;
use crate::cpu::isa::lines::Line;
use crate::cpu::isa::lines::lines_for;
use crate::cpu::isa::lines::take_complexes;
use crate::cpu::isa::lines::take_values;
use crate::cpu::isa::lines::with_lines;
use crate::cpu::isa::register::Lanes;

/// As [`butterfly`](crate::cpu::butterfly()).
pub(in crate::cpu) fn butterfly(
    re: &[f32],
    im: &[f32],
    network: &ButterflyTransform<'_, f32>,
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
                dispatch(set, complex_width(rows, n), task);
            });
        });
    });
}

/// Lines of memory for the widest tile, and for its rows.
fn lines(n: usize) -> usize {
    4 * MAX_LANES * lines_for(n)
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
        let spare_re = take_values(&mut memory, V::COUNT * n);
        let spare_im = take_values(&mut memory, V::COUNT * n);
        let len = V::COUNT * n;
        let tiles = (re.chunks(len).zip(im.chunks(len))).zip(out_re.chunks_mut(len).zip(out_im.chunks_mut(len)));
        for ((re, im), (out_re, out_im)) in tiles {
            let (re, im) = (Rows::new::<V>(re, n, n, None, spare_re), Rows::new::<V>(im, n, n, None, spare_im));
            enter(order, &re, &im, tile);
            if prepared.soft {
                V::call(Run::<V, 4> { program, weights: prepared.weights(), tile });
            } else {
                V::call(Run::<V, 2> { program, weights: prepared.weights(), tile });
            }
            if out_re.len() == len {
                leave(tile, RowsMut::new::<V>(out_re, n, n), RowsMut::new::<V>(out_im, n, n));
            } else {
                leave(tile, RowsMut::new::<V>(spare_re, n, n), RowsMut::new::<V>(spare_im, n, n));
                out_re.copy_from_slice(&spare_re[..out_re.len()]);
                out_im.copy_from_slice(&spare_im[..out_im.len()]);
            }
        }
    }
}
