//! What every row of a launch shares: the window, the twiddles and the factor of the scaling, near the units.

use cubecl::prelude::*;

use super::power::Place;
use super::transform::Complex;
use crate::gpu::plan::{Fused, Store};

/// The tables of a unit. Those a plan has elsewhere are empty.
#[derive(CubeType)]
pub(super) struct Tables {
    /// The window at its samples.
    pub window: Array<f32>,
    /// The twiddles of the only later pass.
    pub twiddles: Array<Complex>,
    /// The whole window.
    pub near_window: Shared<[f32]>,
    /// All twiddles.
    pub near_twiddles: Shared<[Complex]>,
    /// What |X|² summed over segments is multiplied by.
    pub factor: f32,
}

/// Loads the tables. Every unit of the cube must take part.
#[cube]
pub(super) fn load_tables(
    window: &[f32],
    twiddles: &[Complex],
    factor: &[f32],
    place: &Place,
    #[comptime] plan: Fused,
) -> Tables {
    let values = comptime!(plan.layout.values);
    let units = comptime!(plan.team * plan.teams);
    let mut own_window = Array::<f32>::new(comptime!(values as usize));
    let mut own_twiddles = Array::<Complex>::new(comptime!(values as usize));
    let mut near_window = Shared::<[f32]>::new_slice(comptime!(near_window_len(&plan)));
    let mut near_twiddles = Shared::<[Complex]>::new_slice(comptime!(near_twiddles_len(&plan)));
    if comptime!(plan.window == Store::Registers) {
        #[unroll]
        for c in 0..values {
            own_window[comptime!(c as usize)] = window[(place.t + comptime!(c * plan.layout.units())) as usize];
        }
    } else if comptime!(plan.window == Store::Shared) {
        for at in range_stepped(UNIT_POS_X, plan.layout.n, units) {
            near_window[at as usize] = window[at as usize];
        }
    }
    if comptime!(plan.twiddles == Store::Registers) {
        let radix = comptime!(plan.layout.radix(1));
        let stride = comptime!(values / radix);
        #[unroll]
        for q in 0..stride {
            let j = (place.t + comptime!(q * plan.layout.units())) % comptime!(plan.layout.before(1));
            #[unroll]
            for m in 1..radix {
                own_twiddles[comptime!((q + m * stride) as usize)] =
                    twiddles[(comptime!(m * plan.layout.before(1)) + j) as usize];
            }
        }
    } else if comptime!(plan.twiddles == Store::Shared) {
        for at in range_stepped(UNIT_POS_X, comptime!(plan.layout.table_len() as u32), units) {
            near_twiddles[at as usize] = twiddles[at as usize];
        }
    }
    if comptime!(plan.window == Store::Shared || plan.twiddles == Store::Shared) {
        sync_cube();
    }
    let segments = f32::new(comptime!(plan.segments as f32));
    let factor = if comptime!(plan.scaled) { factor[0] / segments } else { 1.0f32 / segments };
    Tables { window: own_window, twiddles: own_twiddles, near_window, near_twiddles, factor }
}

fn near_window_len(plan: &Fused) -> usize {
    if plan.window == Store::Shared { plan.layout.n as usize } else { 1 }
}

fn near_twiddles_len(plan: &Fused) -> usize {
    if plan.twiddles == Store::Shared { plan.layout.table_len() } else { 1 }
}
