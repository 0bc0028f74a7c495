//! The window, the twiddles and the factor of the scaling, loaded once per launch into the memory that the plan says.

use cubecl::prelude::*;

use super::arguments::WelchInput;
use super::team::TeamIndex;
use crate::gpu::complex::Complex;
use crate::gpu::transform::kernel::KeptTwiddles;
use crate::gpu::transform::launch_plan::{TableStore, TwiddleStore};
use crate::gpu::welch::plan::FusedWelchPlan;

/// The tables of a unit. Those that the plan has elsewhere are not filled.
#[derive(CubeType)]
pub struct UnitTables {
    /// The window at the unit's samples.
    pub window: Array<f32>,
    /// The whole window.
    pub shared_window: Shared<[f32]>,
    /// The twiddles of the passes.
    pub twiddles: KeptTwiddles,
    /// The factor of the squares summed over segments.
    pub factor: f32,
}

/// Loads the tables. Every unit of the cube must take part.
#[cube]
pub fn load_tables(input: &WelchInput, unit: &TeamIndex, #[comptime] plan: FusedWelchPlan) -> UnitTables {
    let values = comptime!(plan.values());
    let units = comptime!(plan.team * plan.teams);
    let mut window = Array::<f32>::new(comptime!(values as usize));
    let mut shared_window = Shared::<[f32]>::new_slice(comptime!(shared_window_len(&plan)));
    // The window: a unit's own factors into registers, or all of them into shared memory.
    if comptime!(plan.window == TableStore::Registers) {
        #[unroll]
        for c in 0..values {
            window[comptime!(c as usize)] = input.window[(unit.t + comptime!(c * plan.units())) as usize];
        }
    } else if comptime!(plan.window == TableStore::Shared) {
        for at in range_stepped(UNIT_POS_X, comptime!(plan.n()), units) {
            shared_window[at as usize] = input.window[at as usize];
        }
    }
    let twiddles = keep_twiddles(&input.twiddles, unit, plan);
    // Units read entries that others loaded.
    if comptime!(plan.window == TableStore::Shared || plan.launch.twiddles == TwiddleStore::Table(TableStore::Shared)) {
        sync_cube();
    }
    // The average over segments, times the scaling; folding doubles interior bins.
    let segments = f32::new(comptime!(plan.segments as f32));
    let factor = if comptime!(plan.scaled) { input.factor[0] / segments } else { 1.0f32 / segments };
    UnitTables { window, shared_window, twiddles, factor }
}

/// Loads the twiddles that the plan keeps.
#[cube]
fn keep_twiddles(table: &[Complex], unit: &TeamIndex, #[comptime] plan: FusedWelchPlan) -> KeptTwiddles {
    if comptime!(plan.launch.twiddles == TwiddleStore::Table(TableStore::Registers)) {
        // Only two passes: the twiddles of the second.
        let mut twiddles = Array::<Complex>::new(comptime!(plan.values() as usize));
        let radix = comptime!(plan.launch.radix(1));
        #[unroll]
        for q in 0..comptime!(plan.launch.layout.per_unit(radix)) {
            let j = (unit.t + comptime!(q * plan.units())) % comptime!(plan.launch.before(1));
            #[unroll]
            for m in 1..radix {
                twiddles[comptime!((q * radix + m) as usize)] =
                    table[(comptime!(m * plan.launch.before(1)) + j) as usize];
            }
        }
        KeptTwiddles::new_Registers(twiddles)
    } else if comptime!(plan.launch.twiddles == TwiddleStore::Table(TableStore::Shared)) {
        let mut twiddles = Shared::<[Complex]>::new_slice(comptime!(plan.launch.table_len() as usize));
        for at in range_stepped(UNIT_POS_X, comptime!(plan.launch.table_len()), comptime!(plan.team * plan.teams)) {
            twiddles[at as usize] = table[at as usize];
        }
        KeptTwiddles::new_Shared(twiddles)
    } else {
        KeptTwiddles::new_None()
    }
}

fn shared_window_len(plan: &FusedWelchPlan) -> usize {
    if plan.window == TableStore::Shared { plan.n() as usize } else { 1 }
}
