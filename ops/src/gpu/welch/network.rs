//! Up to 16 peaks of each row, on 32-bit keys through a sorting network.
//!
//! A key is a power's bits, the lowest of them replaced by the bin counted from the top, so that the greatest key is
//! the strongest bin and ties go to the lower one. A unit sorts 16 bins at a time and keeps the best 16; neighbours
//! merge over shuffles, even units keeping the first 8 and odd ones the last 8. Exact powers are read back at the end.
//! Where truncation could have changed which bins are found, or a power is not finite, the row's units search again,
//! exactly, one peak after another.

use cubecl::prelude::*;

use super::power::{Place, Rows};
use super::top_k::write;
use crate::gpu::plan::{Fused, TopK};

/// Comparators of a sorting network of 16 values in 10 layers (M. W. Green; D. E. Knuth, The Art of Computer Programming,
/// vol. 3, 5.3.4).
const GREEN: [(usize, usize); 60] = [
    (0, 1),
    (2, 3),
    (4, 5),
    (6, 7),
    (8, 9),
    (10, 11),
    (12, 13),
    (14, 15),
    (0, 2),
    (1, 3),
    (4, 6),
    (5, 7),
    (8, 10),
    (9, 11),
    (12, 14),
    (13, 15),
    (0, 4),
    (1, 5),
    (2, 6),
    (3, 7),
    (8, 12),
    (9, 13),
    (10, 14),
    (11, 15),
    (0, 8),
    (1, 9),
    (2, 10),
    (3, 11),
    (4, 12),
    (5, 13),
    (6, 14),
    (7, 15),
    (5, 10),
    (6, 9),
    (3, 12),
    (13, 14),
    (4, 8),
    (7, 11),
    (1, 2),
    (1, 4),
    (7, 13),
    (2, 8),
    (11, 14),
    (2, 4),
    (5, 6),
    (9, 10),
    (11, 13),
    (3, 8),
    (7, 12),
    (6, 8),
    (10, 12),
    (3, 5),
    (7, 9),
    (3, 4),
    (5, 6),
    (7, 8),
    (9, 10),
    (11, 12),
    (6, 7),
    (8, 9),
];

/// Ranks a unit is left with after merging.
const HALF: u32 = 8;

/// Writes the strongest bins of the rows of a group whose first is `first`.
#[cube]
pub(super) fn network(
    stage: &Shared<[f32]>,
    bins: &mut [i32],
    power: &mut [f32],
    first: u32,
    shared: &Rows,
    place: &Place,
    #[comptime] plan: Fused,
) {
    let lanes = comptime!(lanes(&plan));
    let local = place.lane / lanes;
    let q = place.lane % lanes;
    let from = (place.team * comptime!(plan.rows) + local) * comptime!(plan.power_stride());
    let mut keys = Array::<u32>::new(16usize);
    let lost = search(stage, from, q, place, &mut keys, plan);

    let mask = comptime!(plan.layout.n - 1);
    let mut found = Array::<u32>::new(comptime!(HALF as usize));
    let mut value = Array::<f32>::new(comptime!(HALF as usize));
    #[unroll]
    for i in 0..HALF {
        let i = comptime!(i as usize);
        found[i] = mask - (keys[i] & mask);
        value[i] = stage[(from + found[i]) as usize];
    }
    // What truncation may have changed: who is last among the 16, and which half a bin is in.
    let next = plane_shuffle_xor(keys[0], 1u32);
    let last = keys[7] | mask;
    let boundary = select(q % 2 == 1, lost | mask, next | mask);
    let loud = select(q % 2 == 0, keys[0] | mask, 0u32) >= 0x7f80_0000u32;
    if plane_any(boundary >= last || loud) {
        one_by_one(stage, from, q, &mut found, &mut value, place, plan);
    } else {
        let mut unordered = false;
        #[unroll]
        for i in 0..HALF - 1 {
            unordered = unordered || value[comptime!(i as usize)] < value[comptime!(i as usize + 1)];
        }
        if plane_any(unordered) {
            reorder(&mut found, &mut value);
        }
    }
    // All even units hold the same ranks, and all odd ones: each writes a part of them.
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
        write(bins, power, first + local, rank + i, found[at], value[at], shared);
    }
}

/// Units of a plane that work on one row.
fn lanes(plan: &Fused) -> u32 {
    match plan.top_k {
        Some(TopK::Network { lanes }) => lanes,
        Some(TopK::Rank | TopK::Sort | TopK::Bound) | None => 1,
    }
}

/// Leaves the row's ranks 0 to 7 in `keys` of even units and 8 to 15 in those of odd ones, and gives the greatest key
/// that is in neither.
#[cube]
fn search(
    stage: &Shared<[f32]>,
    from: u32,
    q: u32,
    place: &Place,
    keys: &mut Array<u32>,
    #[comptime] plan: Fused,
) -> u32 {
    let lanes = comptime!(lanes(&plan));
    let blocks = comptime!(plan.layout.n / 2 / lanes / 16);
    let mut lost = 0u32;
    load(stage, from + q, q, keys, plan);
    sort(keys);
    for block in 1..blocks {
        let mut more = Array::<u32>::new(16usize);
        let skipped = block * comptime!(16 * lanes);
        load(stage, from + q + skipped, q + skipped, &mut more, plan);
        sort(&mut more);
        lost = merge(keys, &more, lost);
    }
    nyquist(stage, from, q, keys, &mut lost, plan);

    // Two units: the best of both, the first half in the even one.
    let even = place.lane % 2 == 0;
    let mut best = Array::<u32>::new(comptime!(HALF as usize));
    #[unroll]
    for i in 0..HALF {
        let i = comptime!(i as usize);
        let other = plane_shuffle_xor(keys[comptime!(15 - i)], 1u32);
        best[i] = max(keys[i], other);
        lost = max(lost, min(keys[i], other));
    }
    halve(&best, keys, even, true);
    // Pairs of units, pairs of pairs.
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
    #[unroll]
    for level in 0..levels {
        lost = max(lost, plane_shuffle_xor(lost, comptime!(1u32 << level)));
    }
    lost
}

/// Makes keys of 16 bins of a unit, `lanes` apart.
#[cube]
fn load(stage: &Shared<[f32]>, at: u32, bin: u32, keys: &mut Array<u32>, #[comptime] plan: Fused) {
    let mask = comptime!(plan.layout.n - 1);
    #[unroll]
    for e in 0..16u32 {
        let step = comptime!(e * lanes(&plan));
        let bits = u32::reinterpret(stage[(at + step) as usize]);
        keys[comptime!(e as usize)] = (bits & comptime!(!mask)) | (mask - step - bin);
    }
}

/// Sorts 16 keys, the greatest first.
#[cube]
fn sort(keys: &mut Array<u32>) {
    #[unroll]
    for comparator in 0..comptime!(GREEN.len()) {
        let (i, j) = comptime!(GREEN[comparator]);
        exchange(keys, i, j);
    }
}

/// Puts the greater of two keys first.
#[cube]
fn exchange(keys: &mut Array<u32>, #[comptime] i: usize, #[comptime] j: usize) {
    let (a, b) = (keys[i], keys[j]);
    keys[i] = max(a, b);
    keys[j] = min(a, b);
}

/// Keeps the best 16 of two sorted sets of keys, and the greatest lost one.
#[cube]
fn merge(keys: &mut Array<u32>, more: &Array<u32>, lost: u32) -> u32 {
    let mut greatest = lost;
    #[unroll]
    for i in 0..16usize {
        let (a, b) = (keys[i], more[comptime!(15 - i)]);
        keys[i] = max(a, b);
        greatest = max(greatest, min(a, b));
    }
    bitonic(keys, 16u32);
    greatest
}

/// Sorts keys that rise once and fall once.
#[cube]
fn bitonic(keys: &mut Array<u32>, #[comptime] count: u32) {
    let steps = comptime!(count.trailing_zeros());
    #[unroll]
    for step in 0..steps {
        let apart = comptime!(count >> (step + 1));
        #[unroll]
        for i in 0..count {
            if comptime!(i & apart == 0) {
                exchange(keys, comptime!(i as usize), comptime!((i + apart) as usize));
            }
        }
    }
}

/// Puts the Nyquist bin, which has no unit, among the keys of a row's first unit.
#[cube]
fn nyquist(stage: &Shared<[f32]>, from: u32, q: u32, keys: &mut Array<u32>, lost: &mut u32, #[comptime] plan: Fused) {
    let mask = comptime!(plan.layout.n - 1);
    let half = comptime!(plan.layout.n / 2);
    let bits = u32::reinterpret(stage[(from + half) as usize]);
    let key = select(q == 0, (bits & comptime!(!mask)) | comptime!(mask - half), 0u32);
    if plane_any(key > keys[15]) {
        *lost = max(*lost, min(key, keys[15]));
        keys[15] = max(key, keys[15]);
        #[unroll]
        for i in 0..15usize {
            exchange(keys, comptime!(14 - i), comptime!(15 - i));
        }
    } else {
        *lost = max(*lost, key);
    }
}

/// Leaves the greater half of 16 keys in the even unit of a pair and the lesser in the odd one, sorted. Each unit has
/// 8 of them that rise once and fall once with its neighbour's; in opposite order there if `reversed`.
#[cube]
fn halve(best: &Array<u32>, keys: &mut Array<u32>, even: bool, #[comptime] reversed: bool) {
    #[unroll]
    for i in 0..HALF {
        let i = comptime!(i as usize);
        let other = plane_shuffle_xor(best[comptime!(if reversed { 7 - i } else { i })], 1u32);
        let greater = other > best[i];
        keys[i] = select((greater && even) || (!greater && !even), other, best[i]);
    }
    bitonic(keys, HALF);
}

/// Sorts bins whose powers differ in truncated bits only (odd-even transposition, which leaves ties in order).
#[cube]
fn reorder(found: &mut Array<u32>, value: &mut Array<f32>) {
    for _ in 0..4u32 {
        #[unroll]
        for i in 0..HALF - 1 {
            // Even places first, then odd ones.
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

/// Finds a row's ranks one after another: the first 8 for its even units, the rest for its odd ones.
#[cube]
fn one_by_one(
    stage: &Shared<[f32]>,
    from: u32,
    q: u32,
    found: &mut Array<u32>,
    value: &mut Array<f32>,
    place: &Place,
    #[comptime] plan: Fused,
) {
    let lanes = comptime!(lanes(&plan));
    let count = comptime!(plan.bins());
    // A key is the bits of a finite power and one; 0 for none.
    let mut last_key = 0x7f80_0001u32.runtime();
    let mut last_bin = 0u32.runtime();
    #[unroll]
    for i in 0..2 * HALF {
        let mut key = 0u32;
        let mut bin = count.runtime();
        for candidate in range_stepped(q, count, lanes) {
            let bits = u32::reinterpret(stage[(from + candidate) as usize]) & 0x7fff_ffffu32;
            let own = select(bits < 0x7f80_0000u32, bits + 1, 0u32);
            let left = own < last_key || (own == last_key && candidate > last_bin);
            if left && own > key {
                key = own;
                bin = candidate;
            }
        }
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
        if place.lane % 2 == comptime!(i / HALF) {
            let at = comptime!((i % HALF) as usize);
            found[at] = bin;
            value[at] = select(key > 0, f32::reinterpret(max(key, 1u32) - 1), f32::new(-1.0));
        }
    }
}
