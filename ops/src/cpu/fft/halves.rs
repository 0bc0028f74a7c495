//! Passes of radix 16 in two halves of radix 4, which meet in memory.
//!
//! Sixteen complex values and what they are multiplied by do not fit the registers. A compiler that may order the
//! operations as it likes then moves values to the stack and back many times; here each is stored once by either half.
//!
//! With sixteen lanes the halves also transpose, four registers at a time, so that the lane pass finds columns in lanes:
//! the first pass within quads, and the lane pass between them.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::cpu::fft::plan::FftPlan;
use crate::cpu::fft::prefetch::Prefetch;
use crate::cpu::fft::radix::{radix4, rotated_radix4};
use crate::cpu::fft::sink::ColumnSink;
use crate::cpu::fft::source::ColumnSource;
use crate::cpu::isa::register::{Complex, Register};

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
    // Transform d joins the columns d, d + len, d + 2 len, …
    for d in 0..len {
        prefetcher.transform::<V>();
        for j in 0..4 {
            let x = [
                source.column(j * len + d),
                source.column((j + 4) * len + d),
                source.column((j + 8) * len + d),
                source.column((j + 12) * len + d),
            ];
            store_four(radix4(x), work, 4 * j * len + d, len);
        }
        end_half();
        finish_first_pass::<V, 0>(token, plan, d, work);
        finish_first_pass::<V, 1>(token, plan, d, work);
        finish_first_pass::<V, 2>(token, plan, d, work);
        finish_first_pass::<V, 3>(token, plan, d, work);
        end_half();
    }
}

/// Values K, K + 4, K + 8 and K + 12 of transform `d` of the first pass.
#[inline(always)]
fn finish_first_pass<V: Register, const K: usize>(token: V::Token, plan: &FftPlan, d: usize, work: &mut [Complex<V>]) {
    let len = work.len() / 16;
    let mut z = rotated_radix4::<V, K>(load_four(work, K * len + d, 4 * len));
    if len > 1 {
        let twiddles = &plan.passes[0].twiddles.as_chunks::<16>().0[d];
        for q in 0..4 {
            // The first twiddle is 1.
            if K + q > 0 {
                let [re, im] = twiddles[K + 4 * q];
                z[q] = z[q].times(Complex { re: V::splat(token, re), im: V::splat(token, im) });
            }
        }
    }
    if V::LANES == 16 {
        z = transpose_within_quads(z);
    }
    if len == 1 {
        let twiddles = load_four(plan.lane_twiddles(token), K, 4);
        for q in 0..4 {
            z[q] = z[q].times(twiddles[q]);
        }
    }
    store_four(z, work, K * len + d, 4 * len);
}

/// The column, short of a multiple of sixteen, and the lane of the value that `lane` of a block has after the first
/// pass with sixteen lanes.
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
        for j in 0..4 {
            store_four(radix4(load_four(block, j, 4)), block, j, 4);
        }
        end_half();
        finish_last_pass::<V, 0>(block, twiddles);
        finish_last_pass::<V, 1>(block, twiddles);
        finish_last_pass::<V, 2>(block, twiddles);
        finish_last_pass::<V, 3>(block, twiddles);
        end_half();
    }
}

/// Values K, K + 4, K + 8 and K + 12 of a transform of the last pass.
#[inline(always)]
fn finish_last_pass<V: Register, const K: usize>(block: &mut [Complex<V>; 16], twiddles: &[Complex<V>; 16]) {
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
    // Sixteen columns that are neighbours in the spectrum, one value of each block.
    for (group, &start) in plan.entry_at[..len].iter().enumerate() {
        prefetcher.transform::<V>();
        // The mask tells the compiler that the index is in bounds; it changes no value.
        let at = start as usize & (len - 1);
        for j in 0..4 {
            // Lanes j, j + 4, j + 8 and j + 12 of sixteen columns.
            let [a, b, c, d] = load_four(work, 4 * j * len + at, len);
            let lanes = of_parts(
                V::transpose_quad_of_rows([a.re, b.re, c.re, d.re]),
                V::transpose_quad_of_rows([a.im, b.im, c.im, d.im]),
            );
            store_four(radix4(lanes), work, 4 * j * len + at, len);
        }
        end_half();
        finish_lane_pass::<V, 0>(work, at, group, &mut sink);
        finish_lane_pass::<V, 1>(work, at, group, &mut sink);
        finish_lane_pass::<V, 2>(work, at, group, &mut sink);
        finish_lane_pass::<V, 3>(work, at, group, &mut sink);
        end_half();
    }
}

/// Values K, K + 4, K + 8 and K + 12 of a group's transform over lanes.
#[inline(always)]
fn finish_lane_pass<V: Register, const K: usize>(
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

/// Four registers change places with the lanes of each quad.
#[inline(always)]
fn transpose_within_quads<V: Register>([a, b, c, d]: [Complex<V>; 4]) -> [Complex<V>; 4] {
    of_parts(V::transpose_quads([a.re, b.re, c.re, d.re]), V::transpose_quads([a.im, b.im, c.im, d.im]))
}

/// Tells the compiler to store what a half has computed, and to load it again.
#[inline(always)]
fn end_half() {
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

#[inline(always)]
fn of_parts<V: Register>(re: [V; 4], im: [V; 4]) -> [Complex<V>; 4] {
    let part = |i: usize| Complex { re: re[i], im: im[i] };
    [part(0), part(1), part(2), part(3)]
}
