//! Up to 16 peaks per row, on 32-bit keys through a sorting network.
//!
//! A key is a power's bits, the lowest of them replaced by the bin counted from the top, so that the greatest key is
//! the strongest bin and ties go to the lower one. A unit sorts 16 bins at a time and keeps the best 16; adjacent units
//! merge over shuffles, even units keeping the first 8 and odd ones the last 8. Exact powers are read back at the end.
//! Where truncation could have changed which bins are found, or a power is negative or not finite, the row's units
//! search again, exactly, one peak after another.

use cubecl::prelude::*;

use super::LaunchShape;
use super::search::{NOT_FINITE, lowest_bin, searched_bins, write_peak};
use super::team::{TeamIndex, TeamMemory};
use crate::gpu::top_k::{PeakOutput, power_key};
use crate::gpu::welch::plan::FusedWelchPlan;
use crate::sorting_network::GREEN_16;

/// Ranks per unit after merging.
const HALF: u32 = 8;
/// The bit of a float's sign.
const SIGN: u32 = 1 << 31;

/// Writes the strongest bins of the rows of a group whose first is `first`.
#[cube]
pub fn select_by_network(
    memory: &TeamMemory,
    output: &mut PeakOutput,
    first: u32,
    shape: &LaunchShape,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    // `lanes` units per row: this unit is number `q` of the row's.
    let lanes = comptime!(plan.lanes_of_search());
    let local = unit.lane / lanes;
    let q = unit.lane % lanes;
    let from = (unit.team * comptime!(plan.rows) + local) * comptime!(plan.power_stride()) + lowest_bin(shape, plan);
    let count = searched_bins(shape, plan);
    let mut keys = Array::<u32>::new(16usize);
    let lost = search(memory, from, count, q, unit, &mut keys, plan);

    // The bins of the keys, and their exact powers.
    let mask = comptime!(plan.n() - 1);
    let mut found = Array::<u32>::new(comptime!(HALF as usize));
    let mut value = Array::<f32>::new(comptime!(HALF as usize));
    #[unroll]
    for i in 0..HALF {
        let i = comptime!(i as usize);
        found[i] = mask - (keys[i] & mask);
        value[i] = memory.power[(from + found[i]) as usize];
    }
    // Truncation may have changed which bin is last among the 16, and which half a bin is in: if the last key of a half
    // and the first one after it differ in truncated bits only. A key of infinity, NaN or negative power is greater
    // than every other.
    let next = plane_shuffle_xor(keys[0], 1u32);
    let last = keys[7] | mask;
    let boundary = select(q % 2 == 1, lost | mask, next | mask);
    let not_finite = select(q % 2 == 0, keys[0] | mask, 0u32) >= 0x7f80_0000u32;
    if plane_any(boundary >= last || not_finite) {
        search_exactly(memory, from, count, q, &mut found, &mut value, unit, plan);
    } else {
        // Within a half, truncation may have changed the order only.
        let mut unordered = false;
        #[unroll]
        for i in 0..HALF - 1 {
            unordered = unordered || value[comptime!(i as usize)] < value[comptime!(i as usize + 1)];
        }
        if plane_any(unordered) {
            sort_exactly(&mut found, &mut value);
        }
    }
    // All even units of a row hold the same ranks, and all odd ones: each writes a share of them.
    let mut rank = (q % 2) * HALF;
    #[unroll]
    for level in 1..comptime!(lanes.trailing_zeros()) {
        let part = comptime!(HALF >> level);
        let second = (q >> level) % 2;
        rank += second * part;
        #[unroll]
        for i in 0..part {
            let (at, after) = comptime!((i as usize, (i + part) as usize));
            found[at] = select(second == 1, found[after], found[at]);
            value[at] = select(second == 1, value[after], value[at]);
        }
    }
    #[unroll]
    for i in 0..comptime!(2 * HALF / lanes) {
        let at = comptime!(i as usize);
        write_peak(output, first + local, rank + i, found[at], value[at], shape, plan);
    }
}

/// Finds the row's ranks 0 to 7 into `keys` of even units and 8 to 15 into those of odd ones; returns the greatest key
/// of no rank.
#[cube]
fn search(
    memory: &TeamMemory,
    from: u32,
    count: u32,
    q: u32,
    unit: &TeamIndex,
    keys: &mut Array<u32>,
    #[comptime] plan: FusedWelchPlan,
) -> u32 {
    let lanes = comptime!(plan.lanes_of_search());
    // The best 16 of the unit's own bins, 16 bins at a time; of all bins, the Nyquist bin is added alone.
    let mut lost = 0u32;
    load_keys(memory, from, count, q, keys, plan);
    sort_16(keys);
    if comptime!(plan.banded) {
        for block in 1..count.div_ceil(comptime!(16 * lanes)) {
            lost = merge_block(memory, from, count, q + block * comptime!(16 * lanes), keys, lost, plan);
        }
    } else {
        for block in 1..comptime!(plan.n() / 2 / lanes / 16) {
            lost = merge_block(memory, from, count, q + block * comptime!(16 * lanes), keys, lost, plan);
        }
        add_nyquist(memory, from, q, keys, &mut lost, plan);
    }

    // Merge with the neighbour: the best 16 of both, the first half in the even unit, the second half in the odd one.
    let even = unit.lane % 2 == 0;
    let mut best = Array::<u32>::new(comptime!(HALF as usize));
    #[unroll]
    for i in 0..HALF {
        let i = comptime!(i as usize);
        let other = plane_shuffle_xor(keys[comptime!(15 - i)], 1u32);
        best[i] = max(keys[i], other);
        lost = max(lost, min(keys[i], other));
    }
    halve(&best, keys, even, true);
    // Merge pairs of units, then pairs of pairs: every unit with the one that has the same half.
    let levels = comptime!(lanes.trailing_zeros());
    #[unroll]
    for level in 1..levels {
        let across = comptime!(2 * (1u32 << level) - 1);
        #[unroll]
        for i in 0..HALF {
            let i = comptime!(i as usize);
            let other = plane_shuffle_xor(keys[comptime!(7 - i)], across);
            best[i] = max(keys[i], other);
            lost = max(lost, min(keys[i], other));
        }
        halve(&best, keys, even, false);
    }
    // The greatest lost key of the row.
    #[unroll]
    for level in 0..levels {
        lost = max(lost, plane_shuffle_xor(lost, comptime!(1u32 << level)));
    }
    lost
}

/// Merges the keys of 16 more bins of a unit, the first of them `bin`, into its best 16; returns the greatest of `lost`
/// and the keys left out.
#[cube]
fn merge_block(
    memory: &TeamMemory,
    from: u32,
    count: u32,
    bin: u32,
    keys: &mut Array<u32>,
    lost: u32,
    #[comptime] plan: FusedWelchPlan,
) -> u32 {
    let mut more = Array::<u32>::new(16usize);
    load_keys(memory, from, count, bin, &mut more, plan);
    sort_16(&mut more);
    merge(keys, &more, lost)
}

/// Makes the keys of 16 bins of a unit, the first of them `bin`, `lanes` apart. In a band, bins from `count` on have
/// key 0, which comes after every other.
#[cube]
fn load_keys(
    memory: &TeamMemory,
    from: u32,
    count: u32,
    bin: u32,
    keys: &mut Array<u32>,
    #[comptime] plan: FusedWelchPlan,
) {
    let mask = comptime!(plan.n() - 1);
    #[unroll]
    for e in 0..16u32 {
        let step = comptime!(e * plan.lanes_of_search());
        let at = comptime!(e as usize);
        if comptime!(plan.banded) {
            let own = bin + step;
            let bits = u32::reinterpret(memory.power[(from + min(own, count - 1)) as usize]);
            keys[at] = select(own < count, (bits & comptime!(!mask)) | (mask - own), 0u32);
        } else {
            let bits = u32::reinterpret(memory.power[(from + bin + step) as usize]);
            keys[at] = (bits & comptime!(!mask)) | (mask - step - bin);
        }
    }
}

#[cube]
fn sort_16(keys: &mut Array<u32>) {
    #[unroll]
    for comparator in 0..comptime!(GREEN_16.len()) {
        let (i, j) = comptime!(GREEN_16[comparator]);
        compare_exchange(keys, i, j);
    }
}

/// Puts the greater of two keys at `i`.
#[cube]
fn compare_exchange(keys: &mut Array<u32>, #[comptime] i: usize, #[comptime] j: usize) {
    let (a, b) = (keys[i], keys[j]);
    keys[i] = max(a, b);
    keys[j] = min(a, b);
}

/// Keeps the best 16 of two sorted sets of keys, sorted; returns the greatest of `lost` and the keys left out.
#[cube]
fn merge(keys: &mut Array<u32>, more: &Array<u32>, lost: u32) -> u32 {
    let mut greatest = lost;
    #[unroll]
    for i in 0..16usize {
        let (a, b) = (keys[i], more[comptime!(15 - i)]);
        keys[i] = max(a, b);
        greatest = max(greatest, min(a, b));
    }
    sort_bitonic(keys, 16u32);
    greatest
}

/// Sorts a bitonic sequence of keys (one that rises once and falls once), the greatest first.
#[cube]
fn sort_bitonic(keys: &mut Array<u32>, #[comptime] count: u32) {
    let steps = comptime!(count.trailing_zeros());
    #[unroll]
    for step in 0..steps {
        let distance = comptime!(count >> (step + 1));
        #[unroll]
        for i in 0..count {
            if comptime!(i & distance == 0) {
                compare_exchange(keys, comptime!(i as usize), comptime!((i + distance) as usize));
            }
        }
    }
}

/// Adds the Nyquist bin, which no unit has loaded, to the keys of a row's first unit.
#[cube]
fn add_nyquist(
    memory: &TeamMemory,
    from: u32,
    q: u32,
    keys: &mut Array<u32>,
    lost: &mut u32,
    #[comptime] plan: FusedWelchPlan,
) {
    let mask = comptime!(plan.n() - 1);
    let half = comptime!(plan.n() / 2);
    let bits = u32::reinterpret(memory.power[(from + half) as usize]);
    let key = select(q == 0, (bits & comptime!(!mask)) | comptime!(mask - half), 0u32);
    if plane_any(key > keys[15]) {
        // It replaces the last key, and moves to its rank.
        *lost = max(*lost, min(key, keys[15]));
        keys[15] = max(key, keys[15]);
        #[unroll]
        for i in 0..15usize {
            compare_exchange(keys, comptime!(14 - i), comptime!(15 - i));
        }
    } else {
        *lost = max(*lost, key);
    }
}

/// Puts the greater half of 16 keys into the even unit of a pair and the lesser half into the odd one, sorted. Each
/// unit has 8 of them, which with its neighbour's form a bitonic sequence; in opposite order there if `reversed`.
#[cube]
fn halve(best: &Array<u32>, keys: &mut Array<u32>, even: bool, #[comptime] reversed: bool) {
    #[unroll]
    for i in 0..HALF {
        let i = comptime!(i as usize);
        let other = plane_shuffle_xor(best[comptime!(if reversed { 7 - i } else { i })], 1u32);
        let greater = other > best[i];
        keys[i] = select((greater && even) || (!greater && !even), other, best[i]);
    }
    sort_bitonic(keys, HALF);
}

/// Sorts bins by exact power (odd-even transposition, which leaves ties in order).
#[cube]
fn sort_exactly(found: &mut Array<u32>, value: &mut Array<f32>) {
    for _ in 0..4u32 {
        #[unroll]
        for i in 0..HALF - 1 {
            // Even positions first, then odd ones.
            let at = comptime!((if i < 4 { 2 * i } else { 2 * (i - 4) + 1 }) as usize);
            let after = comptime!(at + 1);
            let swap = value[at] < value[after];
            let (a, b) = (value[at], value[after]);
            value[at] = select(swap, b, a);
            value[after] = select(swap, a, b);
            let (a, b) = (found[at], found[after]);
            found[at] = select(swap, b, a);
            found[after] = select(swap, a, b);
        }
    }
}

/// Finds a row's ranks one after another by exact power: the first 8 for its even units, the rest for its odd ones.
#[cube]
fn search_exactly(
    memory: &TeamMemory,
    from: u32,
    count: u32,
    q: u32,
    found: &mut Array<u32>,
    value: &mut Array<f32>,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let lanes = comptime!(plan.lanes_of_search());
    // Keys of finite power are in its order, and 0 for power that is not finite.
    let mut last_key = 0xffff_ffffu32.runtime();
    let mut last_bin = 0u32.runtime();
    #[unroll]
    for i in 0..2 * HALF {
        // The unit's greatest key after the last rank's, of equal keys the lowest bin.
        let mut key = 0u32;
        let mut bin = count;
        for candidate in range_stepped(q, count, lanes) {
            let own = power_key(memory.power[(from + candidate) as usize]);
            let left = own < last_key || (own == last_key && candidate > last_bin);
            if left && own > key {
                key = own;
                bin = candidate;
            }
        }
        // The greatest of all of the row's units.
        #[unroll]
        for level in 0..comptime!(lanes.trailing_zeros()) {
            let other = plane_shuffle_xor(key, comptime!(1u32 << level));
            let rival = plane_shuffle_xor(bin, comptime!(1u32 << level));
            let wins = other > key || (other == key && rival < bin);
            key = select(wins, other, key);
            bin = select(wins, rival, bin);
        }
        last_key = key;
        last_bin = bin;
        if unit.lane % 2 == comptime!(i / HALF) {
            let at = comptime!((i % HALF) as usize);
            found[at] = bin;
            let bits = select(key >= SIGN, key - SIGN, key ^ 0xffff_ffffu32);
            value[at] = select(key > 0, f32::reinterpret(bits), f32::new(NOT_FINITE));
        }
    }
}
