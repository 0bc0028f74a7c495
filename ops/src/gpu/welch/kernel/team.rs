//! A team of units: a unit's position in it, its memory, its row as the sequence of a transform, and the tables that are
//! loaded once per launch: the window, the twiddles and the factor of the scaling.

use cubecl::prelude::*;

use crate::gpu::complex::Complex;
use crate::gpu::short_transform::output_position;
use crate::gpu::transform::kernel::{KeptTwiddles, Sequence};
use crate::gpu::transform::launch_plan::{TableStore, TwiddleStore};
use crate::gpu::welch::kernel::WelchInput;
use crate::gpu::welch::plan::FusedWelchPlan;

/// A unit's position.
#[derive(CubeType, Clone, Copy)]
pub struct TeamIndex {
    /// The team's number in the cube.
    pub team: u32,
    /// The unit's number in the team.
    pub lane: u32,
    /// The number, among the rows that the team transforms at once, of the unit's row.
    pub slot: u32,
    /// The unit's number among the units of its row.
    pub t: u32,
}

#[cube]
pub fn team_index(#[comptime] plan: FusedWelchPlan) -> TeamIndex {
    let lane = UNIT_POS_X % comptime!(plan.team);
    TeamIndex {
        // A constant where it can be: WebGPU demands that a loop with barriers does not depend on the unit's position.
        team: if comptime!(plan.teams == 1) { 0u32.runtime() } else { UNIT_POS_X / comptime!(plan.team) },
        lane,
        slot: lane / comptime!(plan.units()),
        t: lane % comptime!(plan.units()),
    }
}

/// Shared memory of a cube, and the samples in a unit's registers.
#[derive(CubeType)]
pub struct TeamMemory {
    /// Complex values that units of a row exchange: `exchange_len` per row.
    pub exchange: Shared<[Complex]>,
    /// Power of the rows that a team takes at a time, after the gain if there is one: `power_stride` per row.
    pub power: Shared<[f32]>,
    /// The gain of the bins, `[bins, taps]`; not filled where the plan has none.
    pub gain: Shared<[f32]>,
    /// Samples of a pair of segments.
    pub samples: Array<f32>,
}

/// Offset in the exchange memory of the unit's row.
#[cube]
pub fn exchange_base(unit: &TeamIndex, #[comptime] plan: FusedWelchPlan) -> u32 {
    (unit.team * comptime!(plan.slots()) + unit.slot) * comptime!(plan.launch.layout.sequence_stride)
}

/// The unit's row as the sequence of a transform.
#[cube]
pub fn team_sequence(unit: &TeamIndex, #[comptime] plan: FusedWelchPlan) -> Sequence {
    // Where rows lie in memory does not matter to the passes.
    Sequence { row: 0u32, column: 0u32, is_present: true.runtime(), base: exchange_base(unit, plan), t: unit.t }
}

/// Register of value c, bin t + units·c, after the last pass.
pub fn bin_position(c: u32, plan: &FusedWelchPlan) -> usize {
    let layout = &plan.launch.layout;
    let radix = layout.radices.radix(layout.radices.count() - 1);
    let per_unit = layout.per_unit(radix);
    (c % per_unit * radix + output_position(c / per_unit, radix)) as usize
}

/// The tables of a unit. Those that the plan has elsewhere are not filled.
#[derive(CubeType)]
pub struct UnitTables {
    /// The window at the unit's samples.
    pub window: Array<f32>,
    pub shared_window: Shared<[f32]>,
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
