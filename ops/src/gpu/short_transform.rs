//! Short transforms over values in a unit's registers.
//!
//! Products are written with `fma`, because not every compiler contracts them.

use cubecl::prelude::*;

use crate::gpu::complex::{Complex, ComplexValues, complex};

/// Largest prime radix: the registers that a unit needs grow with it, and operations per value too.
pub const MAX_PRIME: u32 = 31;

/// Transforms the `radix` values at `base`, `base + stride`, … in place; output `m` is left at position
/// [`output_position`]`(m, radix)`. No prime factor of the radix is greater than [`MAX_PRIME`].
#[cube]
pub fn transform_radix(z: &mut ComplexValues, #[comptime] base: u32, #[comptime] stride: u32, #[comptime] radix: u32) {
    let first = comptime!(first_radix(radix));
    let rest = comptime!(radix / first);
    // Transforms of the first radix over values `rest` apart, then the rotation of each output.
    #[unroll]
    for j in 0..rest {
        if comptime!(first == 4) {
            transform4(z, comptime!(base + j * stride), comptime!(rest * stride));
        } else if comptime!(first == 2) {
            transform2(z, comptime!(base + j * stride), comptime!(rest * stride));
        } else if comptime!(first > 2) {
            transform_odd(z, comptime!(base + j * stride), comptime!(rest * stride), first);
        }
        #[unroll]
        for m in 1..first {
            rotate(z, comptime!(base + (m * rest + j) * stride), comptime!(m * j), radix);
        }
    }
    // Transforms of the remaining radix over each block of outputs.
    if comptime!(rest > 1) {
        #[unroll]
        for m in 0..first {
            transform_radix(z, comptime!(base + m * rest * stride), stride, rest);
        }
    }
}

/// Position of output `m` of a transform of `radix` values after [`transform_radix`].
pub fn output_position(m: u32, radix: u32) -> u32 {
    let first = first_radix(radix);
    let rest = radix / first;
    if rest <= 1 { m } else { (m % first) * rest + output_position(m / first, rest) }
}

/// The radix of the first step of a transform of `radix` values: 4, 2 or an odd prime, or 1 of a single value.
fn first_radix(radix: u32) -> u32 {
    match radix {
        0 | 1 => 1,
        _ if radix.is_power_of_two() => 4 >> (radix.trailing_zeros() % 2),
        _ if radix.is_multiple_of(4) => 4,
        _ => (2..=radix).find(|&factor| radix.is_multiple_of(factor)).unwrap_or(radix),
    }
}

/// Real additions and multiplications of a transform of `radix` values, a fused pair as one.
pub fn operations(radix: u32) -> u32 {
    let first = first_radix(radix);
    let own = match first {
        1 => 0,
        2 => 4,
        4 => 16,
        _ => (first - 1) * (first + 4),
    };
    match radix / first {
        1 => own,
        rest => rest * own + first * operations(rest) + 6 * (first - 1) * (rest - 1),
    }
}

#[cube]
fn transform2(z: &mut ComplexValues, #[comptime] base: u32, #[comptime] stride: u32) {
    let (a, b) = comptime!((base as usize, (base + stride) as usize));
    let (ar, ai) = (z.re[a], z.im[a]);
    let (br, bi) = (z.re[b], z.im[b]);
    z.set(a, ar + br, ai + bi);
    z.set(b, ar - br, ai - bi);
}

#[cube]
fn transform4(z: &mut ComplexValues, #[comptime] base: u32, #[comptime] stride: u32) {
    let a = comptime!(base as usize);
    let b = comptime!((base + stride) as usize);
    let c = comptime!((base + 2 * stride) as usize);
    let d = comptime!((base + 3 * stride) as usize);
    let (sr, si) = (z.re[a] + z.re[c], z.im[a] + z.im[c]);
    let (tr, ti) = (z.re[a] - z.re[c], z.im[a] - z.im[c]);
    let (ur, ui) = (z.re[b] + z.re[d], z.im[b] + z.im[d]);
    let (vr, vi) = (z.re[b] - z.re[d], z.im[b] - z.im[d]);
    z.set(a, sr + ur, si + ui);
    // t − iv and t + iv: a multiplication by i exchanges the parts.
    z.set(b, tr + vi, ti - vr);
    z.set(c, sr - ur, si - ui);
    z.set(d, tr - vi, ti + vr);
}

/// Transform of an odd prime number of values. Values k and radix − k come in pairs, whose sums meet cosines and whose
/// differences meet sines: outputs m and radix − m differ in the sign of the latter.
#[cube]
fn transform_odd(z: &mut ComplexValues, #[comptime] base: u32, #[comptime] stride: u32, #[comptime] radix: u32) {
    let half = comptime!((radix - 1) / 2);
    // First half: sums and differences of the pairs; the sum of all values is output 0.
    let mut sums = ComplexValues::none();
    let mut gaps = ComplexValues::none();
    let mut totals = ComplexValues::none();
    let (x, y) = (z.re[comptime!(base as usize)], z.im[comptime!(base as usize)]);
    totals.push(x, y);
    #[unroll]
    for k in 1..comptime!(half + 1) {
        let a = comptime!((base + k * stride) as usize);
        let b = comptime!((base + (radix - k) * stride) as usize);
        let pair = comptime!(k as usize - 1);
        sums.push(z.re[a] + z.re[b], z.im[a] + z.im[b]);
        gaps.push(z.re[a] - z.re[b], z.im[a] - z.im[b]);
        totals.push(totals.re[pair] + sums.re[pair], totals.im[pair] + sums.im[pair]);
    }
    z.set(comptime!(base as usize), totals.re[comptime!(half as usize)], totals.im[comptime!(half as usize)]);
    // Second half: outputs m and radix − m from an even part e, value 0 and the sums times cosines, and an odd part o,
    // the differences times sines, which both of them take, times -i and i.
    #[unroll]
    for m in 1..comptime!(half + 1) {
        let mut even = ComplexValues::none();
        let mut odd = ComplexValues::none();
        even.push(x, y);
        #[unroll]
        for k in 1..comptime!(half + 1) {
            let pair = comptime!(k as usize - 1);
            let c = f32::new(comptime!(cosine(m * k % radix, radix)));
            even.push(fma(sums.re[pair], c, even.re[pair]), fma(sums.im[pair], c, even.im[pair]));
            let s = f32::new(comptime!(sine(m * k % radix, radix)));
            if comptime!(k == 1) {
                odd.push(gaps.re[pair] * s, gaps.im[pair] * s);
            } else {
                let before = comptime!(pair - 1);
                odd.push(fma(gaps.re[pair], s, odd.re[before]), fma(gaps.im[pair], s, odd.im[before]));
            }
        }
        let last = comptime!(half as usize);
        let (er, ei) = (even.re[last], even.im[last]);
        let (or, oi) = (odd.re[comptime!(last - 1)], odd.im[comptime!(last - 1)]);
        let a = comptime!((base + m * stride) as usize);
        let b = comptime!((base + (radix - m) * stride) as usize);
        z.set(a, er + oi, ei - or);
        z.set(b, er - oi, ei + or);
    }
}

/// Multiplies value `at` by exp(-2πi·turn/of); quarters of a turn take no multiplication.
#[cube]
fn rotate(z: &mut ComplexValues, #[comptime] at: u32, #[comptime] turn: u32, #[comptime] of: u32) {
    // Which turn it is, is known as the kernel is compiled: only one branch is left.
    let at = comptime!(at as usize);
    let eighths = comptime!(8 * (turn % of) / of);
    let exact = comptime!(8 * (turn % of) % of == 0);
    let (x, y) = (z.re[at], z.im[at]);
    if comptime!(exact && eighths == 0) {
    } else if comptime!(exact && eighths == 2) {
        z.set(at, y, -x);
    } else if comptime!(exact && eighths == 4) {
        z.set(at, -x, -y);
    } else if comptime!(exact && eighths == 6) {
        z.set(at, -y, x);
    } else {
        // Any other turn: (x + iy)(c − is), each part with one rounding less by a fused product.
        let c = comptime!(cosine(turn, of));
        let s = comptime!(sine(turn, of));
        let c = f32::new(c);
        let s = f32::new(s);
        z.set(at, fma(y, s, x * c), fma(y, c, -(x * s)));
    }
}

/// exp(−2πi·turn/of) as a constant.
#[cube]
pub fn root_of_unity(#[comptime] turn: u32, #[comptime] of: u32) -> Complex {
    complex(f32::new(comptime!(cosine(turn, of))), f32::new(comptime!(-sine(turn, of))))
}

/// cos(2π·turn/of), rounded once.
fn cosine(turn: u32, of: u32) -> f32 {
    (std::f64::consts::TAU * f64::from(turn) / f64::from(of)).cos() as f32
}

/// sin(2π·turn/of), rounded once.
fn sine(turn: u32, of: u32) -> f32 {
    (std::f64::consts::TAU * f64::from(turn) / f64::from(of)).sin() as f32
}
