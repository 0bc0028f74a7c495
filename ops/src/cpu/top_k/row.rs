//! Exact search of one row: integer keys, selection, sort.

use std::ops::Range;

use crate::cpu::real::Real;
use crate::open_blocks::OpenBlocks;

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
/// `keys`, as long as `power`, is overwritten. Bins of blocks that are not `open` are not searched.
pub(in crate::cpu) fn top_k_row<T: Real>(
    power: &[T],
    open: OpenBlocks,
    keys: &mut [T::Key],
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    let k = out_bins.len();
    debug_assert_eq!(keys.len(), power.len());
    debug_assert_eq!(out_power.len(), k);
    for (bin, (key, power)) in keys.iter_mut().zip(power).enumerate() {
        *key = power.key(bin);
    }
    for closed in open.closed(power.len()) {
        keys[closed].fill(T::Key::default());
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
    open: OpenBlocks,
    keys: &mut [T::Key],
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    let first = searched.start;
    top_k_row(&power[searched], open, keys, out_bins, out_power);
    shift_bins(out_bins, first);
}
