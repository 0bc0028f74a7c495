//! The gain in the launch that computes power: every bin from its neighbours and itself, and perhaps from products with
//! its neighbours, mirrored at the ends.

use cubecl::prelude::*;

use super::team::{TeamIndex, TeamMemory, bin_position, exchange_base};
use crate::gpu::complex::{ComplexValues, complex, plus_dot};
use crate::gpu::transform::kernel::{padded, wait};
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

/// Adds Re Z\[k\] Z*\[k+1\] for the bins k = t + units·c of a unit to `products`; after the last bin comes the first. The
/// spectrum goes through the exchange memory.
#[cube]
pub fn add_products(
    products: &mut Array<f32>,
    z: &ComplexValues,
    memory: &mut TeamMemory,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let values = comptime!(plan.values());
    let units = comptime!(plan.units());
    let base = exchange_base(unit, plan);
    wait(plan.launch.barrier);
    #[unroll]
    for c in 0..values {
        let at = comptime!(bin_position(c, &plan));
        memory.exchange[(base + padded(unit.t + comptime!(c * units), plan.launch)) as usize] =
            complex(z.re[at], z.im[at]);
    }
    wait(plan.launch.barrier);
    #[unroll]
    for c in 0..values {
        let at = comptime!(bin_position(c, &plan));
        let above = (unit.t + comptime!(c * units + 1)) % comptime!(plan.n());
        let above = memory.exchange[(base + padded(above, plan.launch)) as usize];
        products[comptime!(c as usize)] = plus_dot(products[comptime!(c as usize)], complex(z.re[at], z.im[at]), above);
    }
}

/// The products of the lower half of a row's bins, scaled: value c is that of bin t + units·c. As for squares, a product
/// and its mirror image are twice the sum of those of both segments.
#[cube]
pub fn fold_products(
    products: &Array<f32>,
    memory: &mut TeamMemory,
    factor: f32,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) -> Array<f32> {
    let values = comptime!(plan.values());
    let units = comptime!(plan.units());
    let half = comptime!(values as usize / 2);
    let mut folded = Array::<f32>::new(comptime!(if plan.has_products() { half } else { 1 }));
    if comptime!(plan.has_products()) {
        let base = exchange_base(unit, plan);
        // The mirror image of the product of bins k and k + 1 is that of bins n − 1 − k and n − k.
        let mirrored = comptime!(units - 1).runtime() - unit.t;
        if comptime!(!plan.shuffles) {
            wait(plan.launch.barrier);
            #[unroll]
            for c in 0..values {
                let at = base + unit.t + comptime!(c * units);
                memory.exchange[at as usize] = complex(products[comptime!(c as usize)], 0.0f32);
            }
            wait(plan.launch.barrier);
        }
        #[unroll]
        for c in 0..half {
            let opposite = comptime!(values as usize - 1 - c);
            let image = if comptime!(plan.shuffles) {
                plane_shuffle(products[opposite], unit.lane - unit.t + mirrored)
            } else {
                memory.exchange[(base + mirrored + comptime!(opposite as u32 * units)) as usize].extract(0usize)
            };
            folded[c] = (products[c] + image) * factor;
        }
    }
    folded
}

/// The products of a unit's bins with the bins below, and behind them that of the Nyquist bin, which is unit 0's: the
/// spectrum is mirrored at its ends.
#[cube]
pub fn products_below(
    products: &Array<f32>,
    memory: &mut TeamMemory,
    at: u32,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) -> Array<f32> {
    let units = comptime!(plan.units());
    let half = comptime!(plan.values() / 2);
    let mut below = Array::<f32>::new(comptime!(if plan.has_products() { half as usize + 1 } else { 1 }));
    if comptime!(plan.has_products()) {
        if comptime!(plan.shuffles) {
            let is_last = unit.t + 1 == units;
            let down = unit.lane - unit.t + (unit.t + comptime!(units - 1)) % units;
            #[unroll]
            for c in 0..comptime!(half as usize) {
                // Below unit 0's bins are the last unit's before them.
                let last = products[comptime!(if c == 0 { 0 } else { c - 1 })];
                below[c] = plane_shuffle(select(is_last, last, products[c]), down);
            }
            below[0] = select(unit.t == 0, products[0], below[0]);
            below[comptime!(half as usize)] = plane_shuffle(products[comptime!(half as usize - 1)], down);
        } else {
            wait(plan.launch.barrier);
            #[unroll]
            for c in 0..half {
                memory.power[(at + bin_of(unit, c, plan)) as usize] = products[comptime!(c as usize)];
            }
            wait(plan.launch.barrier);
            #[unroll]
            for c in 0..comptime!(half + 1) {
                let bin = bin_of(unit, c, plan);
                let under = bin - select(bin == 0, 0u32, 1u32);
                below[comptime!(c as usize)] = memory.power[(at + under) as usize];
            }
            wait(plan.launch.barrier);
        }
    }
    below
}

/// The bins below and above, written so that no subtraction is below 0.
#[cube]
pub fn neighbours(bin: u32, bins: u32) -> (u32, u32) {
    (select(bin == 0, 1u32, bin - select(bin == 0, 0u32, 1u32)), select(bin + 1 == bins, bins - 2, bin + 1))
}

/// Indices of the products with the bins below and above. Product k is that of bins k and k + 1.
#[cube]
pub fn products_beside(bin: u32, bins: u32) -> (u32, u32) {
    (bin - select(bin == 0, 0u32, 1u32), select(bin + 1 == bins, bins - 2, bin))
}
