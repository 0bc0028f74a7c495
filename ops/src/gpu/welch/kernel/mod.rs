//! Device code of Welch power and peaks in one launch.
//!
//! Per row: `row_power` loads a pair of segments and applies the window, the passes of `transform` transform it,
//! `row_power` sums and folds the squares (`gain` the products of neighbours, which it may take), and `search` writes the
//! strongest bins. `steps` is the same in launches of their own.

mod gain;
mod row_power;
mod search;
mod select_by_network;
mod steps;
mod team;

use cubecl::prelude::*;

use self::row_power::{fold_one_sided, load_first_pair, row_start, samples_per_unit, sum_segments};
use self::search::write_strongest;
use self::team::{TeamIndex, TeamMemory, UnitTables, load_tables, team_index};
use crate::gpu::complex::Complex;
use crate::gpu::signal::Signal;
use crate::gpu::top_k::PeakOutput;
use crate::gpu::transform::kernel::wait;
use crate::gpu::welch::plan::FusedWelchPlan;
pub use steps::{
    GainInputLaunch, SpectraShapeLaunch, SumGradientBuffersLaunch, apply_row_gain, gain_adjoint, gain_sums,
    spectrum_gradients, sum_products, sum_squares,
};

#[derive(CubeType, CubeLaunch)]
pub struct WelchInput {
    /// `[rows, frame]`, of the plan's samples.
    pub signal: Signal,
    /// `[n]`.
    pub window: Box<[f32]>,
    pub twiddles: Box<[Complex]>,
    /// The factor of the scaling; read where the plan is scaled.
    pub factor: Box<[f32]>,
    /// `[bins, taps]`; read where the plan has a gain.
    pub gain: Box<[f32]>,
}

/// The buffers that the kernel writes: the variant is known when the kernel is compiled.
#[derive(CubeType, CubeLaunch)]
#[expect(dead_code, reason = "variants are constructed as the generated kernel arguments")]
pub enum WelchOutput {
    /// The power of every bin, `[rows, bins]`.
    Power(Box<[f32]>),
    /// The strongest bins of every row and their power, `[rows, k]`.
    Peaks(PeakOutput),
}

#[derive(CubeType, CubeLaunch)]
pub struct LaunchShape {
    pub rows: u32,
    /// Samples from one row's start to the next.
    pub frame: u32,
    /// Samples of a row before its first segment.
    pub first: u32,
    pub hop: u32,
    /// Peaks per row; not read where the output is power.
    pub k: u32,
    /// The first bin that is searched for peaks, where the plan is banded.
    pub lowest: u32,
    /// The number of bins that are searched, where the plan is banded.
    pub searched: u32,
    /// NaN, which not every compiler takes as a constant.
    pub missing: f32,
}

/// Writes the Welch power of every row, or its strongest bins.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn welch(input: &WelchInput, output: &mut WelchOutput, shape: LaunchShape, #[comptime] plan: FusedWelchPlan) {
    // The unit's position, and the tables that the plan keeps in its registers or in shared memory.
    let unit = team_index(plan);
    let tables = load_tables(input, &unit, plan);
    let mut memory = TeamMemory {
        exchange: Shared::new_slice(comptime!(exchange_len(&plan))),
        power: Shared::new_slice(comptime!(power_len(&plan))),
        gain: Shared::new_slice(comptime!(plan.gain_len().max(1))),
        samples: Array::new(comptime!(samples_per_unit(&plan))),
    };
    // The gain of every bin, loaded once: rows read it again and again.
    if comptime!(plan.gain_taps > 0) {
        for at in range_stepped(UNIT_POS_X, comptime!(plan.gain_len() as u32), comptime!(plan.team * plan.teams)) {
            memory.gain[at as usize] = input.gain[at as usize];
        }
        sync_cube();
    }
    // Rows come in groups of `plan.rows`; a team takes every `step`-th group.
    let first = CUBE_POS_X * comptime!(plan.teams) + unit.team;
    let step = CUBE_COUNT_X * comptime!(plan.teams);
    let groups = shape.rows.div_ceil(comptime!(plan.rows));
    // With half overlap the next samples are always prefetched: start with those of the first row.
    if comptime!(plan.half_overlap) {
        let row = first * comptime!(plan.rows) + unit.slot * comptime!(plan.rows / plan.slots());
        load_first_pair(&mut memory, input, row_start(row, &shape, &unit), shape.hop, plan);
    }
    let mut group = first;
    while group < groups {
        // Transform the group's rows and sum their squares.
        group_power(&mut memory, input, &tables, &shape, &unit, group, step, plan);
        // The power of all rows of the group is in shared memory.
        wait(plan.launch.barrier);
        match output {
            WelchOutput::Power(power) => {
                // The rows of a group are consecutive in memory: adjacent units store adjacent bins.
                let bins = comptime!(plan.bins());
                let total = comptime!(plan.rows * plan.bins());
                let from = unit.team * comptime!(plan.rows * plan.power_stride());
                for e in range_stepped(unit.lane, total, comptime!(plan.team)) {
                    let row = e / bins;
                    if group * comptime!(plan.rows) + row < shape.rows {
                        let from = from + row * comptime!(plan.power_stride());
                        power[(group * total + e) as usize] = memory.power[(from + e % bins) as usize];
                    }
                }
            }
            WelchOutput::Peaks(peaks) => write_strongest(&mut memory, peaks, group, &shape, &unit, plan),
        }
        // No unit may overwrite the power before all have read it.
        wait(plan.launch.barrier);
        group += step;
    }
}

/// Computes the power of the rows of group `group` into shared memory.
#[cube]
fn group_power(
    memory: &mut TeamMemory,
    input: &WelchInput,
    tables: &UnitTables,
    shape: &LaunchShape,
    unit: &TeamIndex,
    group: u32,
    step: u32,
    #[comptime] plan: FusedWelchPlan,
) {
    let turns = comptime!(plan.rows / plan.slots());
    for turn in 0..turns {
        let local = unit.slot * turns + turn;
        let row = group * comptime!(plan.rows) + local;
        // The row whose first samples are prefetched: the unit's next one, in this group or the team's next.
        let next = select(turn + 1 < turns, row + 1, row + 1 - turns + step * comptime!(plan.rows));
        let start = row_start(row, shape, unit);
        let next = row_start(next, shape, unit);
        let sums = sum_segments(memory, input, tables, start, next, shape.hop, unit, plan);
        let at = (unit.team * comptime!(plan.rows) + local) * comptime!(plan.power_stride());
        fold_one_sided(memory, &sums, at, tables, unit, plan);
    }
}

fn exchange_len(plan: &FusedWelchPlan) -> usize {
    (plan.teams * plan.slots() * plan.launch.layout.sequence_stride) as usize
}

fn power_len(plan: &FusedWelchPlan) -> usize {
    (plan.teams * plan.rows * plan.power_stride()) as usize
}
