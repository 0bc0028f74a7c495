//! Convolutions of rows, each within a cube: samples are read and written two by two as complex values.

use cubecl::prelude::*;

use super::products::convolved;
use crate::gpu::complex::{Complex, ComplexBuffers, ComplexValues, Samples, SamplesExpand, complex, sum, times};
use crate::gpu::long_conv::plan::{FactorKind, RowsPlan};
use crate::gpu::short_transform::{output_position, root_of_unity};
use crate::gpu::transform::kernel::{
    KeptTwiddles, Sequence, has_short_transform, mirrored, own_sequence, padded, short_transform, transform_passes,
    write_exchange,
};
use crate::gpu::transform::launch_plan::TransformLaunchPlan;

#[derive(CubeType, CubeLaunch)]
pub struct RowsInput {
    /// Rows of samples, those of all channels of an element of the batch one after the other.
    pub values: Samples,
    /// Rows of factors in the same order; not read where there are none.
    pub factors: Samples,
    /// Spectra of the kernels' pairs of taps, `[channels, N]`.
    pub spectra: ComplexBuffers,
    pub table: Box<[Complex]>,
}

#[derive(CubeType, CubeLaunch)]
pub struct RowsShape {
    pub batch: u32,
    pub channels: u32,
    /// Samples from one row that is read to the next.
    pub stride: u32,
    /// Factors from one row to the next.
    pub factor_stride: u32,
    /// Samples from one row that is written to the next.
    pub output_stride: u32,
    /// Factor of every output.
    pub scale: f32,
}

/// Convolves every row with the kernel of its channel.
#[cube(launch, launch_unchecked)]
pub fn convolve_rows(input: &RowsInput, output: &mut Samples, shape: RowsShape, #[comptime] plan: RowsPlan) {
    let launch = comptime!(plan.launch);
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(launch.exchange_len() as usize));
    let mut z = ComplexValues::none();
    let own = own_sequence(shape.batch * shape.channels, comptime!(launch.input), launch);
    // The rows of a channel are next to each other in the grid, so that they share its spectrum in the cache.
    let (channel, element) = (own.row / shape.batch, own.row % shape.batch);
    let row = element * shape.channels + channel;
    let position = RowPosition { first: row * shape.stride, first_factor: row * shape.factor_stride };
    // Load pairs of samples as complex values, and transform them.
    let read = comptime!(SampleForm { launch, n: plan.n, has_factors: plan.factors == FactorKind::OfInput });
    load_pairs(&mut z, &input.values, &input.factors, &position, &own, read);
    transform(&mut z, &mut exchange, &input.table, &own, 0u32, launch);
    // Multiply by the kernel's spectrum, exchange the parts, and transform again: that is the inverse transform,
    // exchanged.
    multiply_spectrum(&mut z, &mut exchange, input, channel, &own, plan);
    transform(&mut z, &mut exchange, &input.table, &own, comptime!(launch.layout.radices.count()), launch);
    // Store the first samples; the rest is the tail of the convolution, and padding.
    let has_factors = comptime!(plan.factors == FactorKind::OfOutput);
    let written = comptime!(SampleForm { launch, n: plan.written, has_factors });
    let position = RowPosition { first: row * shape.output_stride, first_factor: row * shape.factor_stride };
    store_pairs(&z, &input.factors, output, &position, shape.scale, &own, written, plan.is_added);
}

/// The passes of one transform, from pass `first` of the launch on.
#[cube]
pub fn transform(
    z: &mut ComplexValues,
    exchange: &mut Shared<[Complex]>,
    table: &[Complex],
    sequence: &Sequence,
    #[comptime] first: u32,
    #[comptime] plan: TransformLaunchPlan,
) {
    transform_passes(z, exchange, table, &KeptTwiddles::new_None(), sequence, sequence, first, true, plan);
}

/// Writes the outputs of the first transform to the exchange memory, in their order, for units to read the mirror
/// images of their bins.
#[cube]
pub fn write_spectrum(
    z: &ComplexValues,
    exchange: &mut Shared<[Complex]>,
    sequence: &Sequence,
    #[comptime] plan: TransformLaunchPlan,
) {
    // No unit may overwrite the exchange before all have read it, or read it before all have written.
    sync_cube();
    write_exchange(z, exchange, sequence, comptime!(plan.layout.radices.count() - 1), plan);
    sync_cube();
}

/// Multiplies the outputs of the first transform by the spectrum of a kernel, exchanges their parts, and leaves them in
/// the order of the inputs of the second transform's first pass, which takes the same values.
#[cube]
fn multiply_spectrum(
    z: &mut ComplexValues,
    exchange: &mut Shared<[Complex]>,
    input: &RowsInput,
    channel: u32,
    sequence: &Sequence,
    #[comptime] plan: RowsPlan,
) {
    let launch = comptime!(plan.launch);
    let points = comptime!(launch.layout.n);
    let pass = comptime!(launch.layout.radices.count() - 1);
    let radix = comptime!(launch.radix(pass));
    let span = comptime!(launch.span(pass));
    write_spectrum(&*z, exchange, sequence, launch);
    let first = channel * points;
    #[unroll]
    for q in 0..comptime!(launch.layout.per_unit(radix)) {
        // Products are in the order of the next pass's inputs, not of the outputs: none may be overwritten.
        let mut y = ComplexValues::none();
        let j = short_transform(sequence.t, q, span, launch);
        // exp(−2πi j/N) is a twiddle of the last pass, and that of bin j + m·span a constant times it.
        let mut turn = complex(1.0f32, 0.0f32);
        if comptime!(launch.before(pass) > 1) {
            turn = input.table[(comptime!(launch.twiddles_at(pass) + span) + j) as usize];
        }
        #[unroll]
        for m in 0..radix {
            let held = comptime!((q * radix + output_position(m, radix)) as usize);
            let k = j + comptime!(m * span);
            let mirror = mirrored(k, points);
            let (near, far) = ((first + k) as usize, (first + mirror) as usize);
            let w = if comptime!(m > 0) { times(turn, root_of_unity(m, radix)) } else { turn };
            // Both bins of the row are in registers or shared memory; both of the kernel are read from device memory,
            // where adjacent units read adjacent bins, of the mirror images in reverse.
            let value = convolved(
                complex(z.re[held], z.im[held]),
                exchange[(sequence.base + padded(mirror, launch)) as usize],
                complex(input.spectra.re[near], input.spectra.im[near]),
                complex(input.spectra.re[far], input.spectra.im[far]),
                w,
                comptime!(plan.is_reversed),
            );
            y.push(value.extract(1usize), value.extract(0usize));
        }
        z.overwrite(comptime!(q * radix), &y, radix);
    }
}

/// Stores the outputs of the second transform, whose parts are exchanged: the first `n` samples, times factors; or adds
/// them to what is there.
#[cube]
fn store_pairs(
    z: &ComplexValues,
    factors: &Samples,
    output: &mut Samples,
    position: &RowPosition,
    scale: f32,
    sequence: &Sequence,
    #[comptime] form: SampleForm,
    #[comptime] is_added: bool,
) {
    let plan = comptime!(form.launch);
    let pass = comptime!(plan.passes() - 1);
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        let is_present = sequence.is_present && has_short_transform(sequence.t, q, span, plan);
        #[unroll]
        for m in 0..radix {
            let held = comptime!((q * radix + output_position(m, radix)) as usize);
            let at = 2 * (j + comptime!(m * span));
            let presence = comptime!(form.presence(m * span, span));
            // The parts, exchanged back.
            let mut value = complex(z.im[held] * scale, z.re[held] * scale);
            if comptime!(form.has_factors && presence != Presence::Never) {
                if is_present {
                    value = by_parts(value, pair(factors, position.first_factor, at, presence, form.n));
                }
            }
            store(value, output, position.first + at, comptime!(form.n), at, is_present, presence, is_added);
        }
    }
}

/// Stores samples `at` and `at + 1` of a row of `n`, for an even `at`, from index `to` on, or adds them.
#[cube]
fn store(
    value: Complex,
    output: &mut Samples,
    to: u32,
    #[comptime] n: u32,
    at: u32,
    is_present: bool,
    #[comptime] presence: Presence,
    #[comptime] is_added: bool,
) {
    if comptime!(presence != Presence::Never) {
        // An odd row ends with the first sample of a pair, so both are tested; rows of pairs end with whole pairs.
        let is_first = is_present && is_within(at, presence, n);
        match output {
            Samples::Single(rows) => {
                if is_first {
                    put(rows, to as usize, value.extract(0usize), is_added);
                }
                if is_present && is_within(at + 1, presence, n) {
                    put(rows, (to + 1) as usize, value.extract(1usize), is_added);
                }
            }
            Samples::Pairs(rows) => {
                if is_first {
                    let at = (to / 2) as usize;
                    rows[at] = if comptime!(is_added) { sum(rows[at], value) } else { value };
                }
            }
        }
    }
}

/// Stores a value, or adds it to what is there.
#[cube]
fn put(values: &mut [f32], at: usize, value: f32, #[comptime] is_added: bool) {
    values[at] = if comptime!(is_added) { values[at] + value } else { value };
}

/// Whether a sample that may be past the end of a row is one of its `n`.
#[cube]
fn is_within(at: u32, #[comptime] presence: Presence, #[comptime] n: u32) -> bool {
    if comptime!(presence == Presence::Sometimes) { at < n } else { true.runtime() }
}

/// Indices of a row's first sample, and of its first factor where there are factors.
#[derive(CubeType)]
pub struct RowPosition {
    /// Index of the row's first sample.
    pub first: u32,
    /// Index of the row's first factor.
    pub first_factor: u32,
}

/// Loads the inputs of a unit's short transforms of the first pass, times factors: samples past the `n` of a row are 0.
#[cube]
pub fn load_pairs(
    z: &mut ComplexValues,
    values: &Samples,
    factors: &Samples,
    position: &RowPosition,
    sequence: &Sequence,
    #[comptime] form: SampleForm,
) {
    let plan = comptime!(form.launch);
    let radix = comptime!(plan.radix(0));
    let span = comptime!(plan.span(0));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        #[unroll]
        for m in 0..radix {
            let held = comptime!((q * radix + m) as usize);
            // Pair j + m·span of the row. Whether it is inside is known at compile time, but around the row's end.
            let at = 2 * (j + comptime!(m * span));
            let presence = comptime!(form.presence(m * span, span));
            let mut value = pair(values, position.first, at, presence, form.n);
            if comptime!(form.has_factors) {
                value = by_parts(value, pair(factors, position.first_factor, at, presence, form.n));
            }
            z.set(held, value.extract(0usize), value.extract(1usize));
        }
    }
}

/// Samples `at` and `at + 1` of the row that starts at `first`, for an even `at`: those past the `n` of a row are 0.
#[cube]
pub fn pair(values: &Samples, first: u32, at: u32, #[comptime] presence: Presence, #[comptime] n: u32) -> Complex {
    match values {
        Samples::Single(values) => {
            complex(sample(values, first, at, presence, n), sample(values, first, at + 1, presence, n))
        }
        Samples::Pairs(values) => sample_pair(values, first, at, presence, n),
    }
}

#[cube]
fn sample(values: &[f32], first: u32, at: u32, #[comptime] presence: Presence, #[comptime] n: u32) -> f32 {
    let mut value = 0.0f32;
    if comptime!(presence == Presence::Always) {
        value = values[(first + at) as usize];
    } else if comptime!(presence == Presence::Sometimes) {
        if at < n {
            value = values[(first + at) as usize];
        }
    }
    value
}

#[cube]
fn sample_pair(values: &[Complex], first: u32, at: u32, #[comptime] presence: Presence, #[comptime] n: u32) -> Complex {
    let mut value = complex(0.0f32, 0.0f32);
    if comptime!(presence == Presence::Always) {
        value = values[((first + at) / 2) as usize];
    } else if comptime!(presence == Presence::Sometimes) {
        if at < n {
            value = values[((first + at) / 2) as usize];
        }
    }
    value
}

/// Two samples times two factors.
#[cube]
pub fn by_parts(x: Complex, y: Complex) -> Complex {
    complex(x.extract(0usize) * y.extract(0usize), x.extract(1usize) * y.extract(1usize))
}

/// Form of the rows that a launch reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SampleForm {
    pub launch: TransformLaunchPlan,
    /// Samples of a row.
    pub n: u32,
    pub has_factors: bool,
}

/// Whether samples are within a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    Always,
    Sometimes,
    Never,
}

impl SampleForm {
    /// Presence of the samples of `count` pairs from pair `first` on.
    pub fn presence(&self, first: u32, count: u32) -> Presence {
        if 2 * (first + count) <= self.n {
            Presence::Always
        } else if 2 * first < self.n {
            Presence::Sometimes
        } else {
            Presence::Never
        }
    }
}
