//! The largest values of rows, such as the strongest bins of power spectra.

pub(in crate::cpu) mod forward;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::forward::{PowerTile, search_exactly, top_k_tile};
use crate::cpu::isa::register::{MAX_LANES, Register};
use crate::cpu::isa::{self, InstructionSet, Kernel, Width, dispatch};
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;

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
        return top_k_by_tiles(values, length, k, out_bins, out_values);
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
                top_k_row(values, keys, out_bins, out_values);
            }
        });
    });
}

/// Numbers bins that were searched from `first` on as those of the whole row.
#[inline(always)]
pub(super) fn shift_bins(bins: &mut [i64], first: usize) {
    if first > 0 {
        // A missing peak stays −1.
        bins.iter_mut().for_each(|bin| *bin += if *bin < 0 { 0 } else { first as i64 });
    }
}

/// The strongest bins of a row of power, strongest first, as many as the outputs are long: at most all of them.
///
/// Equal powers give the lower bin first. Non-finite power is never selected; missing ranks have bin −1 and power NaN.
/// `keys`, as long as `power`, is overwritten.
pub(in crate::cpu) fn top_k_row<T: Real>(power: &[T], keys: &mut [T::Key], out_bins: &mut [i64], out_power: &mut [T]) {
    let k = out_bins.len();
    debug_assert_eq!(keys.len(), power.len());
    debug_assert_eq!(out_power.len(), k);
    for (bin, (key, power)) in keys.iter_mut().zip(power).enumerate() {
        *key = power.key(bin);
    }
    let strongest_first = |a: &T::Key, b: &T::Key| b.cmp(a);
    if k < keys.len() {
        keys.select_nth_unstable_by(k - 1, strongest_first);
    }
    let peaks = &mut keys[..k];
    peaks.sort_unstable_by(strongest_first);
    for ((&key, out_bin), out_power) in peaks.iter().zip(out_bins).zip(out_power) {
        match T::key_bin(key) {
            Some(bin) => (*out_bin, *out_power) = (bin as i64, power[bin]),
            None => (*out_bin, *out_power) = (-1, T::nan()),
        }
    }
}

/// [`top_k_row`] of the bins `searched` of a row, with their numbers in the row; `keys` is as long as they are.
pub(in crate::cpu) fn top_k_of_bins<T: Real>(
    power: &[T],
    searched: Range<usize>,
    keys: &mut [T::Key],
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    let first = searched.start;
    top_k_row(&power[searched], keys, out_bins, out_power);
    shift_bins(out_bins, first);
}

/// [`top_k`] in registers, as many rows at once as a register has lanes, for sizes that [`takes`](forward::takes) accepts.
fn top_k_by_tiles(values: &[f32], length: usize, k: usize, out_bins: &mut [i64], out_values: &mut [f32]) {
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
