//! A row's samples on their way from device memory into the transform of a pair of segments.

use cubecl::prelude::*;

use super::arguments::WelchInput;
use super::team::{TeamIndex, TeamMemory};
use super::unit_tables::UnitTables;
use crate::gpu::complex::ComplexValues;
use crate::gpu::signal::sample;
use crate::gpu::transform::launch_plan::TableStore;
use crate::gpu::welch::plan::FusedWelchPlan;

/// Samples in a unit's registers: both segments of a pair, which share half of them with half overlap.
pub fn samples_per_unit(plan: &FusedWelchPlan) -> usize {
    let values = plan.values();
    (if plan.half_overlap { values + values / 2 } else { 2 * values }) as usize
}

/// Loads samples `from..to` of the unit's; `at` is the offset in the signal of its first sample of the pair.
#[cube]
pub fn load_samples(
    memory: &mut TeamMemory,
    input: &WelchInput,
    at: usize,
    hop: u32,
    #[comptime] from: u32,
    #[comptime] to: u32,
    #[comptime] plan: FusedWelchPlan,
) {
    let values = comptime!(plan.values());
    let units = comptime!(plan.units());
    #[unroll]
    for m in from..to {
        if comptime!(plan.half_overlap || m < values) {
            let place = at + comptime!((m * units) as usize);
            memory.samples[comptime!(m as usize)] = sample(&input.signal, place, plan.samples);
        } else {
            let offset = hop + comptime!((m - values) * units);
            memory.samples[comptime!(m as usize)] = sample(&input.signal, at + offset as usize, plan.samples);
        }
    }
}

/// Puts the windowed pair into `z`: its first segment as real part, its second as imaginary part, or zero where there
/// is none.
#[cube]
pub fn apply_window(
    z: &mut ComplexValues,
    memory: &TeamMemory,
    input: &WelchInput,
    tables: &UnitTables,
    unit: &TeamIndex,
    means: &Array<f32>,
    #[comptime] pair: bool,
    #[comptime] plan: FusedWelchPlan,
) {
    let values = comptime!(plan.values());
    #[unroll]
    for m in 0..values {
        let at = comptime!(m as usize);
        // The factor, from the memory that the plan says.
        let place = (unit.t + comptime!(m * plan.units())) as usize;
        let weight = if comptime!(plan.window == TableStore::Registers) {
            tables.window[at]
        } else if comptime!(plan.window == TableStore::Shared) {
            tables.shared_window[place]
        } else {
            input.window[place]
        };
        let first = (memory.samples[at] - means[0]) * weight;
        if comptime!(pair) {
            let second = (memory.samples[comptime!(second_segment_at(m, &plan))] - means[1]) * weight;
            z.set(at, first, second);
        } else {
            z.set(at, first, 0.0f32);
        }
    }
}

/// The register of sample `m` of the second segment.
pub fn second_segment_at(m: u32, plan: &FusedWelchPlan) -> usize {
    let values = plan.values();
    (m + if plan.half_overlap { values / 2 } else { values }) as usize
}
