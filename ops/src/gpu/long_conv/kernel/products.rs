//! Products of spectra: sums over the batch of those of two rows, and the steps of a convolution one by one, a unit per
//! value, for rows that no cube holds and for the few rows of kernels.

use cubecl::prelude::*;

use super::row_convolution::{RowPosition, SampleForm, load_pairs, transform, write_spectrum};
use crate::gpu::complex::{
    Complex, ComplexArray, ComplexBuffers, ComplexValues, Samples, complex, conjugate, difference,
    plus_times_conjugate, scaled, sum, times, zeros,
};
use crate::gpu::short_transform::output_position;
use crate::gpu::transform::kernel::{
    Sequence, has_short_transform, mirrored, own_sequence, padded, root, short_transform,
};
use crate::gpu::transform::launch_plan::TransformLaunchPlan;

#[derive(CubeType, CubeLaunch)]
pub struct ProductInput {
    /// Rows of the signal.
    pub signal: Samples,
    /// Rows of gradients of the output.
    pub grad: Samples,
    /// Factors of the gradients, `[rows, n]`; not read where there are none.
    pub factors: Samples,
    pub table: Box<[Complex]>,
}

#[derive(CubeType, CubeLaunch)]
pub struct ProductShape {
    pub batch: u32,
    pub channels: u32,
    /// Samples from one row of the signal to the next.
    pub stride: u32,
    /// Values from one row of gradients to the next.
    pub grad_stride: u32,
    /// Factors from one row to the next.
    pub factor_stride: u32,
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

#[derive(CubeType, CubeLaunch)]
pub struct ElementShape {
    pub rows: u32,
    /// Rows before those of the launch: row r has the kernel of channel (before + r) mod channels.
    pub before: u32,
    pub channels: u32,
    /// Samples from one row that is read to the next.
    pub stride: u32,
    /// Factors from one row to the next.
    pub factor_stride: u32,
    /// Values of a row that is written.
    pub len: u32,
    /// Samples of a row that is read; values that are written past them are 0.
    pub samples: u32,
}

#[cube]
fn value(values: &ComplexBuffers, at: u32) -> Complex {
    complex(values.re[at as usize], values.im[at as usize])
}

/// Bin k of the convolution of a row with a kernel: `row` and `kernel` are bin k of their spectra, `far_row` and
/// `far_kernel` bin N − k, and `w` is exp(−2πi k/N).
///
/// With P and Q the kernel's bin k and the conjugate of its bin N − k, He is (P + Q)/2 and i Ho is (P − Q)/2.
#[cube]
pub fn convolved(
    row: Complex,
    far_row: Complex,
    kernel: Complex,
    far_kernel: Complex,
    w: Complex,
    #[comptime] is_reversed: bool,
) -> Complex {
    let (p, q, far) = (kernel, conjugate(far_kernel), conjugate(far_row));
    // i Ho/2 is a quarter of P − Q, and both A and B take that and its product with W.
    let quarter = scaled(0.25f32, difference(p, q));
    let turned = times(quarter, w);
    let a = sum(scaled(0.5f32, sum(p, q)), difference(quarter, turned));
    let b = sum(quarter, turned);
    if comptime!(is_reversed) {
        difference(times(conjugate(a), row), times(conjugate(b), far))
    } else {
        sum(times(a, row), times(b, far))
    }
}

/// Bin k of the correlation of rows x and g from sums over the batch: `direct` and `crossed` are Σ X[k]* G[k] and
/// Σ X[N − k] G[k], `far_direct` and `far_crossed` the same of bin N − k, and `w` is exp(−2πi k/N).
///
/// It is [`convolved`] with x as the reversed kernel, whose products are in the sums.
#[cube]
pub fn correlated(direct: Complex, crossed: Complex, far_direct: Complex, far_crossed: Complex, w: Complex) -> Complex {
    let near = scaled(0.25f32, difference(direct, crossed));
    let far = scaled(0.25f32, difference(conjugate(far_crossed), conjugate(far_direct)));
    let turned = times(sum(near, far), conjugate(w));
    difference(sum(scaled(0.5f32, sum(direct, crossed)), difference(near, far)), turned)
}

/// The spectra of convolutions `[rows, N]` from the spectra of rows and kernels.
#[cube(launch, launch_unchecked)]
pub fn convolve_spectra(
    rows: &ComplexBuffers,
    kernels: &ComplexBuffers,
    table: &[Complex],
    output: &mut ComplexBuffers,
    shape: ElementShape,
    #[comptime] points: u32,
    #[comptime] is_reversed: bool,
) {
    let place = ABSOLUTE_POS as u32;
    if place >= shape.rows * points {
        terminate!();
    }
    // Adjacent units take adjacent bins of a row, and of the spectrum of its channel's kernel.
    let (row, k) = (place / points, place % points);
    let mirror = mirrored(k, points);
    let kernel = (shape.before + row) % shape.channels * points;
    let (near, far) = (value(rows, row * points + k), value(rows, row * points + mirror));
    let (near_kernel, far_kernel) = (value(kernels, kernel + k), value(kernels, kernel + mirror));
    let convolution = convolved(near, far, near_kernel, far_kernel, root(table, 0u32, k, points), is_reversed);
    output.re[place as usize] = convolution.extract(0usize);
    output.im[place as usize] = convolution.extract(1usize);
}

/// Adds the products of the spectra X and G of rows to the sums of their channels, in the order of the rows: `sums`
/// `[channels, 2, N]`, Σ X[k]* G[k] and Σ X[N − k] G[k].
#[cube(launch, launch_unchecked)]
pub fn add_element_products(
    signal: &ComplexBuffers,
    grad: &ComplexBuffers,
    sums: &mut ComplexBuffers,
    shape: ElementShape,
    #[comptime] points: u32,
) {
    let place = ABSOLUTE_POS as u32;
    if place >= min(shape.rows, shape.channels) * points {
        terminate!();
    }
    // A unit per bin of the channels that the launch has rows of.
    let (first, k) = (place / points, place % points);
    let channel = (shape.before + first) % shape.channels;
    let mirror = mirrored(k, points);
    let to = channel * comptime!(2 * points) + k;
    let mut direct = complex(0.0f32, 0.0f32);
    let mut crossed = complex(0.0f32, 0.0f32);
    // Start from the sums of earlier launches, so that a batch may be cut into launches.
    if shape.before + first >= shape.channels {
        direct = complex(sums.re[to as usize], sums.im[to as usize]);
        crossed = complex(sums.re[(to + points) as usize], sums.im[(to + points) as usize]);
    }
    for row in range_stepped(first, shape.rows, shape.channels) {
        let z = value(grad, row * points + k);
        let far = value(signal, row * points + mirror);
        direct = plus_times_conjugate(direct, z, value(signal, row * points + k));
        // Products with X[N − k]: `plus_times_conjugate` conjugates its last argument, so that takes X[N − k]*.
        crossed = plus_times_conjugate(crossed, z, complex(far.extract(0usize), -far.extract(1usize)));
    }
    sums.re[to as usize] = direct.extract(0usize);
    sums.im[to as usize] = direct.extract(1usize);
    sums.re[(to + points) as usize] = crossed.extract(0usize);
    sums.im[(to + points) as usize] = crossed.extract(1usize);
}

/// The spectra of correlations `[rows, N]` from sums of products `[rows, 2, N]`.
#[cube(launch, launch_unchecked)]
pub fn correlated_spectra(
    sums: &ComplexBuffers,
    table: &[Complex],
    output: &mut ComplexBuffers,
    rows: u32,
    #[comptime] points: u32,
) {
    let place = ABSOLUTE_POS as u32;
    if place >= rows * points {
        terminate!();
    }
    // Each row has both sums of bin k, and those of its mirror image.
    let (row, k) = (place / points, place % points);
    let direct = row * comptime!(2 * points);
    let crossed = direct + points;
    let mirror = mirrored(k, points);
    let correlation = correlated(
        value(sums, direct + k),
        value(sums, crossed + k),
        value(sums, direct + mirror),
        value(sums, crossed + mirror),
        root(table, 0u32, k, points),
    );
    output.re[place as usize] = correlation.extract(0usize);
    output.im[place as usize] = correlation.extract(1usize);
}

/// Stores the samples of pairs `[rows, N]` as rows of `len`, times factors.
#[cube(launch, launch_unchecked)]
pub fn store_samples(
    pairs: &ComplexBuffers,
    factors: &[f32],
    output: &mut [f32],
    shape: ElementShape,
    #[comptime] points: u32,
    #[comptime] has_factors: bool,
) {
    let place = ABSOLUTE_POS as u32;
    if place >= shape.rows * shape.len {
        terminate!();
    }
    let (row, at) = (place / shape.len, place % shape.len);
    // Adjacent units store adjacent samples: two of them read the parts of one pair.
    let mut sample = 0.0f32;
    if at < shape.samples {
        let from = (row * points + at / 2) as usize;
        sample = pairs.re[from];
        if at % 2 == 1 {
            sample = pairs.im[from];
        }
        if comptime!(has_factors) {
            sample = sample * factors[(row * shape.factor_stride + at) as usize];
        }
    }
    output[place as usize] = sample;
}

/// Rows of `len` values times factors.
#[cube(launch, launch_unchecked)]
pub fn multiply_rows(values: &[f32], factors: &[f32], output: &mut [f32], shape: ElementShape) {
    let place = ABSOLUTE_POS as u32;
    if place >= shape.rows * shape.len {
        terminate!();
    }
    // Adjacent units take adjacent values; rows of both factors may be further apart than they are long.
    let (row, at) = (place / shape.len, place % shape.len);
    let value = values[(row * shape.stride + at) as usize];
    output[place as usize] = value * factors[(row * shape.factor_stride + at) as usize];
}
