//! A team of units: a unit's position in it, its memory, and its barrier.

use cubecl::prelude::*;

use crate::gpu::complex::Complex;
use crate::gpu::welch::plan::{Barrier, FusedWelchPlan};

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
        slot: lane / comptime!(plan.layout.units()),
        t: lane % comptime!(plan.layout.units()),
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
    (unit.team * comptime!(plan.slots()) + unit.slot) * comptime!(plan.layout.exchange_len())
}

/// Waits for all units of the team.
#[cube]
pub fn wait(#[comptime] barrier: Barrier) {
    if comptime!(matches!(barrier, Barrier::Plane)) {
        sync_plane();
    } else {
        sync_cube();
    }
}
