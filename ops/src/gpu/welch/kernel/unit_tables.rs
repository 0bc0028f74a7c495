//! The window, the twiddles and the factor of the scaling, loaded once per launch into the memory that the plan says.

use cubecl::prelude::*;

use super::arguments::WelchInput;
use super::team::TeamIndex;
use crate::gpu::complex::Complex;
use crate::gpu::welch::plan::{FusedWelchPlan, TableStore};

/// The tables of a unit. Those that the plan has elsewhere are not filled.
#[derive(CubeType)]
pub struct UnitTables {
    /// The window at the unit's samples.
    pub window: Array<f32>,
    /// The twiddles of the only later pass.
    pub twiddles: Array<Complex>,
    /// The whole window.
    pub shared_window: Shared<[f32]>,
    /// All twiddles.
    pub shared_twiddles: Shared<[Complex]>,
    /// The factor of the squares summed over segments.
    pub factor: f32,
}

/// Loads the tables. Every unit of the cube must take part.
#[cube]
pub fn load_tables(input: &WelchInput, unit: &TeamIndex, #[comptime] plan: FusedWelchPlan) -> UnitTables {
    let values = comptime!(plan.layout.values);
    let units = comptime!(plan.team * plan.teams);
    let mut window = Array::<f32>::new(comptime!(values as usize));
    let mut twiddles = Array::<Complex>::new(comptime!(values as usize));
    let mut shared_window = Shared::<[f32]>::new_slice(comptime!(shared_window_len(&plan)));
    let mut shared_twiddles = Shared::<[Complex]>::new_slice(comptime!(shared_twiddles_len(&plan)));
    // The window: a unit's own factors into registers, or all of them into shared memory.
    if comptime!(plan.window == TableStore::Registers) {
        #[unroll]
        for c in 0..values {
            window[comptime!(c as usize)] = input.window[(unit.t + comptime!(c * plan.layout.units())) as usize];
        }
    } else if comptime!(plan.window == TableStore::Shared) {
        for at in range_stepped(UNIT_POS_X, plan.layout.n, units) {
            shared_window[at as usize] = input.window[at as usize];
        }
    }
    if comptime!(plan.twiddles == TableStore::Registers) {
        // Only two passes: the twiddles of the second, in the order in which the unit uses them.
        let radix = comptime!(plan.layout.radix(1));
        let stride = comptime!(values / radix);
        #[unroll]
        for q in 0..stride {
            let j = (unit.t + comptime!(q * plan.layout.units())) % comptime!(plan.layout.before(1));
            #[unroll]
            for m in 1..radix {
                twiddles[comptime!((q + m * stride) as usize)] =
                    input.twiddles[(comptime!(m * plan.layout.before(1)) + j) as usize];
            }
        }
    } else if comptime!(plan.twiddles == TableStore::Shared) {
        for at in range_stepped(UNIT_POS_X, comptime!(plan.layout.table_len() as u32), units) {
            shared_twiddles[at as usize] = input.twiddles[at as usize];
        }
    }
    // Units read entries that others loaded.
    if comptime!(plan.window == TableStore::Shared || plan.twiddles == TableStore::Shared) {
        sync_cube();
    }
    // The average over segments, times the scaling; folding doubles interior bins.
    let segments = f32::new(comptime!(plan.segments as f32));
    let factor = if comptime!(plan.scaled) { input.factor[0] / segments } else { 1.0f32 / segments };
    UnitTables { window, twiddles, shared_window, shared_twiddles, factor }
}

fn shared_window_len(plan: &FusedWelchPlan) -> usize {
    if plan.window == TableStore::Shared { plan.layout.n as usize } else { 1 }
}

fn shared_twiddles_len(plan: &FusedWelchPlan) -> usize {
    if plan.twiddles == TableStore::Shared { plan.layout.table_len() } else { 1 }
}
