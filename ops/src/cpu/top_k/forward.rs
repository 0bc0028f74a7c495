//! The strongest bins of as many rows as a register has lanes.
//!
//! A key is a power's bits, the lowest replaced by the inverted bin: one unsigned comparison orders by power and then
//! by bin. Non-negative floats are in the order of their bits; power that is not finite or negative comes above them
//! all. Where values may be negative, their bits are mapped to keys of the same order first; then positive values that
//! are not finite come above, and negative ones below all others.
//!
//! A sorting network orders sixteen bins of every row, and a merging network joins them with the strongest so far,
//! which are kept in blocks of sixteen. Where the bits replaced by the bin may have decided between neighbouring ranks,
//! those ranks are put in order by their values. Rows in which they may have decided which bins are among the
//! strongest, or in which a value that is not finite may be among them, are searched again exactly.

use std::ops::Range;

use crate::cpu::fft::radix::transpose;
use crate::cpu::isa::register::{MAX_LANES, Register, SharedKernel};
use crate::cpu::top_k::{shift_bins, top_k_row};
use crate::sorting_network::for_each_comparator;

/// Keys sorted at once.
const BLOCK: usize = 16;
/// Largest k for the search in registers.
const MAX_K: usize = 4 * BLOCK;
/// Largest number of bins of a row for the search in registers: with more, keys have too few bits left for the power.
const MAX_BINS: usize = 1 << 11 | 1;
/// Keys of the least and the greatest finite value in a general search, without the bits that number bins.
const MIN_KEY: u32 = !f32::NEG_INFINITY.to_bits() + 1;
const MAX_KEY: u32 = (f32::INFINITY.to_bits() | 1 << 31) - 1;

/// Power of a few rows, and the bins of it that are searched.
pub(in crate::cpu) struct PowerTile<'a> {
    /// `LANES` rows of `stride` values.
    power: &'a [f32],
    stride: usize,
    first: usize,
    bins: usize,
}

impl<'a> PowerTile<'a> {
    /// The bins `searched` of rows of `stride` values.
    pub fn new(power: &'a [f32], stride: usize, searched: Range<usize>) -> Self {
        Self { power, stride, first: searched.start, bins: searched.len() }
    }

    #[inline(always)]
    fn row(&self, row: usize) -> &'a [f32] {
        &self.power[row * self.stride + self.first..][..self.bins]
    }
}

/// As [`top_k_row`] for the first `out_bins.len() / k` rows of the tile, any `k`. `keys`, as long as a row has
/// bins that are searched, is overwritten.
///
/// `GENERAL`: whether many values may be negative. Without, a row that has a negative value is searched exactly.
#[inline(always)]
pub(in crate::cpu) fn top_k_tile<V: Register, const GENERAL: bool>(
    token: V::Token,
    tile: &PowerTile<'_>,
    k: usize,
    keys: &mut [u64],
    out_bins: &mut [i64],
    out_power: &mut [f32],
) {
    if takes(k, tile.bins) {
        match k.div_ceil(BLOCK) {
            1 => V::call_shared(token, TileSearch::<V, 1, GENERAL> { token, tile, k, keys, out_bins, out_power }),
            2 => V::call_shared(token, TileSearch::<V, 2, GENERAL> { token, tile, k, keys, out_bins, out_power }),
            _ => V::call_shared(token, TileSearch::<V, 4, GENERAL> { token, tile, k, keys, out_bins, out_power }),
        }
    } else {
        for row in 0..out_bins.len() / k {
            let ranks = row * k..(row + 1) * k;
            search_exactly(tile.row(row), keys, &mut out_bins[ranks.clone()], &mut out_power[ranks]);
        }
    }
    shift_bins(out_bins, tile.first);
}

/// Whether the `k` strongest of `bins` are found in registers.
pub(super) fn takes(k: usize, bins: usize) -> bool {
    k <= MAX_K && (2..=MAX_BINS).contains(&bins)
}

/// [`top_k_tile`] of at most `B` blocks.
struct TileSearch<'a, V: Register, const B: usize, const GENERAL: bool> {
    token: V::Token,
    tile: &'a PowerTile<'a>,
    k: usize,
    keys: &'a mut [u64],
    out_bins: &'a mut [i64],
    out_power: &'a mut [f32],
}

impl<V: Register, const B: usize, const GENERAL: bool> SharedKernel for TileSearch<'_, V, B, GENERAL> {
    #[inline(always)]
    fn run(self) {
        let Self { token, tile, k, keys, out_bins, out_power } = self;
        debug_assert!(takes(k, tile.bins));
        // As many low bits as number the bins, and leave no key 0.
        let mask = (tile.bins + 1).next_power_of_two() as u32 - 1;
        let (ranked, discarded) = sorted::<V, B, GENERAL>(token, tile, mask);
        // Where the last rank agrees with the strongest key that was discarded, outside the bin, another bin may belong
        // in its place. Neighbouring ranks that agree may be in the wrong order.
        let ranked = ranked.as_flattened();
        let undecided = ranked[k - 1].equal_outside(*ranked.get(k).unwrap_or(&discarded), mask);
        let mut ties = 0;
        for rank in 1..k {
            ties |= ranked[rank - 1].equal_outside(ranked[rank], mask);
        }
        // From a register per rank to an array per row.
        let mut rows = [[[0.0; BLOCK]; B]; MAX_LANES];
        match V::LANES {
            16 => store_keys_of_rows::<V, B, 16>(ranked, &mut rows),
            8 => store_keys_of_rows::<V, B, 8>(ranked, &mut rows),
            _ => store_keys_of_rows::<V, B, 4>(ranked, &mut rows),
        }
        // Bins and power from the keys, or by the exact search where keys do not suffice.
        for (row, keys_of_row) in rows[..out_bins.len() / k].iter().enumerate() {
            let (power, ranks) = (tile.row(row), keys_of_row.as_flattened());
            let at = row * k..(row + 1) * k;
            let (out_bins, out_power) = (&mut out_bins[at.clone()], &mut out_power[at]);
            let (first, last) = (ranks[0].to_bits() & !mask, ranks[k - 1].to_bits() & !mask);
            let finite = if GENERAL { MIN_KEY <= last && first <= MAX_KEY } else { first < f32::INFINITY.to_bits() };
            if !finite || undecided >> row & 1 == 1 {
                search_exactly(power, keys, out_bins, out_power);
                continue;
            }
            if k == BLOCK {
                decode_keys::<V>(token, power, &ranks[..BLOCK], mask, &mut out_bins[..BLOCK], &mut out_power[..BLOCK]);
            } else {
                decode_keys::<V>(token, power, ranks, mask, out_bins, out_power);
            }
            if ties >> row & 1 == 1 {
                restore_order(out_bins, out_power);
            }
        }
    }
}

/// Stores the keys of each row together, from a register for each rank.
#[inline(always)]
fn store_keys_of_rows<V: Register, const B: usize, const L: usize>(ranked: &[V], rows: &mut [[[f32; BLOCK]; B]]) {
    for (part, ranked) in ranked.as_chunks::<L>().0.iter().enumerate() {
        let keys = transpose::<V, L>(*ranked);
        for (row, keys) in rows[..L].iter_mut().zip(keys) {
            keys.store(&mut V::arrays_mut(row.as_flattened_mut())[part]);
        }
    }
}

/// Bins and power of a row's strongest keys, whole registers of them, as many as the outputs are long or more.
#[inline(always)]
fn decode_keys<V: Register>(
    token: V::Token,
    power: &[f32],
    keys: &[f32],
    mask: u32,
    bins: &mut [i64],
    peaks: &mut [f32],
) {
    debug_assert!(keys.len().is_multiple_of(V::LANES) && keys.len() >= bins.len());
    for part in 0..bins.len().div_ceil(V::LANES) {
        let at = part * V::LANES..bins.len().min((part + 1) * V::LANES);
        let (bins, peaks) = (&mut bins[at.clone()], &mut peaks[at]);
        let decoded = V::load(token, &V::arrays(keys)[part]).inverted_bits(mask);
        let (mut bits, mut values) = (V::Array::default(), V::Array::default());
        decoded.store(&mut bits);
        decoded.gather(power).store(&mut values);
        for (i, bin) in bins.iter_mut().enumerate() {
            *bin = i64::from(bits.as_ref()[i].to_bits());
        }
        peaks.copy_from_slice(&values.as_ref()[..peaks.len()]);
    }
}

#[cold]
#[inline(never)]
pub(super) fn search_exactly(power: &[f32], keys: &mut [u64], out_bins: &mut [i64], out_power: &mut [f32]) {
    top_k_row(power, keys, out_bins, out_power);
}

/// Sorts peaks by power, strongest first; those of equal power stay in their order.
#[cold]
#[inline(never)]
fn restore_order(bins: &mut [i64], power: &mut [f32]) {
    // By insertion: few ranks are out of order, and those by little.
    for end in 1..power.len() {
        let mut rank = end;
        while rank > 0 && power[rank - 1] < power[rank] {
            bins.swap(rank - 1, rank);
            power.swap(rank - 1, rank);
            rank -= 1;
        }
    }
}

/// The greatest keys of every row, greatest first, and the greatest of the others.
#[inline(always)]
fn sorted<V: Register, const B: usize, const GENERAL: bool>(
    token: V::Token,
    tile: &PowerTile<'_>,
    mask: u32,
) -> ([[V; BLOCK]; B], V) {
    // No key is 0.
    let mut top = [[V::splat(token, 0.0); BLOCK]; B];
    let mut discarded = V::splat(token, 0.0);
    let (whole, rest) = (tile.bins / BLOCK, tile.bins % BLOCK);
    top[0] = sort(keys_of_block::<V, GENERAL>(token, tile, 0, mask));
    for block in 1..whole + usize::from(rest > 1) {
        let mut other = sort(keys_of_block::<V, GENERAL>(token, tile, block, mask));
        // Merge into as many blocks as are filled; each passes its sixteen least on to the next.
        let filled = B.min(block + 1);
        for top in &mut top[..filled - 1] {
            other = merge(top, other);
        }
        merge_greatest(&mut top[filled - 1], other, &mut discarded);
    }
    if rest != 1 {
        return (top, discarded);
    }
    // A bin behind whole blocks, Nyquist in a spectrum, is inserted alone.
    let last = tile.bins - 1;
    let mut column = V::Array::default();
    for row in 0..V::LANES {
        column.as_mut()[row] = tile.row(row)[last];
    }
    let low = V::splat(token, f32::from_bits(mask - last as u32));
    let mut key = key_of::<V, GENERAL>(V::load(token, &column), mask, low);
    for top in top.as_flattened_mut() {
        (*top, key) = (top.key_max(key), top.key_min(key));
    }
    (top, discarded.key_max(key))
}

/// Keys of block `block`, the one behind the whole blocks included.
#[inline(always)]
fn keys_of_block<V: Register, const GENERAL: bool>(
    token: V::Token,
    tile: &PowerTile<'_>,
    block: usize,
    mask: u32,
) -> [V; BLOCK] {
    let first = BLOCK * block;
    if first + BLOCK <= tile.bins {
        keys_of::<V, GENERAL>(token, tile, first, mask, mask - first as u32)
    } else {
        keys_of_rest::<V, GENERAL>(token, tile, mask)
    }
}

/// Keys of sixteen bins from `first` on, each a register with a lane for every row. `low` are the low bits of the first
/// key; those of the others are one less each.
#[inline(always)]
fn keys_of<V: Register, const GENERAL: bool>(
    token: V::Token,
    tile: &PowerTile<'_>,
    first: usize,
    mask: u32,
    low: u32,
) -> [V; BLOCK] {
    let mut keys = [V::splat(token, 0.0); BLOCK];
    for (part, keys) in keys.chunks_exact_mut(V::LANES).enumerate() {
        // Low bits wrap below 0 only in keys of `keys_of_rest` that are cleared.
        let (at, low) = (first + part * V::LANES, V::descending(token, low.wrapping_sub((part * V::LANES) as u32)));
        match V::LANES {
            16 => load_keys::<V, 16, GENERAL>(token, tile, at, mask, low, keys),
            8 => load_keys::<V, 8, GENERAL>(token, tile, at, mask, low, keys),
            _ => load_keys::<V, 4, GENERAL>(token, tile, at, mask, low, keys),
        }
    }
    keys
}

/// Keys of the bins after the last whole block, filled up with keys of 0, which come last.
#[inline(always)]
fn keys_of_rest<V: Register, const GENERAL: bool>(token: V::Token, tile: &PowerTile<'_>, mask: u32) -> [V; BLOCK] {
    let (first, rest) = (tile.bins / BLOCK * BLOCK, tile.bins % BLOCK);
    let mut padded = [0.0; BLOCK * MAX_LANES];
    for (row, padded) in padded.as_chunks_mut::<BLOCK>().0[..V::LANES].iter_mut().enumerate() {
        padded[..rest].copy_from_slice(&tile.row(row)[first..first + rest]);
    }
    let padded = PowerTile::new(&padded, BLOCK, 0..BLOCK);
    let mut keys = keys_of::<V, GENERAL>(token, &padded, 0, mask, mask - first as u32);
    for key in &mut keys[rest..] {
        *key = V::splat(token, 0.0);
    }
    keys
}

/// Keys of values, with the low bits `low`.
#[inline(always)]
fn key_of<V: Register, const GENERAL: bool>(power: V, mask: u32, low: V) -> V {
    // Adding zero turns -0 into 0, so that the two tie.
    let bits = if GENERAL { (power + V::splat(power.token(), 0.0)).ordered() } else { power };
    bits.with_low_bits(mask, low)
}

/// Keys of `L` bins from `first` on, with the low bits `low`, each a register with a lane for every row.
#[inline(always)]
fn load_keys<V: Register, const L: usize, const GENERAL: bool>(
    token: V::Token,
    tile: &PowerTile<'_>,
    first: usize,
    mask: u32,
    low: V,
    keys: &mut [V],
) {
    // Low bits are set before the transposition: every row has the same.
    let power = &tile.power[tile.first + first..];
    let mut rows = [V::splat(token, 0.0); L];
    for (row, keys) in rows.iter_mut().enumerate() {
        let values = &power[row * tile.stride..row * tile.stride + L];
        *keys = key_of::<V, GENERAL>(V::load(token, &V::arrays(values)[0]), mask, low);
    }
    keys[..L].copy_from_slice(&transpose::<V, L>(rows));
}

/// Compares and exchanges keys: the greater of each pair first.
macro_rules! compare {
    ($keys:ident: $(($a:literal, $b:literal))*) => {
        $(($keys[$a], $keys[$b]) = ($keys[$a].key_max($keys[$b]), $keys[$a].key_min($keys[$b]));)*
    };
}

/// Sorts, greatest first, by Green's network.
#[inline(always)]
fn sort<V: Register>(mut keys: [V; 16]) -> [V; 16] {
    for_each_comparator(
        #[inline(always)]
        |a, b| (keys[a], keys[b]) = (keys[a].key_max(keys[b]), keys[a].key_min(keys[b])),
    );
    keys
}

/// Leaves the sixteen greatest of `top` and `other`, both sorted, in `top`, sorted, and returns the others, sorted.
#[inline(always)]
fn merge<V: Register>(top: &mut [V; 16], other: [V; 16]) -> [V; 16] {
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
fn merge_greatest<V: Register>(top: &mut [V; 16], other: [V; 16], discarded: &mut V) {
    let mut greater = *top;
    for i in 0..16 {
        *discarded = discarded.key_max(top[i].key_min(other[15 - i]));
        greater[i] = top[i].key_max(other[15 - i]);
    }
    *top = sort_bitonic(greater);
}

/// Sorts a bitonic sequence, greatest first.
#[inline(always)]
fn sort_bitonic<V: Register>(mut keys: [V; 16]) -> [V; 16] {
    compare!(keys: (0, 8)(1, 9)(2, 10)(3, 11)(4, 12)(5, 13)(6, 14)(7, 15));
    compare!(keys: (0, 4)(1, 5)(2, 6)(3, 7)(8, 12)(9, 13)(10, 14)(11, 15));
    compare!(keys: (0, 2)(1, 3)(4, 6)(5, 7)(8, 10)(9, 11)(12, 14)(13, 15));
    compare!(keys: (0, 1)(2, 3)(4, 5)(6, 7)(8, 9)(10, 11)(12, 13)(14, 15));
    keys
}
