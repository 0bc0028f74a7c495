//! Welch power of one row: its samples on their way from device memory into the transform of a pair of segments, and its
//! power in shared memory.

use cubecl::prelude::*;

use super::gain::{add_products, apply_gain, fold_products};
use super::team::{TeamIndex, TeamMemory, UnitTables, bin_position, exchange_base, team_sequence};
use super::{LaunchShape, WelchInput};
use crate::gpu::complex::{ComplexValues, complex};
use crate::gpu::signal::sample;
use crate::gpu::transform::kernel::{transform_passes, wait};
use crate::gpu::transform::launch_plan::TableStore;
use crate::gpu::welch::plan::FusedWelchPlan;

/// Offset of this unit's first sample of a row; past the last row, of the last row.
#[cube]
pub fn row_start(row: u32, shape: &LaunchShape, unit: &TeamIndex) -> usize {
    (min(row, shape.rows - 1) * shape.frame + shape.first + unit.t) as usize
}

#[cube]
pub fn load_first_pair(
    memory: &mut TeamMemory,
    input: &WelchInput,
    start: usize,
    hop: u32,
    #[comptime] plan: FusedWelchPlan,
) {
    let to = comptime!(if plan.segments == 1 { plan.values() } else { samples_per_unit(&plan) as u32 });
    load_samples(memory, input, start, hop, 0u32, to, plan);
}

/// The squares of one row, summed over its segments, and the products of neighbours where the gain takes them.
#[derive(CubeType)]
pub struct RowSums {
    /// Value c is the square of bin t + units·c of the paired transforms.
    pub squares: Array<f32>,
    /// Value c is the product of that bin with the bin above.
    pub products: Array<f32>,
}

/// The sums of one row.
///
/// With half overlap, the samples of the next pair are loaded as soon as those of a pair are windowed, and at the end
/// those of the row that starts at `next`, so that the loads overlap the transforms.
#[cube]
pub fn sum_segments(
    memory: &mut TeamMemory,
    input: &WelchInput,
    tables: &UnitTables,
    start: usize,
    next: usize,
    hop: u32,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) -> RowSums {
    let values = comptime!(plan.values());
    let pairs = comptime!(plan.segments / 2);
    let odd = comptime!(plan.segments % 2 == 1);
    let mut sums = RowSums {
        squares: Array::<f32>::new(comptime!(values as usize)),
        products: Array::<f32>::new(comptime!(if plan.has_products() { values as usize } else { 1 })),
    };
    #[unroll]
    for c in 0..values {
        sums.squares[comptime!(c as usize)] = 0.0f32;
        if comptime!(plan.has_products()) {
            sums.products[comptime!(c as usize)] = 0.0f32;
        }
    }
    // Two real segments are one complex transform, whose squares sum to those of both once they are folded.
    for pair in 0..pairs {
        if comptime!(!plan.half_overlap) {
            let at = start + (2 * pair * hop) as usize;
            load_samples(memory, input, at, hop, 0u32, comptime!(2 * values), plan);
        }
        let means = segment_means(memory, unit, true, plan);
        let mut z = ComplexValues::none();
        apply_window(&mut z, &*memory, input, tables, unit, &means, true, plan);
        // Prefetch the next pair, the odd segment, or the next row.
        if comptime!(plan.half_overlap) {
            if pair + 1 < pairs {
                let at = start + ((pair + 1) * comptime!(plan.n())) as usize;
                keep_shared_samples(memory, plan);
                let to = comptime!(samples_per_unit(&plan) as u32);
                load_samples(memory, input, at, hop, comptime!(values / 2), to, plan);
            } else if comptime!(odd) {
                let at = start + ((pair + 1) * comptime!(plan.n())) as usize;
                keep_shared_samples(memory, plan);
                load_samples(memory, input, at, hop, comptime!(values / 2), values, plan);
            } else {
                load_first_pair(memory, input, next, hop, plan);
            }
        }
        add_spectrum(&mut sums, &mut z, memory, input, tables, unit, plan);
    }
    // The last segment of an odd number, with an imaginary part of 0.
    if comptime!(odd) {
        if comptime!(!plan.half_overlap) {
            let at = start + (comptime!(2 * pairs) * hop) as usize;
            load_samples(memory, input, at, hop, 0u32, values, plan);
        }
        let means = segment_means(memory, unit, false, plan);
        let mut z = ComplexValues::none();
        apply_window(&mut z, &*memory, input, tables, unit, &means, false, plan);
        if comptime!(plan.half_overlap) {
            load_first_pair(memory, input, next, hop, plan);
        }
        add_spectrum(&mut sums, &mut z, memory, input, tables, unit, plan);
    }
    sums
}

/// Moves the samples that the next pair shares with this one to their registers in the next pair.
#[cube]
fn keep_shared_samples(memory: &mut TeamMemory, #[comptime] plan: FusedWelchPlan) {
    #[unroll]
    for m in 0..comptime!(plan.values() / 2) {
        memory.samples[comptime!(m as usize)] = memory.samples[comptime!((m + plan.values()) as usize)];
    }
}

/// Transforms the values of a row, and adds the squares and the products of neighbours of the spectrum.
#[cube]
fn add_spectrum(
    sums: &mut RowSums,
    z: &mut ComplexValues,
    memory: &mut TeamMemory,
    input: &WelchInput,
    tables: &UnitTables,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let row = team_sequence(unit, plan);
    transform_passes(z, &mut memory.exchange, &input.twiddles, &tables.twiddles, &row, &row, 0u32, true, plan.launch);
    #[unroll]
    for c in 0..comptime!(plan.values()) {
        let at = comptime!(bin_position(c, &plan));
        let sum = sums.squares[comptime!(c as usize)];
        sums.squares[comptime!(c as usize)] = fma(z.im[at], z.im[at], fma(z.re[at], z.re[at], sum));
    }
    if comptime!(plan.has_products()) {
        add_products(&mut sums.products, &*z, memory, unit, plan);
    }
}

/// The means of a pair's segments, or zeros without detrending.
#[cube]
fn segment_means(
    memory: &mut TeamMemory,
    unit: &TeamIndex,
    #[comptime] pair: bool,
    #[comptime] plan: FusedWelchPlan,
) -> Array<f32> {
    let mut means = Array::<f32>::new(2usize);
    if comptime!(plan.detrend) {
        // The sums of the unit's own samples.
        let mut first = memory.samples[0];
        let mut second = memory.samples[comptime!(if pair { second_segment_at(0, &plan) } else { 0 })];
        #[unroll]
        for m in 1..comptime!(plan.values()) {
            first += memory.samples[comptime!(m as usize)];
            second += memory.samples[comptime!(if pair { second_segment_at(m, &plan) } else { m as usize })];
        }
        // A tree over the units of the row, through the exchange memory.
        let base = exchange_base(unit, plan);
        wait(plan.launch.barrier);
        memory.exchange[(base + unit.t) as usize] = complex(first, second);
        wait(plan.launch.barrier);
        let steps = comptime!(plan.units().trailing_zeros());
        #[unroll]
        for step in 0..steps {
            let half = comptime!(plan.units() >> (step + 1));
            if unit.t < half {
                let partner = memory.exchange[(base + unit.t + half) as usize];
                memory.exchange[(base + unit.t) as usize] = memory.exchange[(base + unit.t) as usize] + partner;
            }
            wait(plan.launch.barrier);
        }
        let sum = memory.exchange[base as usize];
        let length = f32::new(comptime!(plan.n() as f32));
        means[0] = sum.extract(0usize) / length;
        means[1] = sum.extract(1usize) / length;
    } else {
        means[0] = 0.0f32;
        means[1] = 0.0f32;
    }
    means
}

/// Folds the squares of a row's paired transforms to one-sided power, at `memory.power[at..]`: the sum of a bin and its
/// mirror image is twice the power of both segments. Then the gain is applied, if there is one.
#[cube]
pub fn fold_one_sided(
    memory: &mut TeamMemory,
    sums: &RowSums,
    at: u32,
    tables: &UnitTables,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let units = comptime!(plan.units());
    let values = comptime!(plan.values());
    let squares = &sums.squares;
    let t = unit.t;
    let mirrored = (units - t) % units;
    let base = exchange_base(unit, plan);
    // Where the units of a row have no shuffles, they read mirror images from the exchange memory.
    if comptime!(!plan.shuffles && units > 1) {
        wait(plan.launch.barrier);
        #[unroll]
        for c in 0..values {
            memory.exchange[(base + t + comptime!(c * units)) as usize] =
                complex(squares[comptime!(c as usize)], 0.0f32);
        }
        wait(plan.launch.barrier);
    }
    // With a gain, the unit's bins t + units·c, and behind them the Nyquist bin, which is unit 0's, wait for it;
    // without one they are stored at once.
    let mut power = Array::<f32>::new(comptime!(if plan.gain_taps > 0 { values as usize / 2 + 1 } else { 1 }));
    #[unroll]
    for c in 0..comptime!(values / 2) {
        // The mirror image of bin t + units·c is value values − 1 − c of unit units − t; of unit 0, its own value
        // values − c.
        let own = if comptime!(c == 0) { f32::new(0.0f32) } else { squares[comptime!((values - c) as usize)] };
        let mut image = own;
        if comptime!(units > 1) {
            let other = if comptime!(plan.shuffles) {
                plane_shuffle(squares[comptime!((values - 1 - c) as usize)], unit.lane - t + mirrored)
            } else {
                memory.exchange[(base + mirrored + comptime!((values - 1 - c) * units)) as usize].extract(0usize)
            };
            image = select(t == 0, own, other);
        }
        let own_power = (squares[comptime!(c as usize)] + image) * tables.factor;
        if comptime!(plan.gain_taps > 0) {
            power[comptime!(c as usize)] = own_power;
        } else {
            memory.power[(at + t + comptime!(c * units)) as usize] = own_power;
        }
    }
    // The Nyquist bin is its own mirror image.
    let half = comptime!(values as usize / 2);
    let nyquist = squares[half] * tables.factor;
    if comptime!(plan.gain_taps > 0) {
        power[half] = nyquist;
        let products = fold_products(&sums.products, memory, tables.factor, unit, plan);
        apply_gain(&mut power, &products, memory, at, unit, plan);
    } else if t == 0 {
        memory.power[(at + comptime!(plan.n() / 2)) as usize] = nyquist;
    }
}

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
