//! Welch power of the rows of a team, from device memory into shared memory.

use cubecl::prelude::*;

use super::samples::{held, load, second, taper};
use super::tables::Tables;
use super::transform::{Complex, bin_at, complex, transform, wait};
use crate::gpu::plan::Fused;

/// What every row of a launch shares, as kernel arguments.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Rows {
    /// Rows of the launch.
    pub rows: u32,
    /// Samples from one row's start to the next.
    pub frame: u32,
    /// Samples from one segment's start to the next.
    pub hop: u32,
    /// Peaks of a row, where they are asked for.
    pub k: u32,
    /// NaN, which not every compiler takes as a constant.
    pub missing: f32,
}

/// Where a unit stands.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Place {
    /// Its team's place in the cube.
    pub team: u32,
    /// Its place in the team.
    pub lane: u32,
    /// Which of the rows transformed at once it works on.
    pub slot: u32,
    /// Its place in the row.
    pub t: u32,
}

/// Where this unit stands.
#[cube]
pub(super) fn placed(#[comptime] plan: Fused) -> Place {
    let lane = UNIT_POS_X % comptime!(plan.team);
    Place {
        team: UNIT_POS_X / comptime!(plan.team),
        lane,
        slot: lane / comptime!(plan.layout.units()),
        t: lane % comptime!(plan.layout.units()),
    }
}

/// Where a row's samples of this unit start; past the last row, those of the last row.
#[cube]
pub(super) fn start(row: u32, shared: &Rows, place: &Place) -> usize {
    (min(row, shared.rows - 1) * shared.frame + place.t) as usize
}

/// Loads the first pair of a row.
#[cube]
pub(super) fn load_first(samples: &mut Array<f32>, signal: &[f32], start: usize, hop: u32, #[comptime] plan: Fused) {
    let to = comptime!(if plan.segments == 1 { plan.layout.values } else { held(&plan) as u32 });
    load(samples, signal, start, hop, 0u32, to, plan);
}

/// Power of one row, summed over its segments: value c of `sums` is that of bin t + units·c of the paired transforms.
/// Leaves the first pair of the row that starts at `next` in `samples` if the plan keeps samples.
#[cube]
pub(super) fn row_sums(
    samples: &mut Array<f32>,
    signal: &[f32],
    start: usize,
    next: usize,
    exchange: &mut Shared<[Complex]>,
    window: &[f32],
    twiddles: &[Complex],
    tables: &Tables,
    shared: &Rows,
    place: &Place,
    #[comptime] plan: Fused,
) -> Array<f32> {
    let values = comptime!(plan.layout.values);
    let pairs = comptime!(plan.segments / 2);
    let odd = comptime!(plan.segments % 2 == 1);
    let mut sums = Array::<f32>::new(comptime!(values as usize));
    #[unroll]
    for c in 0..values {
        sums[comptime!(c as usize)] = 0.0f32;
    }
    let mut re = Array::<f32>::new(comptime!(values as usize));
    let mut im = Array::<f32>::new(comptime!(values as usize));
    for pair in 0..pairs {
        if comptime!(!plan.halves) {
            load(
                samples,
                signal,
                start + (2 * pair * shared.hop) as usize,
                shared.hop,
                0u32,
                comptime!(2 * values),
                plan,
            );
        }
        let means = segment_means(&*samples, exchange, place, true, plan);
        taper(&mut re, &mut im, &*samples, window, tables, place.t, &means, true, plan);
        if comptime!(plan.halves) {
            if pair + 1 < pairs {
                let at = start + ((pair + 1) * comptime!(plan.layout.n)) as usize;
                move_on(samples, plan);
                load(samples, signal, at, shared.hop, comptime!(values / 2), comptime!(held(&plan) as u32), plan);
            } else if comptime!(odd) {
                let at = start + ((pair + 1) * comptime!(plan.layout.n)) as usize;
                move_on(samples, plan);
                load(samples, signal, at, shared.hop, comptime!(values / 2), values, plan);
            } else {
                load_first(samples, signal, next, shared.hop, plan);
            }
        }
        pair_sums(&mut sums, &mut re, &mut im, exchange, twiddles, tables, place, plan);
    }
    if comptime!(odd) {
        if comptime!(!plan.halves) {
            load(samples, signal, start + (comptime!(2 * pairs) * shared.hop) as usize, shared.hop, 0u32, values, plan);
        }
        let means = segment_means(&*samples, exchange, place, false, plan);
        taper(&mut re, &mut im, &*samples, window, tables, place.t, &means, false, plan);
        if comptime!(plan.halves) {
            load_first(samples, signal, next, shared.hop, plan);
        }
        pair_sums(&mut sums, &mut re, &mut im, exchange, twiddles, tables, place, plan);
    }
    sums
}

/// Moves the samples that the next pair shares with this one to where it has them.
#[cube]
fn move_on(samples: &mut Array<f32>, #[comptime] plan: Fused) {
    #[unroll]
    for m in 0..comptime!(plan.layout.values / 2) {
        samples[comptime!(m as usize)] = samples[comptime!((m + plan.layout.values) as usize)];
    }
}

/// Adds the power of one paired transform.
#[cube]
fn pair_sums(
    sums: &mut Array<f32>,
    re: &mut Array<f32>,
    im: &mut Array<f32>,
    exchange: &mut Shared<[Complex]>,
    twiddles: &[Complex],
    tables: &Tables,
    place: &Place,
    #[comptime] plan: Fused,
) {
    transform(re, im, exchange, exchange_base(place, plan), place.t, twiddles, tables, plan);
    #[unroll]
    for c in 0..comptime!(plan.layout.values) {
        let at = comptime!(bin_at(c, plan.layout));
        let sum = sums[comptime!(c as usize)];
        sums[comptime!(c as usize)] = fma(im[at], im[at], fma(re[at], re[at], sum));
    }
}

/// Where the row this unit works on exchanges values.
#[cube]
pub(super) fn exchange_base(place: &Place, #[comptime] plan: Fused) -> u32 {
    (place.team * comptime!(plan.slots()) + place.slot) * comptime!(plan.layout.exchange_len())
}

/// The means of a pair's segments, or zeros where none are taken off.
#[cube]
fn segment_means(
    samples: &Array<f32>,
    exchange: &mut Shared<[Complex]>,
    place: &Place,
    #[comptime] pair: bool,
    #[comptime] plan: Fused,
) -> Array<f32> {
    let mut means = Array::<f32>::new(2usize);
    if comptime!(plan.detrend) {
        let mut first = samples[0];
        let mut other = samples[comptime!(if pair { second(0, &plan) } else { 0 })];
        #[unroll]
        for m in 1..comptime!(plan.layout.values) {
            first += samples[comptime!(m as usize)];
            other += samples[comptime!(if pair { second(m, &plan) } else { m as usize })];
        }
        let base = exchange_base(place, plan);
        wait(plan.barrier);
        exchange[(base + place.t) as usize] = complex(first, other);
        wait(plan.barrier);
        let steps = comptime!(plan.layout.units().trailing_zeros());
        #[unroll]
        for step in 0..steps {
            let half = comptime!(plan.layout.units() >> (step + 1));
            if place.t < half {
                let partner = exchange[(base + place.t + half) as usize];
                exchange[(base + place.t) as usize] = exchange[(base + place.t) as usize] + partner;
            }
            wait(plan.barrier);
        }
        let sum = exchange[base as usize];
        let length = f32::new(comptime!(plan.layout.n as f32));
        means[0] = sum.extract(0usize) / length;
        means[1] = sum.extract(1usize) / length;
    } else {
        means[0] = 0.0f32;
        means[1] = 0.0f32;
    }
    means
}

/// Folds the sums of a row into its one-sided power at `power[at..]`: a bin and its mirror image make the power of
/// both segments, twice.
#[cube]
pub(super) fn fold(
    sums: &Array<f32>,
    power: &mut Shared<[f32]>,
    at: u32,
    exchange: &mut Shared<[Complex]>,
    tables: &Tables,
    place: &Place,
    #[comptime] plan: Fused,
) {
    let units = comptime!(plan.layout.units());
    let values = comptime!(plan.layout.values);
    let t = place.t;
    let mirrored = (units - t) % units;
    let base = exchange_base(place, plan);
    if comptime!(!plan.shuffles && units > 1) {
        wait(plan.barrier);
        #[unroll]
        for c in 0..values {
            exchange[(base + t + comptime!(c * units)) as usize] = complex(sums[comptime!(c as usize)], 0.0f32);
        }
        wait(plan.barrier);
    }
    #[unroll]
    for c in 0..comptime!(values / 2) {
        // Bin t + units·c is mirrored at units - t of the mirrored c, and unit 0 at its own.
        let own = if comptime!(c == 0) { f32::new(0.0) } else { sums[comptime!((values - c) as usize)] };
        let mut image = own;
        if comptime!(units > 1) {
            let other = if comptime!(plan.shuffles) {
                plane_shuffle(sums[comptime!((values - 1 - c) as usize)], place.lane - t + mirrored)
            } else {
                exchange[(base + mirrored + comptime!((values - 1 - c) * units)) as usize].extract(0usize)
            };
            image = select(t == 0, own, other);
        }
        power[(at + t + comptime!(c * units)) as usize] = (sums[comptime!(c as usize)] + image) * tables.factor;
    }
    if t == 0 {
        power[(at + comptime!(plan.layout.n / 2)) as usize] = sums[comptime!((values / 2) as usize)] * tables.factor;
    }
}
