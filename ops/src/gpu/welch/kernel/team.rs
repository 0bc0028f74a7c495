//! A team of units: a unit's position in it, its memory, and its row as the sequence of a transform.

use cubecl::prelude::*;

use crate::gpu::complex::Complex;
use crate::gpu::short_transform::output_position;
use crate::gpu::transform::kernel::Sequence;
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

/// This unit's position.
#[cube]
pub fn team_index(#[comptime] plan: FusedWelchPlan) -> TeamIndex {
    let lane = UNIT_POS_X % comptime!(plan.team);
    TeamIndex {
        team: UNIT_POS_X / comptime!(plan.team),
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
