//! Products of the bins of a row with the bins above.

use cubecl::prelude::*;

use super::gain::bin_of;
use super::team::{TeamIndex, TeamMemory, bin_position, exchange_base};
use crate::gpu::complex::{ComplexValues, complex, plus_dot};
use crate::gpu::transform::kernel::{padded, wait};
use crate::gpu::welch::plan::FusedWelchPlan;

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
