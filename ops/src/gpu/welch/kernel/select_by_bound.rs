//! Up to 16 peaks of a row that has a cube to itself.
//!
//! The strongest bins of each plane give a bound that at least k bins reach; the bins that reach it, few more than k of
//! most spectra, are ranked against each other.

use cubecl::prelude::*;

use super::arguments::LaunchShape;
use super::select::{NOT_FINITE, comes_before, finite_or_less, searched_bins, write_peak};
use super::team::{TeamIndex, TeamMemory, exchange_base};
use crate::gpu::complex::complex;
use crate::gpu::top_k::PeakOutput;
use crate::gpu::welch::plan::FusedWelchPlan;

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

/// Planes of the cube.
fn planes(plan: &FusedWelchPlan) -> u32 {
    plan.units() / plan.plane
}
