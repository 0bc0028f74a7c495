//! Values on their way from device memory into a unit's registers.

use cubecl::prelude::*;

use super::arguments::{TransformInput, TransformShape};
use super::roots::root;
use super::sequence::{Sequence, short_transform};
use crate::gpu::complex::{Complex, ComplexArray, complex, times};
use crate::gpu::transform::step::{RowForm, Step};

/// Loads the inputs of a unit's short transforms of the first pass.
#[cube]
pub fn load_inputs(
    z: &mut ComplexArray,
    input: &TransformInput,
    sequence: &Sequence,
    shape: &TransformShape,
    #[comptime] step: Step,
) {
    let radix = comptime!(step.radix(0));
    let span = comptime!(step.span(0));
    #[unroll]
    for q in 0..comptime!(step.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, step);
        let first = sequence.column * comptime!(step.input.column_stride) + j * comptime!(step.input.step);
        #[unroll]
        for m in 0..radix {
            let value = load(input, sequence.row, first + comptime!(m * span * step.input.step), shape, step);
            z.re[comptime!((q * radix + m) as usize)] = value.extract(0usize);
            z.im[comptime!((q * radix + m) as usize)] = value.extract(1usize);
        }
    }
}

/// Value `at` of a complex row; 0 past its end.
#[cube]
fn load(input: &TransformInput, row: u32, at: u32, shape: &TransformShape, #[comptime] step: Step) -> Complex {
    if comptime!(step.chirps_input) {
        // The row of a convolution ends at `points`, and is multiplied by the chirp.
        let mut value = complex(0.0f32, 0.0f32);
        if at < comptime!(step.points) {
            let chirp = input.table[(comptime!(step.chirp_at()) + at) as usize];
            value = times(load_form(input, row, at, shape, step), chirp);
        }
        value
    } else {
        load_form(input, row, at, shape, step)
    }
}

/// Value `at` of a complex row in the form that the step reads.
#[cube]
fn load_form(input: &TransformInput, row: u32, at: u32, shape: &TransformShape, #[comptime] step: Step) -> Complex {
    let first = row * shape.input_stride;
    if comptime!(step.source == RowForm::Complex) {
        complex(real_part(input, first, at, shape, step), imaginary_part(input, first, at, shape, step))
    } else if comptime!(step.source == RowForm::Real) {
        complex(real_part(input, first, at, shape, step), 0.0f32)
    } else if comptime!(step.source == RowForm::SamplePairs) {
        complex(real_part(input, first, 2 * at, shape, step), real_part(input, first, 2 * at + 1, shape, step))
    } else if comptime!(step.source == RowForm::HalfSpectrum) {
        // The upper half is the conjugate of its mirror image.
        let mirrored = at > comptime!(step.points / 2);
        let bin = bin(input, first, select(mirrored, step.points - at, at), shape, step);
        let im = bin.extract(1usize);
        complex(bin.extract(0usize), select(mirrored, -im, im))
    } else {
        unfolded(input, first, at, shape, step)
    }
}

/// Value `k` of the spectrum of the pairs of samples of a row, from the half spectrum X of the row and its mirror
/// image: X(k) + X*(h − k) + i·w·(X(k) − X*(h − k)) with h points and w = exp(−2πi·k/2h).
#[cube]
fn unfolded(input: &TransformInput, first: u32, k: u32, shape: &TransformShape, #[comptime] step: Step) -> Complex {
    let x = bin(input, first, k, shape, step);
    let y = bin(input, first, comptime!(step.points) - k, shape, step);
    let even = complex(x.extract(0usize) + y.extract(0usize), x.extract(1usize) - y.extract(1usize));
    let odd = complex(x.extract(0usize) - y.extract(0usize), x.extract(1usize) + y.extract(1usize));
    let odd = times(odd, root(input, comptime!(step.fold_twiddles_at()), k, comptime!(step.fold_root())));
    complex(even.extract(0usize) - odd.extract(1usize), even.extract(1usize) + odd.extract(0usize))
}

/// Bin of a half spectrum, with its factor.
#[cube]
fn bin(input: &TransformInput, first: u32, bin: u32, shape: &TransformShape, #[comptime] step: Step) -> Complex {
    // The first bin, and the middle one of an even number, are real; the others stand for two.
    let interior = bin > 0 && bin < comptime!(end_of_interior(&step));
    let factor = select(interior, shape.interior, 1.0f32.runtime());
    let of_imaginary = select(interior, if comptime!(step.conjugates) { -factor } else { factor }, 0.0f32.runtime());
    let im = imaginary_part(input, first, bin, shape, step);
    complex(factor * real_part(input, first, bin, shape, step), select(interior, of_imaginary * im, 0.0f32.runtime()))
}

/// The bin after the last one that stands for two.
fn end_of_interior(step: &Step) -> u32 {
    if step.source == RowForm::PairSpectrum { step.points } else { step.points / 2 + 1 }
}

/// Real part of value `at` of a row; 0 past the end of a row that is too short.
#[cube]
fn real_part(input: &TransformInput, first: u32, at: u32, shape: &TransformShape, #[comptime] step: Step) -> f32 {
    if comptime!(step.is_padded) {
        let mut value = 0.0f32;
        if at < shape.samples {
            value = input.re[(first + at) as usize];
        }
        value
    } else {
        input.re[(first + at) as usize]
    }
}

/// Imaginary part of value `at` of a row; 0 past the end of a row that is too short.
#[cube]
fn imaginary_part(input: &TransformInput, first: u32, at: u32, shape: &TransformShape, #[comptime] step: Step) -> f32 {
    if comptime!(step.is_padded) {
        let mut value = 0.0f32;
        if at < shape.samples {
            value = input.im[(first + at) as usize];
        }
        value
    } else {
        input.im[(first + at) as usize]
    }
}
