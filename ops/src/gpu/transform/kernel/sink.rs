//! Values on their way from a unit's registers to device memory.

use cubecl::prelude::*;

use super::arguments::{TransformInput, TransformOutput, TransformOutputExpand, TransformShape};
use super::roots::root;
use super::sequence::{Sequence, has_short_transform, short_transform};
use crate::gpu::complex::{Complex, ComplexArray, complex, times};
use crate::gpu::short_transform::output_position;
use crate::gpu::transform::step::{RowForm, Step};

/// Stores the outputs of a unit's short transforms of the last pass.
#[cube]
pub fn store_outputs(
    z: &ComplexArray,
    input: &TransformInput,
    output: &mut TransformOutput,
    sequence: &Sequence,
    shape: &TransformShape,
    #[comptime] step: Step,
) {
    let pass = comptime!(step.passes() - 1);
    let radix = comptime!(step.radix(pass));
    let span = comptime!(step.span(pass));
    #[unroll]
    for q in 0..comptime!(step.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, step);
        let is_present = sequence.is_present && has_short_transform(sequence.t, q, span, step);
        let first = sequence.column * comptime!(step.output.column_stride) + j * comptime!(step.output.step);
        #[unroll]
        for m in 0..radix {
            let at = first + comptime!(m * span * step.output.step);
            let held = comptime!((q * radix + output_position(m, radix)) as usize);
            let value = complex(z.re[held], z.im[held]);
            let value = finished(value, input, sequence.column, j + comptime!(m * span), at, step);
            // A convolution is longer than the row, and a half spectrum shorter.
            let is_kept = if comptime!(kept(&step) < step.layout.n * step.columns) {
                is_present && at < comptime!(kept(&step))
            } else {
                is_present
            };
            if is_kept {
                store(value, output, sequence.row, at, shape, step);
            }
        }
    }
}

/// Values of a row that are written.
fn kept(step: &Step) -> u32 {
    if step.sink == RowForm::HalfSpectrum {
        step.points / 2 + 1
    } else if step.chirps_output {
        step.points
    } else {
        step.layout.n * step.columns
    }
}

/// Output `k` of a sequence, the value `at` of its row, with the factors of the step.
#[cube]
pub fn finished(
    value: Complex,
    input: &TransformInput,
    column: u32,
    k: u32,
    at: u32,
    #[comptime] step: Step,
) -> Complex {
    if comptime!(step.twiddle_root > 0) {
        times(value, root(input, comptime!(step.outer_twiddles_at()), column * k, step.twiddle_root))
    } else if comptime!(step.chirps_output) {
        let within = min(at, comptime!(step.points - 1).runtime());
        let chirp = input.table[(comptime!(step.chirp_at()) + within) as usize];
        times(complex(value.extract(1usize), value.extract(0usize)), chirp)
    } else {
        value
    }
}

/// Stores value `at` of a row in the form that the step writes.
#[cube]
fn store(
    value: Complex,
    output: &mut TransformOutput,
    row: u32,
    at: u32,
    shape: &TransformShape,
    #[comptime] step: Step,
) {
    let (re, im) = (value.extract(0usize) * shape.scale, value.extract(1usize) * shape.scale);
    match output {
        TransformOutput::Complex(rows) => {
            let to = (row * shape.output_stride + at) as usize;
            if comptime!(step.sink == RowForm::HalfSpectrum) {
                // The first bin is real, and the others stand for two.
                let im = if comptime!(step.conjugates) { -im } else { im };
                rows.re[to] = re * select(at > 0, shape.interior, 1.0f32.runtime());
                rows.im[to] = select(at > 0, im * shape.interior, 0.0f32.runtime());
            } else {
                rows.re[to] = re;
                rows.im[to] = im;
            }
        }
        TransformOutput::Real(rows) => {
            if comptime!(step.sink == RowForm::SamplePairs) {
                let to = row * shape.output_stride + 2 * at;
                rows[to as usize] = re;
                rows[(to + 1) as usize] = im;
            } else {
                rows[(row * shape.output_stride + at) as usize] = re;
            }
        }
    }
}
