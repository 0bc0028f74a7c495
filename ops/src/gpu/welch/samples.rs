//! A row's samples on their way from device memory into the transform of a pair of segments.

use cubecl::prelude::*;

use super::tables::Tables;
use crate::gpu::plan::{Fused, Store};

/// Samples a unit holds: both segments of a pair.
pub(super) fn held(plan: &Fused) -> usize {
    let values = plan.layout.values;
    (if plan.halves { values + values / 2 } else { 2 * values }) as usize
}

/// Loads samples `from..to` of those a unit holds; `at` is where its first sample of the pair stands.
#[cube]
pub(super) fn load(
    samples: &mut Array<f32>,
    signal: &[f32],
    at: usize,
    hop: u32,
    #[comptime] from: u32,
    #[comptime] to: u32,
    #[comptime] plan: Fused,
) {
    let values = comptime!(plan.layout.values);
    let units = comptime!(plan.layout.units());
    #[unroll]
    for m in from..to {
        if comptime!(plan.halves || m < values) {
            samples[comptime!(m as usize)] = signal[at + comptime!((m * units) as usize)];
        } else {
            samples[comptime!(m as usize)] = signal[at + (hop + comptime!((m - values) * units)) as usize];
        }
    }
}

/// Puts the tapered pair into `re` and `im`: its first segment and its second, or zero where there is none.
#[cube]
pub(super) fn taper(
    re: &mut Array<f32>,
    im: &mut Array<f32>,
    samples: &Array<f32>,
    window: &[f32],
    tables: &Tables,
    t: u32,
    means: &Array<f32>,
    #[comptime] pair: bool,
    #[comptime] plan: Fused,
) {
    let values = comptime!(plan.layout.values);
    #[unroll]
    for m in 0..values {
        let at = comptime!(m as usize);
        let sample = (t + comptime!(m * plan.layout.units())) as usize;
        let weight = if comptime!(plan.window == Store::Registers) {
            tables.window[at]
        } else if comptime!(plan.window == Store::Shared) {
            tables.near_window[sample]
        } else {
            window[sample]
        };
        re[at] = (samples[at] - means[0]) * weight;
        if comptime!(pair) {
            im[at] = (samples[comptime!(second(m, &plan))] - means[1]) * weight;
        } else {
            im[at] = 0.0f32;
        }
    }
}

/// Where sample `m` of the second segment is held.
pub(super) fn second(m: u32, plan: &Fused) -> usize {
    let values = plan.layout.values;
    (m + if plan.halves { values / 2 } else { values }) as usize
}
