//! The learned gain: every bin's power from itself and its neighbours, mirrored at the ends.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::buffers::{buffer, empty, floats};
use super::grid;
use super::network::{RUNS, Runs};
use super::sums::reduce;

/// What a bin's power is made of: the bin below, itself, the bin above.
const TAPS: usize = 3;

/// `power` and `into` `[rows, bins]`, `gain` `[bins, 3]`.
pub(super) fn apply(client: &Client, power: &Handle, gain: &Handle, into: &Handle, rows: usize, bins: usize) {
    let (cubes, units) = grid::elements(client, rows * bins);
    let [power, into] = [power, into].map(|handle| floats(handle, rows * bins));
    apply_taps::launch(client, cubes, units, power, floats(gain, TAPS * bins), into, rows as u32, bins as u32);
}

/// The gradient of the weighted sums of squares that power is `factor` and the one-sided 2 times of, `[rows, bins]`, from
/// `grad`, that of the power after the gain; 0 for rows that are not active.
pub(super) fn sum_gradient(
    client: &Client,
    grad: &Handle,
    gain: &Handle,
    factor: &Handle,
    active: &Handle,
    rows: usize,
    bins: usize,
) -> Handle {
    let into = empty(client, rows * bins);
    let (cubes, units) = grid::elements(client, rows * bins);
    spread::launch(
        client,
        cubes,
        units,
        floats(grad, rows * bins),
        floats(gain, TAPS * bins),
        floats(factor, 1),
        buffer::<u32>(active, rows),
        floats(&into, rows * bins),
        rows as u32,
        bins as u32,
    );
    into
}

/// The gain's gradient `[bins, 3]`, added to what is there if `accumulate`.
#[expect(clippy::too_many_arguments, reason = "buffers and their shape")]
pub(super) fn gain_gradient(
    client: &Client,
    grad: &Handle,
    power: &Handle,
    active: &Handle,
    into: &Handle,
    rows: usize,
    bins: usize,
    accumulate: bool,
) {
    let runs = Runs::of(rows, TAPS * bins, RUNS);
    let partial = empty(client, runs.count * TAPS * bins);
    let (cubes, units) = grid::elements(client, runs.count * bins);
    sum_taps::launch(
        client,
        cubes,
        units,
        floats(grad, rows * bins),
        floats(power, rows * bins),
        buffer::<u32>(active, rows),
        floats(&partial, runs.count * TAPS * bins),
        rows as u32,
        bins as u32,
        runs.count as u32,
        runs.length as u32,
    );
    reduce(client, partial, runs.count, TAPS * bins, into, accumulate);
}

/// The bins below and above.
#[cube]
fn neighbours(bin: u32, bins: u32) -> (u32, u32) {
    (select(bin == 0, 1u32, bin - select(bin == 0, 0u32, 1u32)), select(bin + 1 == bins, bins - 2, bin + 1))
}

#[cube(launch)]
fn apply_taps(power: &[f32], gain: &[f32], into: &mut [f32], rows: u32, bins: u32) {
    let place = ABSOLUTE_POS as u32;
    if place >= rows * bins {
        terminate!();
    }
    let (row, bin) = (place / bins * bins, place % bins);
    let (below, above) = neighbours(bin, bins);
    let taps = (comptime!(TAPS as u32) * bin) as usize;
    into[place as usize] = gain[taps] * power[(row + below) as usize]
        + gain[taps + 1] * power[place as usize]
        + gain[taps + 2] * power[(row + above) as usize];
}

#[cube(launch)]
fn spread(grad: &[f32], gain: &[f32], factor: &[f32], active: &[u32], into: &mut [f32], rows: u32, bins: u32) {
    let place = ABSOLUTE_POS as u32;
    if place >= rows * bins {
        terminate!();
    }
    let (row, bin) = (place / bins, place % bins);
    let mut sum = 0.0f32;
    if active[row as usize] != 0 {
        let last = bins - 1;
        sum = tap(grad, gain, row * bins, bin, 1u32);
        if bin < last {
            sum += tap(grad, gain, row * bins, bin + 1, 0u32);
        }
        if bin > 0 {
            sum += tap(grad, gain, row * bins, bin - 1, 2u32);
        }
        if bin == 1 {
            sum += tap(grad, gain, row * bins, 0u32, 0u32);
        }
        if bin + 1 == last {
            sum += tap(grad, gain, row * bins, last, 2u32);
        }
        sum *= factor[0];
        if bin > 0 && bin < last {
            sum *= 2.0f32;
        }
    }
    into[place as usize] = sum;
}

/// What `tap` of `bin` passes on.
#[cube]
fn tap(grad: &[f32], gain: &[f32], row: u32, bin: u32, tap: u32) -> f32 {
    grad[(row + bin) as usize] * gain[(comptime!(TAPS as u32) * bin + tap) as usize]
}

#[cube(launch)]
fn sum_taps(grad: &[f32], power: &[f32], active: &[u32], sums: &mut [f32], rows: u32, bins: u32, runs: u32, run: u32) {
    let place = ABSOLUTE_POS as u32;
    if place >= runs * bins {
        terminate!();
    }
    let (first, bin) = (place / bins * run, place % bins);
    let (below, above) = neighbours(bin, bins);
    let mut from_below = 0.0f32;
    let mut from_self = 0.0f32;
    let mut from_above = 0.0f32;
    for row in first..min(first + run, rows) {
        if active[row as usize] != 0 {
            let g = grad[(row * bins + bin) as usize];
            from_below += g * power[(row * bins + below) as usize];
            from_self += g * power[(row * bins + bin) as usize];
            from_above += g * power[(row * bins + above) as usize];
        }
    }
    let at = comptime!(TAPS) * place as usize;
    sums[at] = from_below;
    sums[at + 1] = from_self;
    sums[at + 2] = from_above;
}
