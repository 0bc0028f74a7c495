//! Values on their way from device memory into a unit's registers.

use cubecl::prelude::*;

use super::sequence::{
    Sequence, fold_twiddle, is_mode, mode_of, padded, read_exchange, root, sample, sequence_at, short_transform,
};
use super::{TransformInput, TransformInputExpand, TransformShape};
use crate::gpu::complex::{Complex, ComplexValues, complex, times};
use crate::gpu::transform::launch_plan::{RowForm, TransformLaunchPlan};

/// Loads the inputs of a unit's short transforms of the first pass.
#[cube]
pub fn load_inputs(
    z: &mut ComplexValues,
    input: &TransformInput,
    table: &[Complex],
    sequence: &Sequence,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    let radix = comptime!(plan.radix(0));
    let span = comptime!(plan.span(0));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        let first = sequence.column * comptime!(plan.input.column_stride) + j * comptime!(plan.input.stride);
        #[unroll]
        for m in 0..radix {
            // Input m of short transform j of the first pass is value j + m·span of the sequence.
            let value = if comptime!(plan.input_modes > 0) {
                load_mode(input, table, sequence, j + comptime!(m * span), shape, plan)
            } else {
                load(input, table, sequence.row, first + comptime!(m * span * plan.input.stride), shape, plan)
            };
            z.set(comptime!((q * radix + m) as usize), value.extract(0usize), value.extract(1usize));
        }
    }
}

/// The same through the exchange memory.
#[cube]
pub fn load_staged(
    z: &mut ComplexValues,
    exchange: &mut Shared<[Complex]>,
    input: &TransformInput,
    table: &[Complex],
    sequence: &Sequence,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    let n = comptime!(plan.layout.n);
    let step = comptime!(plan.layout.cube_units());
    let values = comptime!(plan.layout.sequences * n);
    // All units of the cube take the values of all its sequences in turn: adjacent units read adjacent values.
    #[unroll]
    for i in 0..comptime!(values.div_ceil(step)) {
        let place = UNIT_POS + comptime!(i * step);
        if comptime!((i + 1) * step <= values) || place < values {
            let own = sequence_at(place / n, 0u32.runtime(), shape.rows, plan);
            let at = place % n;
            exchange[(own.base + padded(at, plan)) as usize] = load(input, table, own.row, at, shape, plan);
        }
    }
    // Units read the inputs of their short transforms once all values are there.
    sync_cube();
    read_exchange(z, exchange, sequence, 0u32, plan);
}

/// Bin `k` of a sequence that is read from its modes; 0 for all other bins.
#[cube]
fn load_mode(
    input: &TransformInput,
    table: &[Complex],
    sequence: &Sequence,
    k: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) -> Complex {
    let mut value = complex(0.0f32, 0.0f32);
    if is_mode(k, plan.input_modes, plan) {
        let mode = mode_of(k, plan.input_modes, plan);
        let at = sequence.column * comptime!(plan.input.column_stride) + mode * comptime!(plan.input.stride);
        value = load(input, table, sequence.row, at, shape, plan);
    }
    value
}

/// Value `at` of a complex row; 0 past its end.
#[cube]
fn load(
    input: &TransformInput,
    table: &[Complex],
    row: u32,
    at: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) -> Complex {
    if comptime!(plan.chirps_input) {
        // The row of a convolution ends at `points`, and is multiplied by the chirp.
        let mut value = complex(0.0f32, 0.0f32);
        if at < comptime!(plan.points) {
            let chirp = table[(comptime!(plan.chirp_at()) + at) as usize];
            value = times(load_form(input, table, row, at, shape, plan), chirp);
        }
        value
    } else {
        load_form(input, table, row, at, shape, plan)
    }
}

/// Value `at` of a complex row in the form that the launch reads.
#[cube]
fn load_form(
    input: &TransformInput,
    table: &[Complex],
    row: u32,
    at: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) -> Complex {
    let first = row * shape.input_stride;
    if comptime!(plan.source == RowForm::Complex) {
        complex_value(input, first, at, shape, plan)
    } else if comptime!(plan.source == RowForm::Exchanged) {
        let value = complex_value(input, first, at, shape, plan);
        complex(value.extract(1usize), value.extract(0usize))
    } else if comptime!(plan.source == RowForm::Real) {
        complex(real_value(input, first, at, shape, plan), 0.0f32)
    } else if comptime!(plan.source == RowForm::SamplePairs) {
        match input {
            TransformInput::Pairs(pairs) => pair(pairs, first, at, shape, plan),
            TransformInput::Parts(rows) => {
                let (even, odd) = (sample(2 * at, plan), sample(2 * at + 1, plan));
                complex(part(&rows.re, first, even, shape, plan), part(&rows.re, first, odd, shape, plan))
            }
        }
    } else if comptime!(plan.source == RowForm::HalfSpectrum) {
        // The upper half is the conjugate of its mirror image.
        let mirrored = at > comptime!(plan.points / 2);
        let bin = bin(input, table, first, select(mirrored, plan.points - at, at), shape, plan);
        let im = bin.extract(1usize);
        complex(bin.extract(0usize), select(mirrored, -im, im))
    } else {
        // A half spectrum of pairs, unfolded from a bin and its mirror image.
        let x = bin(input, table, first, at, shape, plan);
        let y = bin(input, table, first, comptime!(plan.points) - at, shape, plan);
        unfolded(x, y, fold_twiddle(table, comptime!(plan.fold_twiddles_at()), at, plan.fold()))
    }
}

/// Bin of a half spectrum, with its factor.
#[cube]
pub fn bin(
    input: &TransformInput,
    table: &[Complex],
    first: u32,
    bin: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) -> Complex {
    // The first bin, and the middle one of an even number, are real; the others stand for two.
    let interior = bin > 0 && bin < comptime!(end_of_interior(&plan));
    if comptime!(plan.is_cosine) {
        // Half of exp(−iπk/2n)·(y_k + i·y_(n−k)) of n coefficients.
        let image = select(bin > 0, comptime!(2 * plan.points).runtime() - bin, 0u32.runtime());
        let (y, z) = (real_value(input, first, bin, shape, plan), real_value(input, first, image, shape, plan));
        let w = root(table, comptime!(plan.fold_twiddles_at()), bin, comptime!(plan.fold_root()));
        let turned = 0.5f32 * (y * w.extract(0usize) - z * w.extract(1usize));
        let im = 0.5f32 * (y * w.extract(1usize) + z * w.extract(0usize));
        complex(select(bin > 0, turned, shape.interior * y), select(interior, im, 0.0f32.runtime()))
    } else {
        let factor = select(interior, shape.interior, 1.0f32.runtime());
        let of_imaginary = if comptime!(plan.conjugates) { -factor } else { factor };
        let value = complex_value(input, first, bin, shape, plan);
        let im = select(interior, of_imaginary * value.extract(1usize), 0.0f32.runtime());
        complex(factor * value.extract(0usize), im)
    }
}

/// Value k of the spectrum of the pairs of samples of a row, from bin x = X(k) of the half spectrum of the row, y = X(h
/// − k) and w = exp(−2πi·k/2h) with h points: X(k) + X*(h − k) + i·w·(X(k) − X*(h − k)).
#[cube]
pub fn unfolded(x: Complex, y: Complex, w: Complex) -> Complex {
    let even = complex(x.extract(0usize) + y.extract(0usize), x.extract(1usize) - y.extract(1usize));
    let odd = complex(x.extract(0usize) - y.extract(0usize), x.extract(1usize) + y.extract(1usize));
    let odd = times(odd, w);
    complex(even.extract(0usize) - odd.extract(1usize), even.extract(1usize) + odd.extract(0usize))
}

/// The bin after the last one that stands for two.
fn end_of_interior(plan: &TransformLaunchPlan) -> u32 {
    if plan.source == RowForm::PairSpectrum { plan.points } else { plan.points / 2 + 1 }
}

/// Value `at` of a row of complex values; 0 past the end of a row that is too short.
#[cube]
fn complex_value(
    input: &TransformInput,
    first: u32,
    at: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) -> Complex {
    match input {
        TransformInput::Pairs(pairs) => pair(pairs, first, at, shape, plan),
        TransformInput::Parts(rows) => {
            complex(part(&rows.re, first, at, shape, plan), part(&rows.im, first, at, shape, plan))
        }
    }
}

/// Value `at` of a row of real values, which are never read in pairs; 0 past the end of a row that is too short.
#[cube]
fn real_value(
    input: &TransformInput,
    first: u32,
    at: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) -> f32 {
    match input {
        TransformInput::Pairs(_pairs) => 0.0f32.runtime(),
        TransformInput::Parts(rows) => part(&rows.re, first, at, shape, plan),
    }
}

/// Value `at` of one part of a row; 0 past the end of a row that is too short.
#[cube]
fn part(values: &[f32], first: u32, at: u32, shape: &TransformShape, #[comptime] plan: TransformLaunchPlan) -> f32 {
    if comptime!(plan.is_padded) {
        let mut value = 0.0f32;
        if at < shape.samples {
            value = values[(first + at) as usize];
        }
        value
    } else {
        values[(first + at) as usize]
    }
}

/// Pair `at` of a row; 0 past the end of a row that is too short.
#[cube]
fn pair(
    values: &[Complex],
    first: u32,
    at: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) -> Complex {
    if comptime!(plan.is_padded) {
        let mut value = complex(0.0f32, 0.0f32);
        if at < shape.samples {
            value = values[(first + at) as usize];
        }
        value
    } else {
        values[(first + at) as usize]
    }
}
