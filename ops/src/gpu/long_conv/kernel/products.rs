//! Sums over the batch of the products of two rows' spectra.

use cubecl::prelude::*;

use super::row_convolution::{transform, write_spectrum};
use super::samples::{RowPosition, SampleForm, load_pairs};
use crate::gpu::complex::{
    Complex, ComplexArray, ComplexBuffers, ComplexValues, Samples, complex, plus_times_conjugate, zeros,
};
use crate::gpu::short_transform::output_position;
use crate::gpu::transform::kernel::{Sequence, has_short_transform, mirrored, own_sequence, padded, short_transform};
use crate::gpu::transform::launch_plan::TransformLaunchPlan;

/// The buffers that a launch reads.
#[derive(CubeType, CubeLaunch)]
pub struct ProductInput {
    /// Rows of the signal.
    pub signal: Samples,
    /// Rows of gradients of the output.
    pub grad: Samples,
    /// Factors of the gradients, `[rows, n]`; not read where there are none.
    pub factors: Samples,
    /// The table of the launch.
    pub table: Box<[Complex]>,
}

/// The shape of a launch.
#[derive(CubeType, CubeLaunch)]
pub struct ProductShape {
    /// Elements of the batch.
    pub batch: u32,
    /// Channels of an element.
    pub channels: u32,
    /// Samples from one row of the signal to the next.
    pub stride: u32,
    /// Values from one row of gradients to the next.
    pub grad_stride: u32,
    /// Factors from one row to the next.
    pub factor_stride: u32,
    /// Blocks of the batch.
    pub blocks: u32,
    /// Elements of a block; the last one may have fewer.
    pub elements: u32,
}

/// Sums of products of spectra in a unit's registers.
#[derive(CubeType)]
struct ProductSums {
    direct: ComplexArray,
    crossed: ComplexArray,
}

/// Adds, per channel and block of the batch, the products of the spectra X of the signal and G of the gradients times
/// factors, in the order of the batch: `sums` `[blocks, channels, 2, N]`, Σ X[k]* G[k] and Σ X[N − k] G[k].
#[cube(launch, launch_unchecked)]
pub fn add_products(
    input: &ProductInput,
    sums: &mut ComplexBuffers,
    shape: ProductShape,
    #[comptime] form: SampleForm,
) {
    let plan = comptime!(form.launch);
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(plan.exchange_len() as usize));
    let values = comptime!(plan.layout.values());
    let mut own_sums = ProductSums { direct: zeros(values), crossed: zeros(values) };
    let own = own_sequence(shape.blocks * shape.channels, comptime!(plan.input), plan);
    let (block, channel) = (own.row / shape.channels, own.row % shape.channels);
    let unscaled = comptime!(SampleForm { has_factors: false, ..form });
    // A sequence sums the products of one channel over a block of batch elements in registers; later launches add up
    // the blocks. Every sequence of a cube takes as many turns, since all units meet at its barriers.
    for turn in 0..shape.elements {
        let element = block * shape.elements + turn;
        let row = min(element, shape.batch - 1) * shape.channels + channel;
        // The spectrum of the signal's row, then that of the gradient's, each in registers.
        let (mut x, mut g) = (ComplexValues::none(), ComplexValues::none());
        let position = RowPosition { first: row * shape.stride, first_factor: 0u32 };
        load_pairs(&mut x, &input.signal, &input.signal, &position, &own, unscaled);
        transform(&mut x, &mut exchange, &input.table, &own, 0u32, plan);
        let position = RowPosition { first: row * shape.grad_stride, first_factor: row * shape.factor_stride };
        load_pairs(&mut g, &input.grad, &input.factors, &position, &own, form);
        transform(&mut g, &mut exchange, &input.table, &own, 0u32, plan);
        // Products with mirror images take the signal's spectrum from the exchange memory.
        write_spectrum(&x, &mut exchange, &own, plan);
        add(&mut own_sums, &x, &g, &exchange, &own, element < shape.batch, plan);
    }
    store(&own_sums, sums, &own, plan);
}

/// Adds the products of the bins that a unit holds, if there is such a row.
#[cube]
fn add(
    sums: &mut ProductSums,
    x: &ComplexValues,
    g: &ComplexValues,
    exchange: &Shared<[Complex]>,
    sequence: &Sequence,
    is_row: bool,
    #[comptime] plan: TransformLaunchPlan,
) {
    // After the last pass, output m of short transform q is bin j + m · span; mirror image N − k is in other units.
    let pass = comptime!(plan.layout.radices.count() - 1);
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    if is_row {
        #[unroll]
        for q in 0..comptime!(plan.layout.per_unit(radix)) {
            let j = short_transform(sequence.t, q, span, plan);
            #[unroll]
            for m in 0..radix {
                let held = comptime!((q * radix + output_position(m, radix)) as usize);
                let mirror = mirrored(j + comptime!(m * span), comptime!(plan.layout.n));
                let far = exchange[(sequence.base + padded(mirror, plan)) as usize];
                let grad = complex(g.re[held], g.im[held]);
                // Products with X[k]*, from the unit's own registers.
                let direct = complex(sums.direct.re[held], sums.direct.im[held]);
                let direct = plus_times_conjugate(direct, grad, complex(x.re[held], x.im[held]));
                sums.direct.re[held] = direct.extract(0usize);
                sums.direct.im[held] = direct.extract(1usize);
                // Products with X[N − k]: `plus_times_conjugate` conjugates its last argument, so that takes X[N − k]*.
                let crossed = complex(sums.crossed.re[held], sums.crossed.im[held]);
                let crossed = plus_times_conjugate(crossed, grad, complex(far.extract(0usize), -far.extract(1usize)));
                sums.crossed.re[held] = crossed.extract(0usize);
                sums.crossed.im[held] = crossed.extract(1usize);
            }
        }
    }
}

/// Stores the sums of a unit's bins.
#[cube]
fn store(own: &ProductSums, sums: &mut ComplexBuffers, sequence: &Sequence, #[comptime] plan: TransformLaunchPlan) {
    // Rows `[block, channel, 2, points]`: the products with X[k]*, then those with X[N − k], at the bins of the last
    // pass.
    let points = comptime!(plan.layout.n);
    let pass = comptime!(plan.layout.radices.count() - 1);
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    let first = sequence.row * comptime!(2 * points);
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        if sequence.is_present && has_short_transform(sequence.t, q, span, plan) {
            #[unroll]
            for m in 0..radix {
                let held = comptime!((q * radix + output_position(m, radix)) as usize);
                let direct = (first + j + comptime!(m * span)) as usize;
                let crossed = (first + j + comptime!(m * span + points)) as usize;
                sums.re[direct] = own.direct.re[held];
                sums.im[direct] = own.direct.im[held];
                sums.re[crossed] = own.crossed.re[held];
                sums.im[crossed] = own.crossed.im[held];
            }
        }
    }
}
