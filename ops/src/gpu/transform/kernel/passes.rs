//! Transforms of sequences, each within a cube: a unit computes short transforms on values in registers, then units
//! exchange values through shared memory.
//!
//! The passes are Stockham's: each leaves its outputs where the next finds its inputs in order. (D. H. Bailey, "FFTs in
//! external or hierarchical memory", 1990.)

use cubecl::prelude::*;

use super::arguments::{TransformInput, TransformOutput, TransformShape};
use super::fold::{load_unfolded, store_folded};
use super::sequence::{Sequence, has_short_transform, own_sequence, padded, short_transform};
use super::sink::{store_outputs, store_staged};
use super::source::{load_inputs, load_staged};
use crate::gpu::complex::{Complex, ComplexArray, complex, product, registers};
use crate::gpu::short_transform::{output_position, transform_radix};
use crate::gpu::transform::launch_plan::{LaunchPlan, RowForm};

/// The largest radix whose twiddles are partly computed.
const MAX_COMPUTED: u32 = 16;

/// Transforms every sequence of the launch.
#[cube(launch, launch_unchecked)]
pub fn transform_sequences(
    input: &TransformInput,
    table: &[Complex],
    output: &mut TransformOutput,
    shape: TransformShape,
    #[comptime] plan: LaunchPlan,
) {
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(plan.exchange_len() as usize));
    let mut z = registers(comptime!(plan.layout.values()));
    // Sequences are read as they lie in the input, and from the first exchange on spread as they lie in the output.
    let read = own_sequence(shape.rows, plan.input, plan);
    let own = own_sequence(shape.rows, plan.output, plan);
    if comptime!(plan.unfolds_in_cube()) {
        load_unfolded(&mut z, &mut exchange, input, table, &read, &shape, plan);
    } else if comptime!(plan.stages_input()) {
        load_staged(&mut z, &mut exchange, input, table, &read, &shape, plan);
    } else {
        load_inputs(&mut z, input, table, &read, &shape, plan);
    }
    run_passes(&mut z, &mut exchange, table, &read, &own, plan);
    if comptime!(plan.sink == RowForm::PairSpectrum) {
        store_folded(&z, &mut exchange, table, output, &own, &shape, plan);
    } else if comptime!(plan.stages_output()) {
        store_staged(&z, &mut exchange, table, output, &own, &shape, plan);
    } else {
        store_outputs(&z, table, output, &own, &shape, plan);
    }
}

/// Runs all passes on the inputs of the first one, which are those of sequence `read`; the outputs of the last one are those
/// of sequence `own`.
#[cube]
pub fn run_passes(
    z: &mut ComplexArray,
    exchange: &mut Shared<[Complex]>,
    table: &[Complex],
    read: &Sequence,
    own: &Sequence,
    #[comptime] plan: LaunchPlan,
) {
    let passes = comptime!(plan.passes());
    #[unroll]
    for pass in 0..passes {
        if comptime!(plan.follows_filter(pass)) {
            multiply_filter(z, table, own, pass, plan);
        } else if comptime!(pass > 0) {
            // Read what other units wrote after the pass before, once all of them have.
            sync_cube();
            read_exchange(z, exchange, own, pass, plan);
        }
        short_transforms(z, table, own, pass, plan);
        if comptime!(pass + 1 < passes && !plan.follows_filter(pass + 1)) {
            // No unit may overwrite the exchange before all have read it.
            if comptime!(pass > 0 || plan.loads_through_exchange()) {
                sync_cube();
            }
            if comptime!(pass == 0) {
                write_exchange(&*z, exchange, read, pass, plan);
            } else {
                write_exchange(&*z, exchange, own, pass, plan);
            }
        }
    }
}

/// Computes the short transforms of a pass: the twiddles of its inputs, then transforms in registers.
#[cube]
pub fn short_transforms(
    z: &mut ComplexArray,
    table: &[Complex],
    sequence: &Sequence,
    #[comptime] pass: u32,
    #[comptime] plan: LaunchPlan,
) {
    let radix = comptime!(plan.radix(pass));
    let before = comptime!(plan.before(pass));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        if comptime!(before > 1) {
            let j = short_transform(sequence.t, q, comptime!(plan.span(pass)), plan) % before;
            let mut powers = registers(radix);
            #[unroll]
            for m in 1..radix {
                let held = comptime!((q * radix + m) as usize);
                let power = comptime!(m as usize);
                if comptime!(is_loaded(m, radix)) {
                    let w = table[(comptime!(plan.twiddles_at(pass) + m * before) + j) as usize];
                    powers.re[power] = w.extract(0usize);
                    powers.im[power] = w.extract(1usize);
                } else {
                    let high = comptime!(1usize << m.ilog2());
                    let low = comptime!(power - high);
                    let (re, im) = product(powers.re[low], powers.im[low], powers.re[high], powers.im[high]);
                    powers.re[power] = re;
                    powers.im[power] = im;
                }
                let (re, im) = product(z.re[held], z.im[held], powers.re[power], powers.im[power]);
                z.re[held] = re;
                z.im[held] = im;
            }
        }
        transform_radix(z, comptime!(q * radix), 1u32, radix);
    }
}

/// Whether twiddle `m` of a short transform is read from the table; the others are products of two before it, so that a
/// pass reads fewer values from the caches, which bound it. Of large radices all are read, for want of registers.
fn is_loaded(m: u32, radix: u32) -> bool {
    m.is_power_of_two() || radix > MAX_COMPUTED
}

/// Writes the outputs of a pass where the next one finds its inputs: output m of short transform j is value m·before of
/// the block that the `before` earlier short transforms next to it share. The outputs of the last pass are in order.
#[cube]
pub fn write_exchange(
    z: &ComplexArray,
    exchange: &mut Shared<[Complex]>,
    sequence: &Sequence,
    #[comptime] pass: u32,
    #[comptime] plan: LaunchPlan,
) {
    let radix = comptime!(plan.radix(pass));
    let before = comptime!(plan.before(pass));
    let is_constant = comptime!(plan.layout.writes_at_constant_steps(radix, before));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, comptime!(plan.span(pass)), plan);
        let first = (j / before) * comptime!(before * radix) + j % before;
        let start = sequence.base + padded(first, plan);
        if has_short_transform(sequence.t, q, comptime!(plan.span(pass)), plan) {
            #[unroll]
            for m in 0..radix {
                let held = comptime!((q * radix + output_position(m, radix)) as usize);
                let at = if comptime!(is_constant) {
                    start + comptime!(plan.layout.padded(m * before))
                } else {
                    sequence.base + padded(first + comptime!(m * before), plan)
                };
                exchange[at as usize] = complex(z.re[held], z.im[held]);
            }
        }
    }
}

/// Reads the inputs of a pass.
#[cube]
pub fn read_exchange(
    z: &mut ComplexArray,
    exchange: &mut Shared<[Complex]>,
    sequence: &Sequence,
    #[comptime] pass: u32,
    #[comptime] plan: LaunchPlan,
) {
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    let is_constant = comptime!(plan.layout.reads_at_constant_steps(span));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        let start = sequence.base + padded(j, plan);
        #[unroll]
        for m in 0..radix {
            let at = if comptime!(is_constant) {
                start + comptime!(plan.layout.padded(m * span))
            } else {
                sequence.base + padded(j + comptime!(m * span), plan)
            };
            let value = exchange[at as usize];
            z.re[comptime!((q * radix + m) as usize)] = value.extract(0usize);
            z.im[comptime!((q * radix + m) as usize)] = value.extract(1usize);
        }
    }
}

/// Multiplies the outputs of the first transform by the filter, exchanges their parts, and leaves them in the order of
/// the inputs of the second transform's first pass, which takes the same values.
#[cube]
fn multiply_filter(
    z: &mut ComplexArray,
    table: &[Complex],
    sequence: &Sequence,
    #[comptime] pass: u32,
    #[comptime] plan: LaunchPlan,
) {
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    let mut y = registers(radix);
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        let first = comptime!(plan.filter_at()) + sequence.column * comptime!(plan.layout.n) + j;
        #[unroll]
        for m in 0..radix {
            let held = comptime!((q * radix + output_position(m, radix)) as usize);
            let factor = table[(first + comptime!(m * span)) as usize];
            let (re, im) = product(z.re[held], z.im[held], factor.extract(0usize), factor.extract(1usize));
            y.re[comptime!(m as usize)] = im;
            y.im[comptime!(m as usize)] = re;
        }
        #[unroll]
        for m in 0..radix {
            z.re[comptime!((q * radix + m) as usize)] = y.re[comptime!(m as usize)];
            z.im[comptime!((q * radix + m) as usize)] = y.im[comptime!(m as usize)];
        }
    }
}
