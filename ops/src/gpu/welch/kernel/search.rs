//! The strongest bins of rows whose power is in shared memory, ties to the lower bin.
//!
//! Power that is not finite comes after all other as bin -1, power NaN. Of a row that has a cube to itself, the strongest
//! bins of each plane give a bound that at least k bins reach, up to 16; the bins that reach it, few more than k of most
//! spectra, are ranked against each other.

use cubecl::prelude::*;

use super::LaunchShape;
use super::select_by_network::select_by_network;
use super::team::{TeamIndex, TeamMemory, exchange_base};
use crate::gpu::complex::{Complex, complex};
use crate::gpu::top_k::PeakOutput;
use crate::gpu::transform::kernel::wait;
use crate::gpu::welch::plan::{FusedWelchPlan, TopK};

/// The power of a bin whose power is not finite, while it is sorted: less than any power. (A gain may make power
/// negative.)
pub const NOT_FINITE: f32 = f32::MIN;

#[cube]
pub fn lowest_bin(shape: &LaunchShape, #[comptime] plan: FusedWelchPlan) -> u32 {
    if comptime!(plan.banded) { shape.lowest } else { 0u32.runtime() }
}

#[cube]
pub fn searched_bins(shape: &LaunchShape, #[comptime] plan: FusedWelchPlan) -> u32 {
    if comptime!(plan.banded) { shape.searched } else { comptime!(plan.bins()).runtime() }
}

/// Writes peak `rank` of row `row`, if there is such a row and `k` is greater than the rank; `bin` is counted from the
/// first one that is searched.
#[cube]
pub fn write_peak(
    output: &mut PeakOutput,
    row: u32,
    rank: u32,
    bin: u32,
    value: f32,
    shape: &LaunchShape,
    #[comptime] plan: FusedWelchPlan,
) {
    if row < shape.rows && rank < shape.k {
        let at = (row * shape.k + rank) as usize;
        let found = value > f32::new(NOT_FINITE);
        output.bins[at] = select(found, i32::cast_from(bin + lowest_bin(shape, plan)), -1i32);
        output.power[at] = select(found, value, shape.missing);
    }
}

/// A power, or [`NOT_FINITE`]. Compares bits: under fast-math, a comparison of floats may miss NaN and infinity.
#[cube]
pub fn finite_or_less(value: f32) -> f32 {
    let finite = (u32::reinterpret(value) & 0x7fff_ffffu32) < 0x7f80_0000u32;
    select(finite, value, f32::new(NOT_FINITE))
}

/// Whether candidate `a`, of power and bin, comes before `b`: the stronger first, ties to the lower bin.
#[cube]
pub fn comes_before(a: Complex, b: Complex) -> bool {
    let (x, y) = (a.extract(0usize), b.extract(0usize));
    x > y || (x == y && a.extract(1usize) < b.extract(1usize))
}

/// Writes the strongest bins of the rows of group `group`, by the search that the plan says.
#[cube]
pub fn write_strongest(
    memory: &mut TeamMemory,
    output: &mut PeakOutput,
    group: u32,
    shape: &LaunchShape,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let first = group * comptime!(plan.rows);
    if comptime!(matches!(plan.top_k, Some(TopK::SortingNetwork { .. }))) {
        select_by_network(&*memory, output, first, shape, unit, plan);
    } else {
        // A row per slot, the power that is searched from `from` on.
        let from =
            (unit.team * comptime!(plan.rows) + unit.slot) * comptime!(plan.power_stride()) + lowest_bin(shape, plan);
        let row = first + unit.slot;
        if comptime!(plan.top_k == Some(TopK::Rank)) {
            select_by_rank(&*memory, from, output, row, shape, unit, plan);
        } else if comptime!(plan.top_k == Some(TopK::Bound)) {
            select_by_bound(memory, from, output, row, shape, unit, plan);
        } else {
            select_by_sort(memory, from, output, row, shape, unit, plan);
        }
    }
}

/// The rank of a bin is the number of bins before it: every unit counts them for each of its bins.
#[cube]
fn select_by_rank(
    memory: &TeamMemory,
    from: u32,
    output: &mut PeakOutput,
    row: u32,
    shape: &LaunchShape,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let count = searched_bins(shape, plan);
    for bin in range_stepped(unit.t, count, comptime!(plan.units())) {
        // All units read the same rival at a time, which shared memory broadcasts.
        let value = finite_or_less(memory.power[(from + bin) as usize]);
        let mut rank = 0u32;
        for other in 0..count {
            let rival = finite_or_less(memory.power[(from + other) as usize]);
            let wins = rival > value || (rival == value && other < bin);
            rank += u32::cast_from(wins);
        }
        write_peak(output, row, rank, bin, value, shape, plan);
    }
}

/// Sorts the bins of a row, padded to n, in its exchange memory (Batcher's bitonic sort).
#[cube]
fn select_by_sort(
    memory: &mut TeamMemory,
    from: u32,
    output: &mut PeakOutput,
    row: u32,
    shape: &LaunchShape,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let n = comptime!(plan.n());
    let units = comptime!(plan.units());
    let count = searched_bins(shape, plan);
    let base = exchange_base(unit, plan);
    // Candidates of power and bin; padding, whose bins are higher, comes after power that is not finite.
    for bin in range_stepped(unit.t, n, units) {
        let value =
            if bin < count { finite_or_less(memory.power[(from + bin) as usize]) } else { f32::new(NOT_FINITE) };
        memory.exchange[(base + bin) as usize] = complex(value, f32::cast_from(bin));
    }
    // Runs of length `run` are merged from pairs that are sorted in opposite directions.
    let mut run = 2u32.runtime();
    while run <= n {
        let mut distance = run / 2;
        while distance > 0 {
            // Pairs are disjoint within a step; the next step takes what other units exchanged.
            wait(plan.launch.barrier);
            for pair in range_stepped(unit.t, comptime!(n / 2), units) {
                let at = 2 * distance * (pair / distance) + pair % distance;
                let a = memory.exchange[(base + at) as usize];
                let b = memory.exchange[(base + at + distance) as usize];
                let ordered = comes_before(a, b);
                let falling = at & run == 0;
                if (falling && !ordered) || (!falling && ordered) {
                    memory.exchange[(base + at) as usize] = b;
                    memory.exchange[(base + at + distance) as usize] = a;
                }
            }
            distance /= 2;
        }
        run *= 2;
    }
    wait(plan.launch.barrier);
    // The first k are the peaks.
    for rank in range_stepped(unit.t, shape.k, units) {
        let found = memory.exchange[(base + rank) as usize];
        write_peak(output, row, rank, u32::cast_from(found.extract(1usize)), found.extract(0usize), shape, plan);
    }
}

/// Writes the strongest bins of row `row`, whose power that is searched starts at `memory.power[from]`.
#[cube]
pub fn select_by_bound(
    memory: &mut TeamMemory,
    from: u32,
    output: &mut PeakOutput,
    row: u32,
    shape: &LaunchShape,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let units = comptime!(plan.units());
    let count = searched_bins(shape, plan);
    let base = exchange_base(unit, plan);
    let reached = Shared::<[Atomic<u32>]>::new_slice(1usize);
    let mut least = Shared::<[f32]>::new_slice(comptime!(planes(&plan) as usize));
    if unit.t == 0 {
        reached[0].store(0u32);
    }
    // The strongest bin of each unit, and of those the k/planes-th strongest of each plane, rounded up.
    let mut strongest = f32::new(NOT_FINITE);
    for bin in range_stepped(unit.t, count, units) {
        strongest = max(strongest, finite_or_less(memory.power[(from + bin) as usize]));
    }
    let mut low = plane_max(strongest);
    for _ in 1..shape.k.div_ceil(comptime!(planes(&plan))) {
        strongest = select(strongest == low, f32::new(NOT_FINITE), strongest);
        low = plane_max(strongest);
    }
    if UNIT_POS_PLANE == 0 {
        least[(unit.t / comptime!(plan.plane)) as usize] = low;
    }
    sync_cube();
    // The bound is the least of them. Power that is not finite never reaches it.
    let mut limit = least[0];
    #[unroll]
    for plane in 1..comptime!(planes(&plan)) {
        limit = min(limit, least[comptime!(plane as usize)]);
    }
    // Collect the bins that reach it, in any order.
    for bin in range_stepped(unit.t, count, units) {
        let value = finite_or_less(memory.power[(from + bin) as usize]);
        if value >= limit && value > f32::new(NOT_FINITE) {
            let at = reached[0].fetch_add(1u32);
            memory.exchange[(base + at) as usize] = complex(value, f32::cast_from(bin));
        }
    }
    sync_cube();
    // The rank of each candidate is the number of candidates that precede it; ranks without one are missing.
    let found = reached[0].load();
    for candidate in range_stepped(unit.t, max(found, shape.k), units) {
        if candidate < found {
            let own = memory.exchange[(base + candidate) as usize];
            let mut rank = 0u32;
            for other in 0..found {
                rank += u32::cast_from(comes_before(memory.exchange[(base + other) as usize], own));
            }
            write_peak(output, row, rank, u32::cast_from(own.extract(1usize)), own.extract(0usize), shape, plan);
        } else {
            write_peak(output, row, candidate, 0u32, f32::new(NOT_FINITE), shape, plan);
        }
    }
}

fn planes(plan: &FusedWelchPlan) -> u32 {
    plan.units() / plan.plane
}
