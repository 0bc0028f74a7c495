//! Welch power and peaks in one launch: each sample is read once, and nothing but the result is written.

use cubecl::prelude::*;

use super::power::{Place, Rows, fold, load_first, placed, row_sums, start};
use super::samples::held;
use super::tables::{Tables, load_tables};
use super::top_k::strongest;
use super::transform::{Complex, wait};
use crate::gpu::plan::Fused;

/// Welch power, `[rows, bins]`.
#[cube(launch_unchecked)]
pub(super) fn welch_power(
    signal: &[f32],
    window: &[f32],
    twiddles: &[Complex],
    factor: &[f32],
    power: &mut [f32],
    shared: Rows,
    #[comptime] plan: Fused,
) {
    let place = placed(plan);
    let tables = load_tables(window, twiddles, factor, &place, plan);
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(exchange_len(&plan)));
    let mut stage = Shared::<[f32]>::new_slice(comptime!(power_len(&plan)));
    let mut samples = Array::<f32>::new(comptime!(held(&plan)));
    let first = CUBE_POS_X * comptime!(plan.teams) + place.team;
    let step = CUBE_COUNT_X * comptime!(plan.teams);
    let groups = shared.rows.div_ceil(comptime!(plan.rows));
    if comptime!(plan.halves) {
        let row = first * comptime!(plan.rows) + place.slot * comptime!(plan.rows / plan.slots());
        load_first(&mut samples, signal, start(row, &shared, &place), shared.hop, plan);
    }
    let mut group = first;
    while group < groups {
        rows_power(
            &mut samples,
            signal,
            group,
            step,
            &mut exchange,
            &mut stage,
            window,
            twiddles,
            &tables,
            &shared,
            &place,
            plan,
        );
        wait(plan.barrier);
        let bins = comptime!(plan.bins());
        let total = comptime!(plan.rows * plan.bins());
        let from = place.team * comptime!(plan.rows * plan.power_stride());
        for e in range_stepped(place.lane, total, comptime!(plan.team)) {
            let row = e / bins;
            if group * comptime!(plan.rows) + row < shared.rows {
                power[(group * total + e) as usize] =
                    stage[(from + row * comptime!(plan.power_stride()) + e % bins) as usize];
            }
        }
        wait(plan.barrier);
        group += step;
    }
}

/// The strongest bins of Welch power, `[rows, k]`, and their power.
#[cube(launch_unchecked)]
pub(super) fn welch_peaks(
    signal: &[f32],
    window: &[f32],
    twiddles: &[Complex],
    factor: &[f32],
    bins: &mut [i32],
    power: &mut [f32],
    shared: Rows,
    #[comptime] plan: Fused,
) {
    let place = placed(plan);
    let tables = load_tables(window, twiddles, factor, &place, plan);
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(exchange_len(&plan)));
    let mut stage = Shared::<[f32]>::new_slice(comptime!(power_len(&plan)));
    let mut samples = Array::<f32>::new(comptime!(held(&plan)));
    let first = CUBE_POS_X * comptime!(plan.teams) + place.team;
    let step = CUBE_COUNT_X * comptime!(plan.teams);
    let groups = shared.rows.div_ceil(comptime!(plan.rows));
    if comptime!(plan.halves) {
        let row = first * comptime!(plan.rows) + place.slot * comptime!(plan.rows / plan.slots());
        load_first(&mut samples, signal, start(row, &shared, &place), shared.hop, plan);
    }
    let mut group = first;
    while group < groups {
        rows_power(
            &mut samples,
            signal,
            group,
            step,
            &mut exchange,
            &mut stage,
            window,
            twiddles,
            &tables,
            &shared,
            &place,
            plan,
        );
        wait(plan.barrier);
        strongest(&stage, &mut exchange, bins, power, group, &shared, &place, plan);
        wait(plan.barrier);
        group += step;
    }
}

/// Leaves the power of the rows of a group in `stage`.
#[cube]
fn rows_power(
    samples: &mut Array<f32>,
    signal: &[f32],
    group: u32,
    step: u32,
    exchange: &mut Shared<[Complex]>,
    stage: &mut Shared<[f32]>,
    window: &[f32],
    twiddles: &[Complex],
    tables: &Tables,
    shared: &Rows,
    place: &Place,
    #[comptime] plan: Fused,
) {
    let turns = comptime!(plan.rows / plan.slots());
    for turn in 0..turns {
        let local = place.slot * turns + turn;
        let row = group * comptime!(plan.rows) + local;
        let next = select(turn + 1 < turns, row + 1, row + 1 - turns + step * comptime!(plan.rows));
        let sums = row_sums(
            samples,
            signal,
            start(row, shared, place),
            start(next, shared, place),
            exchange,
            window,
            twiddles,
            tables,
            shared,
            place,
            plan,
        );
        let at = (place.team * comptime!(plan.rows) + local) * comptime!(plan.power_stride());
        fold(&sums, stage, at, exchange, tables, place, plan);
    }
}

/// Complex values of shared memory a cube exchanges through.
fn exchange_len(plan: &Fused) -> usize {
    (plan.teams * plan.slots() * plan.layout.exchange_len()) as usize
}

/// Values of shared memory that hold a cube's power.
fn power_len(plan: &Fused) -> usize {
    (plan.teams * plan.rows * plan.power_stride()) as usize
}
