//! The largest values of f32 rows of any number and length, as many rows at once as a register has lanes.

use crate::cpu::isa::register::{MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, Width, dispatch};
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::cpu::top_k::forward::{PowerTile, search_exactly, top_k_tile};

/// [`top_k`](super::top_k()) in registers, for sizes that [`takes`](super::forward::takes) accepts.
pub(super) fn top_k(values: &[f32], length: usize, k: usize, out_bins: &mut [i64], out_values: &mut [f32]) {
    let set = InstructionSet::current();
    let tasks = Tasks::independent_groups(values.len() / length, length / 2, MAX_LANES);
    let pieces = values
        .chunks(tasks.rows * length)
        .zip(out_bins.chunks_mut(tasks.rows * k))
        .zip(out_values.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((values, out_bins), out_values)| {
        f32::with_scratch(|scratch| {
            let (_, spare, keys) = scratch.buffers(0, MAX_LANES * length, length);
            dispatch(set, Width::Sixteen, TopKKernel { values, length, k, spare, keys, out_bins, out_values });
        });
    });
}

/// The rows of one task.
struct TopKKernel<'a> {
    /// `[rows, length]`.
    values: &'a [f32],
    length: usize,
    k: usize,
    /// Memory for `MAX_LANES` rows, overwritten.
    spare: &'a mut [f32],
    /// Scratch memory for the keys of one row, `[length]`, overwritten.
    keys: &'a mut [u64],
    /// `[rows, k]`.
    out_bins: &'a mut [i64],
    /// `[rows, k]`.
    out_values: &'a mut [f32],
}

impl Kernel for TopKKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { values, length, k, spare, keys, out_bins, out_values } = self;
        let outputs = out_bins.chunks_mut(V::LANES * k).zip(out_values.chunks_mut(V::LANES * k));
        for (rows, (out_bins, out_values)) in values.chunks(V::LANES * length).zip(outputs) {
            // Rows that fill less than a quarter of a register take less time one by one.
            if 4 * rows.len() < V::LANES * length {
                let outputs = out_bins.chunks_exact_mut(k).zip(out_values.chunks_exact_mut(k));
                for (row, (out_bins, out_values)) in rows.chunks_exact(length).zip(outputs) {
                    search_exactly(row, keys, out_bins, out_values);
                }
                continue;
            }
            // Too few rows for a tile are copied to memory where others may stand for those that are missing.
            let power = if rows.len() < V::LANES * length {
                spare[..rows.len()].copy_from_slice(rows);
                &spare[..V::LANES * length]
            } else {
                rows
            };
            let tile = PowerTile::new(power, length, 0..length);
            top_k_tile::<V, true>(token, &tile, k, keys, out_bins, out_values);
        }
    }
}
