//! Transforms of sequences, each within a cube: a unit computes short transforms on values in registers, then units
//! exchange values through shared memory.
//!
//! The passes are Stockham's: each leaves its outputs where the next finds its inputs in order. (D. H. Bailey, "FFTs in
//! external or hierarchical memory", 1990.)

use cubecl::prelude::*;

use super::fold::{load_unfolded, store_folded, store_folded_columns};
use super::sequence::{Sequence, own_sequence, read_exchange, short_transform, write_exchange};
use super::sink::{store_outputs, store_staged};
use super::source::{load_inputs, load_staged};
use super::{TransformInput, TransformOutput, TransformShape};
use crate::gpu::complex::{Complex, ComplexValues, product};
use crate::gpu::short_transform::{output_position, transform_radix};
use crate::gpu::transform::launch_plan::{Barrier, RowForm, TransformLaunchPlan, TwiddleStore};

/// The largest radix whose twiddles are partly computed.
const MAX_COMPUTED: u32 = 16;

/// Transforms every sequence of the launch.
#[cube(launch, launch_unchecked)]
pub fn transform_sequences(
    input: &TransformInput,
    table: &[Complex],
    output: &mut TransformOutput,
    shape: TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(plan.exchange_len() as usize));
    let mut z = ComplexValues::none();
    // Units are spread over sequences as these lie in the input, and from the first exchange on as they lie in the
    // output: adjacent units then read and write adjacent values of device memory.
    let read = own_sequence(shape.rows, plan.input, plan);
    let own = own_sequence(shape.rows, plan.output, plan);
    // Load the inputs of the first pass: half spectra are unfolded on the way, and short sequences go through the
    // exchange memory, since their few units would read too few adjacent values.
    if comptime!(plan.unfolds_in_cube()) {
        load_unfolded(&mut z, &mut exchange, input, table, &read, &shape, plan);
    } else if comptime!(plan.stages_input()) {
        load_staged(&mut z, &mut exchange, input, table, &read, &shape, plan);
    } else {
        load_inputs(&mut z, input, table, &read, &shape, plan);
    }
    run_passes(&mut z, &mut exchange, table, &read, &own, plan);
    // Store the outputs of the last pass, in the same ways.
    if comptime!(plan.mirrors_columns()) {
        store_folded_columns(&z, &mut exchange, table, output, &own, &shape, plan);
    } else if comptime!(plan.sink == RowForm::PairSpectrum) {
        store_folded(&z, &mut exchange, table, output, &own, &shape, plan);
    } else if comptime!(plan.stages_output()) {
        store_staged(&z, &mut exchange, table, output, &own, &shape, plan);
    } else {
        store_outputs(&z, table, output, &own, &shape, plan);
    }
}

/// Runs all passes: the inputs of the first are those of sequence `read`, the outputs of the last of sequence `own`.
#[cube]
pub fn run_passes(
    z: &mut ComplexValues,
    exchange: &mut Shared<[Complex]>,
    table: &[Complex],
    read: &Sequence,
    own: &Sequence,
    #[comptime] plan: TransformLaunchPlan,
) {
    let kept = KeptTwiddles::new_None();
    transform_passes(z, exchange, table, &kept, read, own, 0u32, comptime!(plan.loads_through_exchange()), plan);
    if comptime!(plan.is_filtered()) {
        // The inverse transform starts with the values that the unit holds: there is nothing to exchange.
        let count = comptime!(plan.layout.radices.count());
        multiply_filter(z, table, own, count, plan);
        transform_passes(z, exchange, table, &kept, own, own, count, true, plan);
    }
}

/// Runs the passes of one transform, from pass `first` of the launch on: the first pass is of sequence `read`, and the
/// others are of sequence `own`. Whether the exchange memory is in use before, `is_in_use` says.
#[cube]
pub fn transform_passes(
    z: &mut ComplexValues,
    exchange: &mut Shared<[Complex]>,
    table: &[Complex],
    kept: &KeptTwiddles,
    read: &Sequence,
    own: &Sequence,
    #[comptime] first: u32,
    #[comptime] is_in_use: bool,
    #[comptime] plan: TransformLaunchPlan,
) {
    let count = comptime!(plan.layout.radices.count());
    #[unroll]
    for i in 0..count {
        let pass = comptime!(first + i);
        if comptime!(i > 0) {
            // Read what other units wrote after the pass before, once all of them have.
            wait(plan.barrier);
            read_exchange(z, exchange, own, pass, plan);
        }
        short_transforms(z, table, kept, own, pass, plan);
        if comptime!(i + 1 < count) {
            // No unit may overwrite the exchange before all have read it.
            if comptime!(i > 0 || is_in_use) {
                wait(plan.barrier);
            }
            if comptime!(i == 0) {
                write_exchange(&*z, exchange, read, pass, plan);
            } else {
                write_exchange(&*z, exchange, own, pass, plan);
            }
        }
    }
}

#[cube]
pub fn wait(#[comptime] barrier: Barrier) {
    if comptime!(matches!(barrier, Barrier::Plane)) {
        sync_plane();
    } else {
        sync_cube();
    }
}

/// Twiddles that a launch keeps for all of its sequences, where its plan says so.
#[derive(CubeType)]
#[expect(dead_code, reason = "variants are constructed by the code that is made of kernels")]
pub enum KeptTwiddles {
    /// None: they are read from the table in device memory.
    None,
    /// The whole table.
    Shared(Shared<[Complex]>),
    /// The unit's twiddles of the only later pass, those of input m of short transform q at q·radix + m.
    Registers(Array<Complex>),
}

/// Entry `entry` of the table, which is the twiddle of the unit's value `held`.
#[cube]
fn twiddle(table: &[Complex], kept: &KeptTwiddles, #[comptime] held: u32, entry: u32) -> Complex {
    match kept {
        KeptTwiddles::None => table[entry as usize],
        KeptTwiddles::Shared(twiddles) => twiddles[entry as usize],
        KeptTwiddles::Registers(twiddles) => twiddles[comptime!(held as usize)],
    }
}

/// Computes the short transforms of a pass: the twiddles of its inputs, then transforms in registers.
#[cube]
fn short_transforms(
    z: &mut ComplexValues,
    table: &[Complex],
    kept: &KeptTwiddles,
    sequence: &Sequence,
    #[comptime] pass: u32,
    #[comptime] plan: TransformLaunchPlan,
) {
    let radix = comptime!(plan.radix(pass));
    let before = comptime!(plan.before(pass));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        // Multiply input m by w^m. The first pass has no twiddles, and input 0 never has one.
        if comptime!(before > 1) {
            let j = short_transform(sequence.t, q, comptime!(plan.span(pass)), plan) % before;
            let mut powers = ComplexValues::none();
            powers.push(1.0f32, 0.0f32);
            #[unroll]
            for m in 1..radix {
                let held = comptime!((q * radix + m) as usize);
                let power = comptime!(m as usize);
                // w^m from the table, or as the product of two powers that are known.
                if comptime!(is_loaded(m, radix, &plan)) {
                    let entry = comptime!(plan.twiddles_at(pass) + m * before) + j;
                    let w = twiddle(table, kept, comptime!(q * radix + m), entry);
                    powers.push(w.extract(0usize), w.extract(1usize));
                } else {
                    let high = comptime!(1usize << m.ilog2());
                    let low = comptime!(power - high);
                    let (re, im) = product(powers.re[low], powers.im[low], powers.re[high], powers.im[high]);
                    powers.push(re, im);
                }
                let (re, im) = product(z.re[held], z.im[held], powers.re[power], powers.im[power]);
                z.set(held, re, im);
            }
        }
        // The transform itself exchanges nothing: its values are the unit's own.
        transform_radix(z, comptime!(q * radix), 1u32, radix);
    }
}

/// Whether twiddle `m` of a short transform is read; the others are products of two before it. Of large radices all are
/// read, for want of registers.
fn is_loaded(m: u32, radix: u32, plan: &TransformLaunchPlan) -> bool {
    m.is_power_of_two() || radix > MAX_COMPUTED || plan.twiddles != TwiddleStore::Products
}

/// Multiplies the outputs of the first transform by the filter, exchanges their parts, and leaves them in the order of
/// the inputs of the second transform's first pass, which takes the same values.
#[cube]
fn multiply_filter(
    z: &mut ComplexValues,
    table: &[Complex],
    sequence: &Sequence,
    #[comptime] pass: u32,
    #[comptime] plan: TransformLaunchPlan,
) {
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        // Products are in the order of the next pass's inputs, not of the outputs: none may be overwritten.
        let mut y = ComplexValues::none();
        let j = short_transform(sequence.t, q, span, plan);
        let first = comptime!(plan.filter_at()) + sequence.column * comptime!(plan.layout.n) + j;
        #[unroll]
        for m in 0..radix {
            let held = comptime!((q * radix + output_position(m, radix)) as usize);
            let factor = table[(first + comptime!(m * span)) as usize];
            let (re, im) = product(z.re[held], z.im[held], factor.extract(0usize), factor.extract(1usize));
            // Parts are exchanged: the transform of that is the inverse transform, its parts exchanged.
            y.push(im, re);
        }
        z.overwrite(comptime!(q * radix), &y, radix);
    }
}
