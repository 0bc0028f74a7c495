//! The gain in the launch that computes power: every bin from its neighbours and itself, and perhaps from products with its neighbours.

use cubecl::prelude::*;

use super::products::products_below;
use super::team::{TeamIndex, TeamMemory};
use crate::gpu::neighbours::neighbours;
use crate::gpu::transform::kernel::wait;
use crate::gpu::welch::plan::FusedWelchPlan;

/// Applies the gain to the bins t + units·c of a unit, in `power`, and to the Nyquist bin behind them, which is unit
/// 0's, and stores them at `memory.power[at..]`. `products` are those of the bins with the bins above.
#[cube]
pub fn apply_gain(
    power: &mut Array<f32>,
    products: &Array<f32>,
    memory: &mut TeamMemory,
    at: u32,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let half = comptime!(plan.values() / 2);
    let mut below = Array::<f32>::new(comptime!(half as usize + 1));
    let mut above = Array::<f32>::new(comptime!(half as usize + 1));
    if comptime!(plan.shuffles) {
        neighbours_by_shuffles(&*power, &mut below, &mut above, unit, plan);
    } else {
        neighbours_from_memory(&*power, memory, at, &mut below, &mut above, unit, plan);
    }
    let below_products = products_below(products, memory, at, unit, plan);
    #[unroll]
    for c in 0..comptime!(half + 1) {
        let i = comptime!(c as usize);
        // Units other than 0 have no Nyquist bin; what they compute of it is not stored.
        let taps = (bin_of(unit, c, plan) * comptime!(plan.gain_taps as u32)) as usize;
        power[i] = memory.gain[taps] * below[i] + memory.gain[taps + 1] * power[i] + memory.gain[taps + 2] * above[i];
        if comptime!(plan.has_products()) {
            // The Nyquist bin has the product with the bin below it on both sides.
            let own = if comptime!(c < half) { products[i] } else { below_products[i] };
            power[i] += memory.gain[taps + 3] * below_products[i] + memory.gain[taps + 4] * own;
        }
    }
    store_bins(&*power, memory, at, unit, plan);
}

/// The bin of value `c` of a unit: the Nyquist bin behind all others.
#[cube]
pub fn bin_of(unit: &TeamIndex, #[comptime] c: u32, #[comptime] plan: FusedWelchPlan) -> u32 {
    let half = comptime!(plan.values() / 2);
    let units = comptime!(plan.units());
    if comptime!(c < half) { unit.t + comptime!(c * units) } else { comptime!(half * units).runtime() }
}

/// Stores the power of a unit's bins at `memory.power[at..]`.
#[cube]
fn store_bins(
    power: &Array<f32>,
    memory: &mut TeamMemory,
    at: u32,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let half = comptime!(plan.values() / 2);
    #[unroll]
    for c in 0..half {
        memory.power[(at + bin_of(unit, c, plan)) as usize] = power[comptime!(c as usize)];
    }
    if unit.t == 0 {
        memory.power[(at + bin_of(unit, half, plan)) as usize] = power[comptime!(half as usize)];
    }
}

/// The power of the bins below and above a unit's from the units beside it: the spectrum is mirrored at its ends.
#[cube]
fn neighbours_by_shuffles(
    power: &Array<f32>,
    below: &mut Array<f32>,
    above: &mut Array<f32>,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let half = comptime!(plan.values() as usize / 2);
    let units = comptime!(plan.units());
    let (is_first, is_last) = (unit.t == 0, unit.t + 1 == units);
    let row = unit.lane - unit.t;
    let down = row + (unit.t + comptime!(units - 1)) % units;
    let up = row + (unit.t + 1) % units;
    #[unroll]
    for c in 0..half {
        // Below unit 0's bins are the last unit's before them, and above the last unit's are unit 0's after them.
        let last = power[comptime!(if c == 0 { 0 } else { c - 1 })];
        below[c] = plane_shuffle(select(is_last, last, power[c]), down);
        above[c] = plane_shuffle(select(is_first, power[comptime!(c + 1)], power[c]), up);
    }
    // Bin 0 has bin 1 on both sides, and the Nyquist bin the one below it.
    below[0] = select(is_first, above[0], below[0]);
    below[half] = plane_shuffle(power[comptime!(half - 1)], down);
    above[half] = below[half];
}

/// As [`neighbours_by_shuffles`], through shared memory.
#[cube]
fn neighbours_from_memory(
    power: &Array<f32>,
    memory: &mut TeamMemory,
    at: u32,
    below: &mut Array<f32>,
    above: &mut Array<f32>,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let half = comptime!(plan.values() / 2);
    store_bins(power, memory, at, unit, plan);
    // All of the row's power is there, and is read before the gain replaces it.
    wait(plan.launch.barrier);
    #[unroll]
    for c in 0..comptime!(half + 1) {
        let (under, over) = neighbours(bin_of(unit, c, plan), comptime!(plan.bins()));
        below[comptime!(c as usize)] = memory.power[(at + under) as usize];
        above[comptime!(c as usize)] = memory.power[(at + over) as usize];
    }
    wait(plan.launch.barrier);
}
