//! Values on their way from a unit's registers to device memory.

use cubecl::prelude::*;

use super::sequence::{
    Sequence, has_short_transform, is_mode, mode_of, padded, root, sample, sequence_at, short_transform, write_exchange,
};
use super::{TransformOutput, TransformOutputExpand, TransformShape};
use crate::gpu::complex::{Complex, ComplexValues, complex, times};
use crate::gpu::short_transform::output_position;
use crate::gpu::transform::launch_plan::{RowForm, TransformLaunchPlan};

/// Stores the outputs of a unit's short transforms of the last pass.
#[cube]
pub fn store_outputs(
    z: &ComplexValues,
    table: &[Complex],
    output: &mut TransformOutput,
    sequence: &Sequence,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    let pass = comptime!(plan.passes() - 1);
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        let is_present = sequence.is_present && has_short_transform(sequence.t, q, span, plan);
        // Output m of short transform j of the last pass is value j + m·span of the sequence.
        let first = sequence.column * comptime!(plan.output.column_stride) + j * comptime!(plan.output.stride);
        #[unroll]
        for m in 0..radix {
            let k = j + comptime!(m * span);
            // Place in the row: of a mode among the modes that are kept, else of the value itself.
            let at = if comptime!(plan.output_modes > 0) {
                let mode = mode_of(k, plan.output_modes, plan);
                sequence.column * comptime!(plan.output.column_stride) + mode * comptime!(plan.output.stride)
            } else {
                first + comptime!(m * span * plan.output.stride)
            };
            let held = comptime!((q * radix + output_position(m, radix)) as usize);
            let value = complex(z.re[held], z.im[held]);
            let place = OutputPlace { k, at, is_present };
            store_output(value, table, output, sequence, &place, shape, plan);
        }
    }
}

/// The same through the exchange memory.
#[cube]
pub fn store_staged(
    z: &ComplexValues,
    exchange: &mut Shared<[Complex]>,
    table: &[Complex],
    output: &mut TransformOutput,
    sequence: &Sequence,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    // All units have read what they need of the exchange before.
    sync_cube();
    write_exchange(z, exchange, sequence, comptime!(plan.passes() - 1), plan);
    sync_cube();
    // All units of the cube take the values of all its sequences in turn: adjacent units store adjacent values.
    let n = comptime!(plan.layout.n);
    let step = comptime!(plan.layout.cube_units());
    let values = comptime!(plan.layout.sequences * n);
    #[unroll]
    for i in 0..comptime!(values.div_ceil(step)) {
        let place = UNIT_POS + comptime!(i * step);
        if comptime!((i + 1) * step <= values) || place < values {
            let own = sequence_at(place / n, 0u32.runtime(), shape.rows, plan);
            let k = place % n;
            let value = exchange[(own.base + padded(k, plan)) as usize];
            let place = OutputPlace { k, at: k, is_present: own.is_present };
            store_output(value, table, output, &own, &place, shape, plan);
        }
    }
}

/// Place of an output.
#[derive(CubeType)]
struct OutputPlace {
    /// Its number in the sequence.
    k: u32,
    /// Its number in the row.
    at: u32,
    is_present: bool,
}

/// Stores an output of a sequence, if the launch writes it.
#[cube]
fn store_output(
    value: Complex,
    table: &[Complex],
    output: &mut TransformOutput,
    sequence: &Sequence,
    place: &OutputPlace,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    let value = finished(value, table, sequence.column, place.k, place.at, plan);
    // A convolution is longer than the row, a half spectrum shorter, and of that the lowest bins may be kept, or of a
    // column its modes.
    let is_kept = if comptime!(plan.output_modes > 0) {
        place.is_present && is_mode(place.k, plan.output_modes, plan)
    } else if comptime!(plan.is_cut) {
        place.is_present && place.at < shape.kept
    } else if comptime!(kept(&plan) < plan.layout.n * plan.columns) {
        place.is_present && place.at < comptime!(kept(&plan))
    } else {
        place.is_present
    };
    if is_kept {
        store(value, output, sequence.row, place.at, shape, plan);
    }
}

/// Values of a row that are written.
fn kept(plan: &TransformLaunchPlan) -> u32 {
    if plan.sink == RowForm::HalfSpectrum {
        plan.points / 2 + 1
    } else if plan.chirps_output {
        plan.points
    } else {
        plan.layout.n * plan.columns
    }
}

/// Output `k` of a sequence, the value `at` of its row, with the factors of the launch.
#[cube]
pub fn finished(
    value: Complex,
    table: &[Complex],
    column: u32,
    k: u32,
    at: u32,
    #[comptime] plan: TransformLaunchPlan,
) -> Complex {
    if comptime!(plan.twiddle_root > 0) {
        // The twiddle between the columns and the rows of a long transform.
        times(value, root(table, comptime!(plan.outer_twiddles_at()), column * k, plan.twiddle_root))
    } else if comptime!(plan.chirps_output) {
        // The end of Bluestein's convolution, whose inverse transform has exchanged the parts.
        let within = min(at, comptime!(plan.points - 1).runtime());
        let chirp = table[(comptime!(plan.chirp_at()) + within) as usize];
        times(complex(value.extract(1usize), value.extract(0usize)), chirp)
    } else {
        value
    }
}

/// Stores value `at` of a row in the form that the launch writes.
#[cube]
fn store(
    value: Complex,
    output: &mut TransformOutput,
    row: u32,
    at: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    let (re, im) = (value.extract(0usize) * shape.scale, value.extract(1usize) * shape.scale);
    let value = if comptime!(plan.sink == RowForm::HalfSpectrum) {
        // The first bin is real, and the others stand for two.
        let im = if comptime!(plan.conjugates) { -im } else { im };
        let interior = select(at > 0, shape.interior, 1.0f32.runtime());
        complex(re * interior, select(at > 0, im * shape.interior, 0.0f32.runtime()))
    } else if comptime!(plan.sink == RowForm::Exchanged) {
        complex(im, re)
    } else {
        complex(re, im)
    };
    let first = row * shape.output_stride;
    match output {
        TransformOutput::Complex(rows) => {
            rows.re[(first + at) as usize] = value.extract(0usize);
            rows.im[(first + at) as usize] = value.extract(1usize);
        }
        TransformOutput::Real(rows) => {
            if comptime!(plan.sink == RowForm::SamplePairs) {
                rows[(first + sample(2 * at, plan)) as usize] = re;
                rows[(first + sample(2 * at + 1, plan)) as usize] = im;
            } else {
                rows[(first + at) as usize] = re;
            }
        }
        TransformOutput::Pairs(pairs) => pairs[(first + at) as usize] = value,
    }
}
