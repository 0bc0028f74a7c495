//! The strongest bins of rows of power in shared memory, ties to the lower bin.
//!
//! A power that is not finite is missing: it comes after all others as bin -1, power NaN.

use cubecl::prelude::*;

use super::bound::bound;
use super::network::network;
use super::power::{Place, Rows, exchange_base};
use super::transform::{Complex, complex, wait};
use crate::gpu::plan::{Fused, TopK};

/// What stands for a power that is missing: less than any power.
const MISSING: f32 = -1.0;

/// Writes the strongest bins of the rows of a group.
#[cube]
pub(super) fn strongest(
    stage: &Shared<[f32]>,
    exchange: &mut Shared<[Complex]>,
    bins: &mut [i32],
    power: &mut [f32],
    group: u32,
    shared: &Rows,
    place: &Place,
    #[comptime] plan: Fused,
) {
    let first = group * comptime!(plan.rows);
    if comptime!(matches!(plan.top_k, Some(TopK::Network { .. }))) {
        network(stage, bins, power, first, shared, place, plan);
    } else {
        let from = (place.team * comptime!(plan.rows) + place.slot) * comptime!(plan.power_stride());
        let row = first + place.slot;
        if comptime!(plan.top_k == Some(TopK::Rank)) {
            rank(stage, from, bins, power, row, shared, place, plan);
        } else if comptime!(plan.top_k == Some(TopK::Bound)) {
            bound(stage, from, exchange, bins, power, row, shared, place, plan);
        } else {
            sort(stage, from, exchange, bins, power, row, shared, place, plan);
        }
    }
}

/// Writes peak `place` of row `row`, if the row and the place are asked for.
#[cube]
pub(super) fn write(bins: &mut [i32], power: &mut [f32], row: u32, rank: u32, bin: u32, value: f32, shared: &Rows) {
    if row < shared.rows && rank < shared.k {
        let at = (row * shared.k + rank) as usize;
        let found = value >= 0.0f32;
        bins[at] = select(found, i32::cast_from(bin), -1i32);
        power[at] = select(found, value, shared.missing);
    }
}

/// A power, or what stands for one that is missing. Compares bits, since a compiler may take floats for finite.
#[cube]
pub(super) fn cleaned(value: f32) -> f32 {
    let finite = (u32::reinterpret(value) & 0x7fff_ffffu32) < 0x7f80_0000u32;
    select(finite, value, f32::new(MISSING))
}

/// Every unit counts, for each of its bins, the bins that come before it.
#[cube]
fn rank(
    stage: &Shared<[f32]>,
    from: u32,
    bins: &mut [i32],
    power: &mut [f32],
    row: u32,
    shared: &Rows,
    place: &Place,
    #[comptime] plan: Fused,
) {
    let count = comptime!(plan.bins());
    for bin in range_stepped(place.t, count, comptime!(plan.layout.units())) {
        let value = cleaned(stage[(from + bin) as usize]);
        let mut before = 0u32;
        for other in 0..count {
            let rival = cleaned(stage[(from + other) as usize]);
            let wins = rival > value || (rival == value && other < bin);
            before += u32::cast_from(wins);
        }
        write(bins, power, row, before, bin, value, shared);
    }
}

/// Sorts all bins of a row, padded to n, in the memory its transform exchanged values through (Batcher's bitonic sort).
#[cube]
fn sort(
    stage: &Shared<[f32]>,
    from: u32,
    exchange: &mut Shared<[Complex]>,
    bins: &mut [i32],
    power: &mut [f32],
    row: u32,
    shared: &Rows,
    place: &Place,
    #[comptime] plan: Fused,
) {
    let n = comptime!(plan.layout.n);
    let units = comptime!(plan.layout.units());
    let count = comptime!(plan.bins());
    let base = exchange_base(place, plan);
    for bin in range_stepped(place.t, n, units) {
        let value = if bin < count { cleaned(stage[(from + bin) as usize]) } else { f32::new(2.0 * MISSING) };
        exchange[(base + bin) as usize] = complex(value, f32::cast_from(bin));
    }
    let mut run = 2u32.runtime();
    while run <= n {
        let mut apart = run / 2;
        while apart > 0 {
            wait(plan.barrier);
            for pair in range_stepped(place.t, comptime!(n / 2), units) {
                let at = 2 * apart * (pair / apart) + pair % apart;
                let a = exchange[(base + at) as usize];
                let b = exchange[(base + at + apart) as usize];
                let ordered = comes_before(a, b);
                let falling = at & run == 0;
                if (falling && !ordered) || (!falling && ordered) {
                    exchange[(base + at) as usize] = b;
                    exchange[(base + at + apart) as usize] = a;
                }
            }
            apart /= 2;
        }
        run *= 2;
    }
    wait(plan.barrier);
    for rank in range_stepped(place.t, shared.k, units) {
        let found = exchange[(base + rank) as usize];
        write(bins, power, row, rank, u32::cast_from(found.extract(1usize)), found.extract(0usize), shared);
    }
}

/// Whether bin and power `a` come before `b`.
#[cube]
pub(super) fn comes_before(a: Complex, b: Complex) -> bool {
    let (x, y) = (a.extract(0usize), b.extract(0usize));
    x > y || (x == y && a.extract(1usize) < b.extract(1usize))
}
