//! The learned gain: the power of every bin from the bin below, the bin itself and the bin above, mirrored at the ends.

use cubecl::prelude::*;

use crate::gpu::neighbours::neighbours;
use crate::gpu::reduce::RowBlockShape;
use crate::ops::GAIN_TAPS;

/// Applies the gain `[bins, 3]` to power `[rows, bins]`: a unit per bin.
#[cube(launch)]
pub fn apply_gain(power: &[f32], gain: &[f32], into: &mut [f32], rows: u32, bins: u32) {
    let at = ABSOLUTE_POS as u32;
    if at >= rows * bins {
        terminate!();
    }
    // Adjacent units take adjacent bins, so each power is read from memory once and twice from a cache.
    let (row, bin) = (at / bins * bins, at % bins);
    let (below, above) = neighbours(bin, bins);
    let taps = (comptime!(GAIN_TAPS as u32) * bin) as usize;
    into[at as usize] = gain[taps] * power[(row + below) as usize]
        + gain[taps + 1] * power[at as usize]
        + gain[taps + 2] * power[(row + above) as usize];
}

/// The adjoint of the gain, times the scaling of power: a unit per bin sums over the bins whose taps read it.
#[cube(launch)]
pub fn gain_adjoint(
    grad: &[f32],
    gain: &[f32],
    factor: &[f32],
    active: &[u32],
    into: &mut [f32],
    rows: u32,
    bins: u32,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= rows * bins {
        terminate!();
    }
    let (row, bin) = (at / bins, at % bins);
    let mut sum = 0.0f32;
    // A row without a gradient gives zeros, also where a gain is not finite.
    if active[row as usize] != 0 {
        let last = bins - 1;
        // The bin's own tap, the lower tap of the bin above, the upper tap of the bin below.
        sum = tap(grad, gain, row * bins, bin, 1u32);
        if bin < last {
            sum += tap(grad, gain, row * bins, bin + 1, 0u32);
        }
        if bin > 0 {
            sum += tap(grad, gain, row * bins, bin - 1, 2u32);
        }
        // The mirrored taps: the first bin's lower tap reads bin 1, the last bin's upper tap the bin before it.
        if bin == 1 {
            sum += tap(grad, gain, row * bins, 0u32, 0u32);
        }
        if bin + 1 == last {
            sum += tap(grad, gain, row * bins, last, 2u32);
        }
        // The scaling, and twice the interior bins.
        sum *= factor[0];
        if bin > 0 && bin < last {
            sum *= 2.0f32;
        }
    }
    into[at as usize] = sum;
}

/// The product of the gradient of `bin` and its tap `tap`.
#[cube]
fn tap(grad: &[f32], gain: &[f32], row: u32, bin: u32, tap: u32) -> f32 {
    grad[(row + bin) as usize] * gain[(comptime!(GAIN_TAPS as u32) * bin + tap) as usize]
}

/// The gain's gradient from each block of rows, `[blocks, bins, 3]`: a unit per bin of a block.
#[cube(launch)]
pub fn gain_sums(
    grad: &[f32],
    power: &[f32],
    active: &[u32],
    sums: &mut [f32],
    rows: u32,
    bins: u32,
    blocks: RowBlockShape,
) {
    let place = ABSOLUTE_POS as u32;
    if place >= blocks.count * bins {
        terminate!();
    }
    let (first, bin) = (place / bins * blocks.length, place % bins);
    // The gradient of a tap is the sum over rows of the bin's gradient times the power that the tap reads. Each unit
    // adds the rows of its block in order, so that the bits of the sum do not vary.
    let (below, above) = neighbours(bin, bins);
    let mut from_below = 0.0f32;
    let mut from_self = 0.0f32;
    let mut from_above = 0.0f32;
    for row in first..min(first + blocks.length, rows) {
        // A row without a gradient adds nothing, also where its power is not finite.
        if active[row as usize] != 0 {
            let g = grad[(row * bins + bin) as usize];
            from_below += g * power[(row * bins + below) as usize];
            from_self += g * power[(row * bins + bin) as usize];
            from_above += g * power[(row * bins + above) as usize];
        }
    }
    let at = comptime!(GAIN_TAPS) * place as usize;
    sums[at] = from_below;
    sums[at + 1] = from_self;
    sums[at + 2] = from_above;
}
