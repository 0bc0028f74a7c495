//! Welch power or peaks in one launch: each sample is read once, and only the result is written.

use cubecl::prelude::*;

use super::row_power::{fold_one_sided, load_first_pair, row_start, samples_per_unit, sum_segments};
use super::select::write_strongest;
use super::team::{TeamIndex, TeamMemory, UnitTables, load_tables, team_index};
use super::{LaunchShape, WelchInput, WelchOutput, WelchOutputExpand};
use crate::gpu::transform::kernel::wait;
use crate::gpu::welch::plan::FusedWelchPlan;

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

/// Complex values of a cube's exchange memory.
fn exchange_len(plan: &FusedWelchPlan) -> usize {
    (plan.teams * plan.slots() * plan.launch.layout.sequence_stride) as usize
}

/// Values of a cube's power memory.
fn power_len(plan: &FusedWelchPlan) -> usize {
    (plan.teams * plan.rows * plan.power_stride()) as usize
}
