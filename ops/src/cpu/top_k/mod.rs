//! The largest values of rows, such as the strongest bins of power spectra.

pub(in crate::cpu) mod forward;
mod row;
#[cfg(test)]
mod tests;
mod tiles;

use crate::cpu::isa;
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::open_blocks::OpenBlocks;
use row::shift_bins;
pub(in crate::cpu) use row::{top_k_of_bins, top_k_row};

/// Work of a row, in the unit of [`Tasks`].
pub(in crate::cpu) fn work(bins: usize, k: usize) -> usize {
    4 * (bins + k * (k.ilog2() as usize + 1))
}

/// The `k` largest of each row of `length` values, largest first: `values` `[rows, length]` → positions `out_bins` and
/// `out_values`, `[rows, k]`, as [`top_k_row`] orders them.
pub fn top_k<T: Real>(values: &[T], length: usize, k: usize, out_bins: &mut [i64], out_values: &mut [T]) {
    let rows = values.len() / length;
    debug_assert!((1..=length).contains(&k));
    debug_assert_eq!((out_bins.len(), out_values.len()), (rows * k, rows * k));
    if isa::simd_enabled()
        && forward::takes(k, length)
        && let (Some(values), Some(out_values)) = (T::as_f32(values), T::as_f32_mut(out_values))
    {
        return tiles::top_k(values, length, k, out_bins, out_values);
    }
    let tasks = Tasks::independent(rows, work(length, k));
    let pieces = values
        .chunks(tasks.rows * length)
        .zip(out_bins.chunks_mut(tasks.rows * k))
        .zip(out_values.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((values, out_bins), out_values)| {
        T::with_scratch(|scratch| {
            let (_, _, keys) = scratch.buffers(0, 0, length);
            let outputs = out_bins.chunks_exact_mut(k).zip(out_values.chunks_exact_mut(k));
            for (values, (out_bins, out_values)) in values.chunks_exact(length).zip(outputs) {
                top_k_row(values, OpenBlocks::ALL, keys, out_bins, out_values);
            }
        });
    });
}
