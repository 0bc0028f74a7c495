//! The strongest bins of as many rows as a register has lanes.
//!
//! A key is a power's bits, the lowest replaced by the inverted bin: one unsigned comparison orders by power and then
//! by bin. Non-negative floats are in the order of their bits, and what is not finite or negative comes above them all.
//! A network sorts sixteen bins of every row, and merges them with the strongest so far, kept in blocks of sixteen. Rows in which the
//! bits given up for the bin may have decided, or whose strongest key is not that of a finite power, are done again
//! exactly.

use std::marker::PhantomData;

use crate::sorting_network::for_each_comparator;

use crate::cpu::fft::radix::transpose;
use crate::cpu::isa::register::Kernel;
use crate::cpu::isa::register::Lanes;
use crate::cpu::top_k::top_k_row;

/// Keys sorted at once.
const BLOCK: usize = 16;
/// The most bins that can be asked for.
const MAX_K: usize = 4 * BLOCK;
/// The most bins of a row: of more, the keys would say too little of the power.
const MAX_BINS: usize = 1 << 11 | 1;
/// Lanes of the widest register.
pub(in crate::cpu) const MAX_LANES: usize = 16;

/// Power of a few rows.
pub(in crate::cpu) struct Tile<'a> {
    /// `COUNT` rows of `stride` values, the first `bins` of each being its power.
    pub power: &'a [f32],
    pub stride: usize,
    /// A multiple of 16, plus 1.
    pub bins: usize,
}

/// As [`top_k_row`] for the first `out_bins.len() / k` rows of the tile, any `k`. `keys`, as long as a row has
/// bins, is overwritten.
#[inline(always)]
pub(in crate::cpu) fn strongest<V: Lanes>(
    tile: &Tile<'_>,
    k: usize,
    keys: &mut [u64],
    out_bins: &mut [i64],
    out_power: &mut [f32],
) {
    if !takes(k, tile.bins) {
        let outputs = out_bins.chunks_exact_mut(k).zip(out_power.chunks_exact_mut(k));
        for (power, (out_bins, out_power)) in tile.power.chunks_exact(tile.stride).zip(outputs) {
            exact(&power[..tile.bins], keys, out_bins, out_power);
        }
        return;
    }
    match k.div_ceil(BLOCK) {
        1 => V::call(Strongest::<V, 1> { tile, k, keys, out_bins, out_power, lanes: PhantomData }),
        2 => V::call(Strongest::<V, 2> { tile, k, keys, out_bins, out_power, lanes: PhantomData }),
        _ => V::call(Strongest::<V, 4> { tile, k, keys, out_bins, out_power, lanes: PhantomData }),
    }
}

/// Whether the `k` strongest of `bins` are found in registers.
fn takes(k: usize, bins: usize) -> bool {
    k <= MAX_K && (17..=MAX_BINS).contains(&bins)
}

/// [`strongest`] of at most `B` blocks.
struct Strongest<'a, V, const B: usize> {
    tile: &'a Tile<'a>,
    k: usize,
    keys: &'a mut [u64],
    out_bins: &'a mut [i64],
    out_power: &'a mut [f32],
    lanes: PhantomData<V>,
}

impl<V: Lanes, const B: usize> Kernel for Strongest<'_, V, B> {
    #[inline(always)]
    fn run(self) {
        let Self { tile, k, keys, out_bins, out_power, .. } = self;
        debug_assert!(takes(k, tile.bins) && tile.bins % BLOCK == 1);
        let mask = tile.bins.next_power_of_two() as u32 - 1;
        let (ranked, discarded) = sorted::<V, B>(tile, mask);
        let ranked = ranked.as_flattened();
        let mut ties = ranked[k - 1].equal_outside(*ranked.get(k).unwrap_or(&discarded), mask);
        for rank in 1..k {
            ties |= ranked[rank - 1].equal_outside(ranked[rank], mask);
        }
        let mut rows = [[[0.0; BLOCK]; B]; MAX_LANES];
        match V::COUNT {
            16 => put_rows::<V, B, 16>(ranked, &mut rows),
            8 => put_rows::<V, B, 8>(ranked, &mut rows),
            _ => put_rows::<V, B, 4>(ranked, &mut rows),
        }
        let outputs = out_bins.chunks_exact_mut(k).zip(out_power.chunks_exact_mut(k));
        let powers = tile.power.chunks_exact(tile.stride).map(|power| &power[..tile.bins]);
        for (row, ((power, ranks), (out_bins, out_power))) in powers.zip(&rows).zip(outputs).enumerate() {
            let ranks = ranks.as_flattened();
            let finite = ranks[0].to_bits() & !mask < f32::INFINITY.to_bits();
            if !finite || ties >> row & 1 == 1 {
                exact(power, keys, out_bins, out_power);
            } else if k == BLOCK {
                put_peaks(power, &ranks[..BLOCK], mask, &mut out_bins[..BLOCK], &mut out_power[..BLOCK]);
            } else {
                put_peaks(power, &ranks[..k], mask, out_bins, out_power);
            }
        }
    }
}

/// The keys of each row together.
#[inline(always)]
fn put_rows<V: Lanes, const B: usize, const L: usize>(ranked: &[V], rows: &mut [[[f32; BLOCK]; B]]) {
    for (part, ranked) in ranked.as_chunks::<L>().0.iter().enumerate() {
        let keys = transpose::<V, L>(*ranked);
        for (row, keys) in rows[..L].iter_mut().zip(keys) {
            keys.store(&mut V::arrays_mut(row.as_flattened_mut())[part]);
        }
    }
}

/// What the keys of a row say.
#[inline(always)]
fn put_peaks(power: &[f32], keys: &[f32], mask: u32, bins: &mut [i64], peaks: &mut [f32]) {
    for (bin, key) in bins.iter_mut().zip(keys) {
        *bin = i64::from(mask - (key.to_bits() & mask));
    }
    for (peak, key) in peaks.iter_mut().zip(keys) {
        *peak = power[(mask - (key.to_bits() & mask)) as usize];
    }
}

#[cold]
#[inline(never)]
fn exact(power: &[f32], keys: &mut [u64], out_bins: &mut [i64], out_power: &mut [f32]) {
    top_k_row(power, keys, out_bins, out_power);
}

/// The greatest keys of every row, greatest first, and the greatest of the others.
#[inline(always)]
fn sorted<V: Lanes, const B: usize>(tile: &Tile<'_>, mask: u32) -> ([[V; BLOCK]; B], V) {
    // No key is 0.
    let mut top = [[V::splat(0.0); BLOCK]; B];
    let mut discarded = V::splat(0.0);
    top[0] = sort(keys_of(tile, 0, mask));
    for block in 1..tile.bins / BLOCK {
        let mut other = sort(keys_of(tile, block, mask));
        // As many blocks as are filled; what the last but one leaves goes on.
        for top in &mut top[..B.min(block + 1) - 1] {
            other = merge(top, other);
        }
        keep_greatest(&mut top[B.min(block + 1) - 1], other, &mut discarded);
    }
    let last = tile.bins - 1;
    let mut column = V::Array::default();
    for (value, row) in column.as_mut().iter_mut().zip(tile.power.chunks_exact(tile.stride)) {
        *value = row[last];
    }
    let mut key = V::load(&column).with_low_bits(mask, mask - last as u32);
    for top in top.as_flattened_mut() {
        (*top, key) = (top.key_max(key), top.key_min(key));
    }
    (top, discarded.key_max(key))
}

/// Keys of sixteen bins from `16 * block` on, each a register with a lane for every row.
#[inline(always)]
fn keys_of<V: Lanes>(tile: &Tile<'_>, block: usize, mask: u32) -> [V; 16] {
    let mut keys = [V::splat(0.0); 16];
    for part in 0..16 / V::COUNT {
        let keys = &mut keys[part * V::COUNT..];
        let at = block * (16 / V::COUNT) + part;
        match V::COUNT {
            16 => put_columns::<V, 16>(tile, at, keys),
            8 => put_columns::<V, 8>(tile, at, keys),
            _ => put_columns::<V, 4>(tile, at, keys),
        }
    }
    for (bin, key) in keys.iter_mut().enumerate() {
        *key = key.with_low_bits(mask, mask - (16 * block + bin) as u32);
    }
    keys
}

/// Register `at` of every row, transposed.
#[inline(always)]
fn put_columns<V: Lanes, const L: usize>(tile: &Tile<'_>, at: usize, columns: &mut [V]) {
    let mut rows = [V::splat(0.0); L];
    for (register, row) in rows.iter_mut().zip(tile.power.chunks_exact(tile.stride)) {
        *register = V::load(&V::arrays(row)[at]);
    }
    columns[..L].copy_from_slice(&transpose::<V, L>(rows));
}

/// Puts the greater key first.
macro_rules! compare {
    ($keys:ident: $(($a:literal, $b:literal))*) => {
        $(($keys[$a], $keys[$b]) = ($keys[$a].key_max($keys[$b]), $keys[$a].key_min($keys[$b]));)*
    };
}

/// Sorts, greatest first, by Green's sorting network.
#[inline(always)]
fn sort<V: Lanes>(mut keys: [V; 16]) -> [V; 16] {
    for_each_comparator(
        #[inline(always)]
        |a, b| (keys[a], keys[b]) = (keys[a].key_max(keys[b]), keys[a].key_min(keys[b])),
    );
    keys
}

/// Leaves the sixteen greatest of `top` and `other`, both sorted, in `top`, sorted, and gives the others, sorted.
#[inline(always)]
fn merge<V: Lanes>(top: &mut [V; 16], other: [V; 16]) -> [V; 16] {
    // The greatest sixteen of a sorted sequence and a reversed one are a bitonic sequence, and so are the others.
    let (mut greater, mut less) = (*top, other);
    for i in 0..16 {
        greater[i] = top[i].key_max(other[15 - i]);
        less[i] = top[i].key_min(other[15 - i]);
    }
    *top = sort_bitonic(greater);
    sort_bitonic(less)
}

/// As [`merge`]; of the others only the greatest is kept, in `discarded`.
#[inline(always)]
fn keep_greatest<V: Lanes>(top: &mut [V; 16], other: [V; 16], discarded: &mut V) {
    let mut greater = *top;
    for i in 0..16 {
        *discarded = discarded.key_max(top[i].key_min(other[15 - i]));
        greater[i] = top[i].key_max(other[15 - i]);
    }
    *top = sort_bitonic(greater);
}

/// Sorts a bitonic sequence, greatest first.
#[inline(always)]
fn sort_bitonic<V: Lanes>(mut keys: [V; 16]) -> [V; 16] {
    compare!(keys: (0, 8)(1, 9)(2, 10)(3, 11)(4, 12)(5, 13)(6, 14)(7, 15));
    compare!(keys: (0, 4)(1, 5)(2, 6)(3, 7)(8, 12)(9, 13)(10, 14)(11, 15));
    compare!(keys: (0, 2)(1, 3)(4, 6)(5, 7)(8, 10)(9, 11)(12, 14)(13, 15));
    compare!(keys: (0, 1)(2, 3)(4, 5)(6, 7)(8, 9)(10, 11)(12, 13)(14, 15));
    keys
}
