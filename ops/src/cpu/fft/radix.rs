//! Transforms of 2 to 16 values across registers, and transpositions.
//!
//! A pass of radix 16 is 4 × 4: two steps of radix 4, with the values between them in memory. Sixteen complex values take
//! all of 32 registers, and leave none for twiddles and constants. A compiler that may order the operations as it likes
//! then moves values to the stack and back many times; so each is stored once by either step.
//!
//! With sixteen lanes, the transposition before the lane pass is part of the steps, four registers at a time. The first
//! pass transposes the 4 × 4 matrices of each quad, which are four lanes of four columns, and the lane pass those of one
//! quad of each of four registers.

use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::atomic::{Ordering, compiler_fence};

use crate::cpu::fft::plan::FftPlan;
use crate::cpu::fft::prefetch::Prefetch;
use crate::cpu::fft::source::{ColumnSink, ColumnSource};
use crate::cpu::isa::register::{Complex, Register};

/// The transform of `R` values: 2, 4, 8 or 16.
#[inline(always)]
pub(in crate::cpu) fn radix<V: Register, const R: usize>(mut x: [Complex<V>; R]) -> [Complex<V>; R] {
    match R {
        2 => (x[0], x[1]) = (x[0].plus(x[1]), x[0].minus(x[1])),
        4 => [x[0], x[1], x[2], x[3]] = radix4([x[0], x[1], x[2], x[3]]),
        8 => {
            // Radix 2, then a transform of 4 for the even outputs and a rotated one for the odd.
            let sums = [x[0].plus(x[4]), x[1].plus(x[5]), x[2].plus(x[6]), x[3].plus(x[7])];
            let differences = [x[0].minus(x[4]), x[1].minus(x[5]), x[2].minus(x[6]), x[3].minus(x[7])];
            [x[0], x[2], x[4], x[6]] = radix4(sums);
            [x[1], x[3], x[5], x[7]] = rotated_radix4::<V, 2>(differences);
        }
        _ => {
            // Radix 4 twice, the rotations between them part of the second transforms.
            let a = radix4([x[0], x[4], x[8], x[12]]);
            let b = radix4([x[1], x[5], x[9], x[13]]);
            let c = radix4([x[2], x[6], x[10], x[14]]);
            let d = radix4([x[3], x[7], x[11], x[15]]);
            [x[0], x[4], x[8], x[12]] = radix4([a[0], b[0], c[0], d[0]]);
            [x[1], x[5], x[9], x[13]] = rotated_radix4::<V, 1>([a[1], b[1], c[1], d[1]]);
            [x[2], x[6], x[10], x[14]] = rotated_radix4::<V, 2>([a[2], b[2], c[2], d[2]]);
            [x[3], x[7], x[11], x[15]] = rotated_radix4::<V, 3>([a[3], b[3], c[3], d[3]]);
        }
    }
    x
}

#[inline(always)]
pub(in crate::cpu::fft) fn radix4<V: Register>([a, b, c, d]: [Complex<V>; 4]) -> [Complex<V>; 4] {
    let (sum_ac, difference_ac) = (a.plus(c), a.minus(c));
    let (sum_bd, difference_bd) = (b.plus(d), b.minus(d));
    [
        sum_ac.plus(sum_bd),
        difference_ac.minus_i(difference_bd),
        sum_ac.minus(sum_bd),
        difference_ac.plus_i(difference_bd),
    ]
}

/// The transform of x\[j\] exp(-2πi j K / 16), j = 0..4, for K from 0 to 3.
///
/// A rotation is a common factor times a rotation by its tangent, and the factor goes into the fused operations that
/// follow.
#[inline(always)]
pub(in crate::cpu::fft) fn rotated_radix4<V: Register, const K: usize>(
    [a, b, c, d]: [Complex<V>; 4],
) -> [Complex<V>; 4] {
    // The standard library has no constants for these.
    const COS: f64 = 0.923_879_532_511_286_7;
    const TAN: f64 = 0.414_213_562_373_095_03;
    debug_assert!((COS - (PI / 8.0).cos()).abs() < 1e-15 && (TAN - (PI / 8.0).tan()).abs() < 1e-15);
    let token = a.re.token();
    let cos = V::splat(token, COS as f32);
    let tan = V::splat(token, TAN as f32);
    let diagonal = V::splat(token, FRAC_1_SQRT_2 as f32);
    // x exp(-3πi/8) / COS.
    let steep = |x: Complex<V>| Complex { re: x.re.mul_add(tan, x.im), im: x.im.mul_sub(tan, x.re) };
    match K {
        0 => radix4([a, b, c, d]),
        1 => {
            let (b, c, d) = (b.minus_i_scaled(tan, b), c.minus_i(c), steep(d));
            finish(a.plus_scaled(diagonal, c), a.minus_scaled(diagonal, c), b.plus(d), b.minus(d), cos)
        }
        2 => {
            let (b, d) = (b.minus_i(b), d.plus_i(d));
            finish(a.minus_i(c), a.plus_i(c), b.minus(d), b.plus(d), diagonal)
        }
        _ => {
            let (b, c, d) = (steep(b), c.plus_i(c), d.minus_i_scaled(tan, d));
            finish(a.minus_scaled(diagonal, c), a.plus_scaled(diagonal, c), b.minus(d), b.plus(d), cos)
        }
    }
}

/// The second half of [`radix4`], the sum and difference of b and d short of `factor`.
#[inline(always)]
fn finish<V: Register>(
    sum_ac: Complex<V>,
    difference_ac: Complex<V>,
    sum_bd: Complex<V>,
    difference_bd: Complex<V>,
    factor: V,
) -> [Complex<V>; 4] {
    [
        sum_ac.plus_scaled(factor, sum_bd),
        difference_ac.minus_i_scaled(factor, difference_bd),
        sum_ac.minus_scaled(factor, sum_bd),
        difference_ac.plus_i_scaled(factor, difference_bd),
    ]
}

/// The `L` x `L` matrix transposed, `L` the lanes of a register: lane `j` of result `i` is lane `i` of `rows[j]`.
#[inline(always)]
pub(in crate::cpu) fn transpose<V: Register, const L: usize>(mut rows: [V; L]) -> [V; L] {
    let r = &mut rows;
    match L {
        4 => [r[0], r[1], r[2], r[3]] = V::transpose_quads([r[0], r[1], r[2], r[3]]),
        // Quads within registers, then the quads themselves.
        8 => {
            let a = V::transpose_quads([r[0], r[1], r[2], r[3]]);
            let b = V::transpose_quads([r[4], r[5], r[6], r[7]]);
            [r[0], r[4], r[1], r[5]] = V::exchange_quads([a[0], b[0], a[1], b[1]]);
            [r[2], r[6], r[3], r[7]] = V::exchange_quads([a[2], b[2], a[3], b[3]]);
        }
        _ => {
            let a = V::transpose_quads([r[0], r[1], r[2], r[3]]);
            let b = V::transpose_quads([r[4], r[5], r[6], r[7]]);
            let c = V::transpose_quads([r[8], r[9], r[10], r[11]]);
            let d = V::transpose_quads([r[12], r[13], r[14], r[15]]);
            [r[0], r[4], r[8], r[12]] = V::exchange_quads([a[0], b[0], c[0], d[0]]);
            [r[1], r[5], r[9], r[13]] = V::exchange_quads([a[1], b[1], c[1], d[1]]);
            [r[2], r[6], r[10], r[14]] = V::exchange_quads([a[2], b[2], c[2], d[2]]);
            [r[3], r[7], r[11], r[15]] = V::exchange_quads([a[3], b[3], c[3], d[3]]);
        }
    }
    rows
}

/// The first pass over columns, on the values of `source` → `work` `[columns]`, in sixteen blocks; if it is the only
/// pass, with the twiddles of the lanes.
///
/// Block k has columns k, k + 16, k + 32, … of the spectrum, or with sixteen lanes what [`value_at`] tells.
#[inline(always)]
pub(super) fn first_pass<V: Register>(
    token: V::Token,
    plan: &FftPlan,
    source: impl ColumnSource<V>,
    work: &mut [Complex<V>],
    prefetcher: &mut impl Prefetch,
) {
    let len = work.len() / 16;
    let twiddles = if len == 1 {
        Twiddles::OfLanes(plan.lane_twiddles(token).as_chunks().0)
    } else {
        Twiddles::OfColumns(&plan.passes[0].twiddles.as_chunks().0[..len])
    };
    // Transform c joins the columns c, c + len, c + 2 len, …
    for c in 0..len {
        prefetcher.transform::<V>();
        // Radix 4 over values j, j + 4, j + 8 and j + 12; result k goes to block 4 j + k.
        for j in 0..4 {
            let x = [
                source.column(j * len + c),
                source.column((j + 4) * len + c),
                source.column((j + 8) * len + c),
                source.column((j + 12) * len + c),
            ];
            store_four(radix4(x), work, 4 * j * len + c, len);
        }
        end_step();
        second_step::<V, 0>(token, &twiddles, c, work);
        second_step::<V, 1>(token, &twiddles, c, work);
        second_step::<V, 2>(token, &twiddles, c, work);
        second_step::<V, 3>(token, &twiddles, c, work);
        end_step();
    }
}

/// Factors on the results of the first pass.
enum Twiddles<'a, V> {
    /// exp(-2πi c q / columns) for each transform c and result q, the same for all lanes.
    OfColumns(&'a [[[f32; 2]; 16]]),
    /// Those of the lanes, of each block.
    OfLanes(&'a [[Complex<V>; 16]]),
}

/// Radix 4 over j, on results K of the first step of transform `c`: values K, K + 4, K + 8 and K + 12 of the transform.
#[inline(always)]
fn second_step<V: Register, const K: usize>(
    token: V::Token,
    twiddles: &Twiddles<'_, V>,
    c: usize,
    work: &mut [Complex<V>],
) {
    let len = work.len() / 16;
    let mut z = rotated_radix4::<V, K>(load_four(work, K * len + c, 4 * len));
    if let Twiddles::OfColumns(twiddles) = twiddles {
        for q in 0..4 {
            // The first twiddle is 1.
            if K + q > 0 {
                let [re, im] = twiddles[c][K + 4 * q];
                z[q] = z[q].times(Complex { re: V::splat(token, re), im: V::splat(token, im) });
            }
        }
    }
    // The four values are at hand here; those that are neighbours in the spectrum are not.
    if V::LANES == 16 {
        z = Complex::transpose_quads(z);
    }
    if let Twiddles::OfLanes(twiddles) = twiddles {
        for q in 0..4 {
            z[q] = z[q].times(twiddles[c][K + 4 * q]);
        }
    }
    store_four(z, work, K * len + c, 4 * len);
}

/// The column modulo 16, and the lane, of the value that `lane` of a block has after the first pass with sixteen lanes.
pub(super) fn value_at(block: usize, lane: usize) -> (usize, usize) {
    (block % 4 + 4 * (lane % 4), lane / 4 * 4 + block / 4)
}

/// The last pass over the columns from `first` on, and the twiddles of the lanes.
///
/// Position p of sixteen then has value [`value_after_last_pass`] of their transform.
#[inline(always)]
pub(super) fn last_pass<V: Register>(
    token: V::Token,
    plan: &FftPlan,
    first: usize,
    work: &mut [Complex<V>],
    prefetcher: &mut impl Prefetch,
) {
    let blocks = work.as_chunks_mut::<16>().0;
    let twiddles = &plan.lane_twiddles(token)[first..].as_chunks::<16>().0[..blocks.len()];
    for (block, twiddles) in blocks.iter_mut().zip(twiddles) {
        prefetcher.transform::<V>();
        // Radix 4 over values j, j + 4, j + 8 and j + 12, in their places.
        for j in 0..4 {
            store_four(radix4(load_four(block, j, 4)), block, j, 4);
        }
        end_step();
        second_step_in_place::<V, 0>(block, twiddles);
        second_step_in_place::<V, 1>(block, twiddles);
        second_step_in_place::<V, 2>(block, twiddles);
        second_step_in_place::<V, 3>(block, twiddles);
        end_step();
    }
}

/// Radix 4 over j, on results K of the first step of a last pass.
#[inline(always)]
fn second_step_in_place<V: Register, const K: usize>(block: &mut [Complex<V>; 16], twiddles: &[Complex<V>; 16]) {
    let mut z = rotated_radix4::<V, K>(load_four(block, 4 * K, 1));
    for q in 0..4 {
        z[q] = z[q].times(twiddles[4 * K + q]);
    }
    store_four(z, block, 4 * K, 1);
}

/// The value of a transform of sixteen that `position` has after [`last_pass`].
pub(super) fn value_after_last_pass(position: usize) -> usize {
    position / 4 + 4 * (position % 4)
}

/// The transform over sixteen lanes, which overwrites `work`.
#[inline(always)]
pub(super) fn lane_pass<V: Register>(
    plan: &FftPlan,
    work: &mut [Complex<V>],
    mut sink: impl ColumnSink<V>,
    prefetcher: &mut impl Prefetch,
) {
    let len = work.len() / 16;
    // Sixteen columns that are neighbours in the spectrum, at one position of every block.
    for (group, &start) in plan.entry_at[..len].iter().enumerate() {
        prefetcher.transform::<V>();
        // The mask tells the compiler that the index is in bounds; it changes no value.
        let at = start as usize & (len - 1);
        for j in 0..4 {
            // Blocks 4 j to 4 j + 3 have lanes j, j + 4, j + 8 and j + 12 of the columns. Columns become lanes, in
            // order, and these lanes registers; radix 4 over them.
            let lanes = Complex::transpose_across_quads(load_four(work, 4 * j * len + at, len));
            store_four(radix4(lanes), work, 4 * j * len + at, len);
        }
        end_step();
        second_step_to_sink::<V, 0>(work, at, group, &mut sink);
        second_step_to_sink::<V, 1>(work, at, group, &mut sink);
        second_step_to_sink::<V, 2>(work, at, group, &mut sink);
        second_step_to_sink::<V, 3>(work, at, group, &mut sink);
        end_step();
    }
}

/// Radix 4 over j, on results K of the first step of a lane pass.
#[inline(always)]
fn second_step_to_sink<V: Register, const K: usize>(
    work: &[Complex<V>],
    at: usize,
    group: usize,
    sink: &mut impl ColumnSink<V>,
) {
    let len = work.len() / 16;
    let z = rotated_radix4::<V, K>(load_four(work, K * len + at, 4 * len));
    for (q, &z) in z.iter().enumerate() {
        sink.store((K + 4 * q) * len + group, z);
    }
}

/// Keeps the compiler from holding values in registers from one step to the next. It takes a fence for something that reads
/// and writes all memory, so that it stores what a step has computed, and loads it again; no instruction comes of it, and
/// no result depends on it.
#[inline(always)]
fn end_step() {
    compiler_fence(Ordering::SeqCst);
}

/// Four values from `first` on, `step` apart.
#[inline(always)]
fn load_four<V: Register>(from: &[Complex<V>], first: usize, step: usize) -> [Complex<V>; 4] {
    [from[first], from[first + step], from[first + 2 * step], from[first + 3 * step]]
}

/// Stores four values from `first` on, `step` apart.
#[inline(always)]
fn store_four<V: Register>(values: [Complex<V>; 4], into: &mut [Complex<V>], first: usize, step: usize) {
    for q in 0..4 {
        into[first + q * step] = values[q];
    }
}
