//! The power of the transform of one row's pair of segments, in columns of registers.
//!
//! With n = L · columns, L the lanes, sample j = L c + l is lane l of register c. The transform over columns needs no
//! shuffle: radix-4 passes in place, the last of which multiplies by exp(-2πi k l / n) and transposes the quads of
//! four registers. Then for every L columns of the spectrum quads are exchanged, and the transform over lanes is one
//! across registers again. Its squared magnitudes are added to sums whose order [`fold`](super::fold) undoes.

use super::butterflies::{exchange, radix4, rotated_radix4};
use super::lanes::{Complex, Lanes};
use super::plan::{Pass, Plan};

/// A pair of segments on their way into a transform.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'a> {
    /// `[n]`.
    pub first: &'a [f32],
    /// `[n]`; none for an odd last segment.
    pub second: Option<&'a [f32]>,
    /// `[n]`.
    pub window: &'a [f32],
    /// What is taken off each.
    pub offsets: Option<[f32; 2]>,
}

/// Writes |Z|² of `pair` to `sums`, or adds it. `work` and `sums` have `plan.columns` registers. `N` is the length, if the
/// code is to be made for that alone, or 0.
#[inline(always)]
pub(super) fn add_power<V: Lanes, const N: usize>(
    plan: &Plan,
    pair: &Pair<'_>,
    add: bool,
    work: &mut [Complex<V>],
    sums: &mut [V],
) {
    let columns = if N > 0 { N / V::COUNT } else { plan.columns };
    let (work, sums) = (&mut work[..columns], &mut sums[..columns]);
    match (pair.second, pair.offsets) {
        (Some(second), None) => enter::<V, true, false>(&plan.passes[0], pair, second, work),
        (Some(second), Some(_)) => enter::<V, true, true>(&plan.passes[0], pair, second, work),
        (None, None) => enter::<V, false, false>(&plan.passes[0], pair, pair.first, work),
        (None, Some(_)) => enter::<V, false, true>(&plan.passes[0], pair, pair.first, work),
    }
    for pass in plan.passes.iter().skip(1) {
        for block in work.chunks_exact_mut(pass.size) {
            inner_pass(pass, block);
        }
    }
    last_pass(plan, work);
    if add {
        lanes_pass::<V, true>(plan, work, sums);
    } else {
        lanes_pass::<V, false>(plan, work, sums);
    }
}

/// `slice` in `N` parts of `len`.
#[inline(always)]
fn parts<A, const N: usize>(slice: &[A], len: usize) -> [&[A]; N] {
    let mut parts: [&[A]; N] = [&[]; N];
    for (index, part) in parts.iter_mut().enumerate() {
        *part = &slice[index * len..][..len];
    }
    parts
}

/// The first pass, on the tapered samples.
#[inline(always)]
fn enter<V: Lanes, const PAIRED: bool, const DETREND: bool>(
    pass: &Pass,
    pair: &Pair<'_>,
    second: &[f32],
    work: &mut [Complex<V>],
) {
    let offsets = pair.offsets.unwrap_or_default().map(V::splat);
    let tapered = |window: &V::Array, first: &V::Array, second: &V::Array| {
        let window = V::load(window);
        let tapered = |samples: &V::Array, offset: V| {
            let samples = V::load(samples);
            window * if DETREND { samples - offset } else { samples }
        };
        let im = if PAIRED { tapered(second, offsets[1]) } else { V::splat(0.0) };
        Complex { re: tapered(first, offsets[0]), im }
    };
    let (window, first, second) = (V::arrays(pair.window), V::arrays(pair.first), V::arrays(second));
    if pass.radix == 4 {
        let len = work.len() / 4;
        let ([w0, w1, w2, w3], [f0, f1, f2, f3]) = (parts(window, len), parts(first, len));
        let [s0, s1, s2, s3] = parts(second, len);
        let (out0, rest) = work.split_at_mut(len);
        let (out1, rest) = rest.split_at_mut(len);
        let (out2, out3) = rest.split_at_mut(len);
        let out3 = &mut out3[..len];
        for j in 0..len {
            let values = [
                tapered(&w0[j], &f0[j], &s0[j]),
                tapered(&w1[j], &f1[j], &s1[j]),
                tapered(&w2[j], &f2[j], &s2[j]),
                tapered(&w3[j], &f3[j], &s3[j]),
            ];
            [out0[j], out1[j], out2[j], out3[j]] = twiddled(pass, j, radix4(values));
        }
    } else {
        let len = work.len() / 2;
        let ([w0, w1], [f0, f1], [s0, s1]) = (parts(window, len), parts(first, len), parts(second, len));
        let (out0, out1) = work.split_at_mut(len);
        let (out1, twiddles) = (&mut out1[..len], &pass.twiddles[..len]);
        for j in 0..len {
            let (a, b) = (tapered(&w0[j], &f0[j], &s0[j]), tapered(&w1[j], &f1[j], &s1[j]));
            out0[j] = a.plus(b);
            out1[j] = a.minus(b).times(splat(twiddles[j]));
        }
    }
}

/// A pass of radix 4 over one block.
#[inline(always)]
fn inner_pass<V: Lanes>(pass: &Pass, block: &mut [Complex<V>]) {
    let len = pass.size / 4;
    let (part0, rest) = block.split_at_mut(len);
    let (part1, rest) = rest.split_at_mut(len);
    let (part2, part3) = rest.split_at_mut(len);
    let part3 = &mut part3[..len];
    for j in 0..len {
        let values = radix4([part0[j], part1[j], part2[j], part3[j]]);
        [part0[j], part1[j], part2[j], part3[j]] = twiddled(pass, j, values);
    }
}

#[inline(always)]
fn twiddled<V: Lanes>(pass: &Pass, j: usize, [a, b, c, d]: [Complex<V>; 4]) -> [Complex<V>; 4] {
    match pass.twiddles.as_chunks::<3>().0.get(j) {
        Some(&[w1, w2, w3]) => [a, b.times(splat(w1)), c.times(splat(w2)), d.times(splat(w3))],
        None => [a, b, c, d],
    }
}

#[inline(always)]
fn splat<V: Lanes>([re, im]: [f32; 2]) -> Complex<V> {
    Complex { re: V::splat(re), im: V::splat(im) }
}

/// The last pass over columns, the twiddles of the lanes, and the transposition of quads.
#[inline(always)]
fn last_pass<V: Lanes>(plan: &Plan, work: &mut [Complex<V>]) {
    let blocks = work.as_chunks_mut::<4>().0;
    let twiddles = &plan.lane_twiddles().as_chunks::<4>().0[..blocks.len()];
    if blocks.len() < 4 {
        for (block, twiddles) in blocks.iter_mut().zip(twiddles) {
            *block = into_lanes(radix4(*block), twiddles);
        }
        return;
    }
    let (blocks, twiddles) = (blocks.as_chunks_mut::<4>().0, twiddles.as_chunks::<4>().0);
    for ([b0, b1, b2, b3], [t0, t1, t2, t3]) in blocks.iter_mut().zip(twiddles) {
        *b0 = into_lanes(rotated_radix4::<V, 0>(*b0), t0);
        *b1 = into_lanes(rotated_radix4::<V, 1>(*b1), t1);
        *b2 = into_lanes(rotated_radix4::<V, 2>(*b2), t2);
        *b3 = into_lanes(rotated_radix4::<V, 3>(*b3), t3);
    }
}

#[inline(always)]
fn into_lanes<V: Lanes>([a, b, c, d]: [Complex<V>; 4], twiddles: &[Complex<V>; 4]) -> [Complex<V>; 4] {
    let (a, b) = (a.times(twiddles[0]), b.times(twiddles[1]));
    let (c, d) = (c.times(twiddles[2]), d.times(twiddles[3]));
    let values = [a, b, c, d];
    complex(V::transpose_quads(real(values)), V::transpose_quads(imaginary(values)))
}

/// The transform over lanes and its squared magnitudes: register `L κ + k` of `sums` gets L columns at row k.
#[inline(always)]
fn lanes_pass<V: Lanes, const ADD: bool>(plan: &Plan, work: &[Complex<V>], sums: &mut [V]) {
    let blocks = work.as_chunks::<4>().0;
    let quads = V::COUNT / 4;
    for (sums, group) in sums.chunks_exact_mut(V::COUNT).zip(plan.block_of.chunks_exact(quads)) {
        match (V::COUNT, group) {
            (16, &[a, b, c, d]) => {
                let x = exchanged([blocks[a as usize], blocks[b as usize], blocks[c as usize], blocks[d as usize]]);
                let x0 = radix4([x[0][0], x[1][0], x[2][0], x[3][0]]);
                let x1 = radix4([x[0][1], x[1][1], x[2][1], x[3][1]]);
                let x2 = radix4([x[0][2], x[1][2], x[2][2], x[3][2]]);
                let x3 = radix4([x[0][3], x[1][3], x[2][3], x[3][3]]);
                add_squares::<V, ADD>(rotated_radix4::<V, 0>([x0[0], x1[0], x2[0], x3[0]]), 0, sums);
                add_squares::<V, ADD>(rotated_radix4::<V, 1>([x0[1], x1[1], x2[1], x3[1]]), 1, sums);
                add_squares::<V, ADD>(rotated_radix4::<V, 2>([x0[2], x1[2], x2[2], x3[2]]), 2, sums);
                add_squares::<V, ADD>(rotated_radix4::<V, 3>([x0[3], x1[3], x2[3], x3[3]]), 3, sums);
            }
            (8, &[a, b]) => {
                let (a, b) = (blocks[a as usize], blocks[b as usize]);
                let [x, y, ..] = exchanged([a, b, a, b]);
                let sums_of_halves = [x[0].plus(y[0]), x[1].plus(y[1]), x[2].plus(y[2]), x[3].plus(y[3])];
                let differences = [x[0].minus(y[0]), x[1].minus(y[1]), x[2].minus(y[2]), x[3].minus(y[3])];
                add_squares::<V, ADD>(radix4(sums_of_halves), 0, sums);
                add_squares::<V, ADD>(rotated_radix4::<V, 2>(differences), 1, sums);
            }
            _ => add_squares::<V, ADD>(radix4(blocks[group[0] as usize]), 0, sums),
        }
    }
}

/// [`exchange`] of real and imaginary parts.
#[inline(always)]
fn exchanged<V: Lanes>([a, b, c, d]: [[Complex<V>; 4]; 4]) -> [[Complex<V>; 4]; 4] {
    let re = exchange([real(a), real(b), real(c), real(d)]);
    let im = exchange([imaginary(a), imaginary(b), imaginary(c), imaginary(d)]);
    [complex(re[0], im[0]), complex(re[1], im[1]), complex(re[2], im[2]), complex(re[3], im[3])]
}

#[inline(always)]
fn real<V: Lanes>([a, b, c, d]: [Complex<V>; 4]) -> [V; 4] {
    [a.re, b.re, c.re, d.re]
}

#[inline(always)]
fn imaginary<V: Lanes>([a, b, c, d]: [Complex<V>; 4]) -> [V; 4] {
    [a.im, b.im, c.im, d.im]
}

#[inline(always)]
fn complex<V: Lanes>(re: [V; 4], im: [V; 4]) -> [Complex<V>; 4] {
    [
        Complex { re: re[0], im: im[0] },
        Complex { re: re[1], im: im[1] },
        Complex { re: re[2], im: im[2] },
        Complex { re: re[3], im: im[3] },
    ]
}

#[inline(always)]
fn add_squares<V: Lanes, const ADD: bool>(values: [Complex<V>; 4], first: usize, sums: &mut [V]) {
    let step = V::COUNT / 4;
    let sums = &mut sums[..V::COUNT];
    let mut at = first;
    for z in values {
        let square = if ADD { z.im.mul_add(z.im, sums[at]) } else { z.im * z.im };
        sums[at] = z.re.mul_add(z.re, square);
        at += step;
    }
}
