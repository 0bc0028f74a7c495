//! Butterflies with gates in the order in which units read them.
//!
//! A plane then reads sixteen adjacent bytes per unit; in `[log2 n, n/2]` order, the first stages' are far apart.

use cubecl::prelude::*;

use super::index::{butterfly_offset, unit_index};
use crate::gpu::butterfly::plan::ButterflyLaunchPlan;
use crate::gpu::complex::Complex;

/// A butterfly: the parts of its twiddle, its gate, and padding.
pub type PackedButterfly = Vector<f32, Const<4>>;

/// Units of a cube that packs.
pub const PACK_UNITS: u32 = 32;

/// Packs the butterflies of a launch into `[butterflies of a unit, units of a row]`: a unit per unit of a row.
#[cube(launch, launch_unchecked)]
pub fn pack(
    twiddles: &[Complex],
    gates: &[f32],
    packed: &mut [PackedButterfly],
    #[comptime] plan: ButterflyLaunchPlan,
) {
    // The number of the unit in its row; adjacent units write adjacent butterflies of the same number.
    let own = CUBE_POS_X * PACK_UNITS + UNIT_POS;
    let units = comptime!(plan.row_units());
    if own < units {
        // The position of the unit that will read them.
        let index = unit_index(own % comptime!(plan.cube_units()), own / comptime!(plan.cube_units()), plan);
        #[unroll]
        for number in 0..comptime!(plan.unit_butterflies()) {
            let at = butterfly_offset(&index, number, plan) as usize;
            let (w, g) = (twiddles[at], gates[at]);
            let mut one = PackedButterfly::empty();
            one.insert(0usize, w.extract(0usize));
            one.insert(1usize, w.extract(1usize));
            one.insert(2usize, g);
            one.insert(3usize, 0.0f32);
            packed[(comptime!(number * units) + own) as usize] = one;
        }
    }
}
