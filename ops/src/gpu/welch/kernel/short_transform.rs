//! Short transforms over values in a unit's registers.
//!
//! Values stand in arrays that are indexed with constants only, so that compilers keep them in registers. Products are
//! written with `fma`, because not every compiler contracts them.

use cubecl::prelude::*;

use crate::gpu::complex::ComplexArray;

/// Transforms the `radix` (2, 4, 8, 16 or 32) values at `base`, `base + stride`, … in place; output `m` is left at
/// position [`output_position`]`(m, radix)`.
#[cube]
pub fn transform_radix(z: &mut ComplexArray, #[comptime] base: u32, #[comptime] stride: u32, #[comptime] radix: u32) {
    let first = comptime!(first_radix(radix));
    let rest = comptime!(radix / first);
    // Transforms of the first radix over values `rest` apart, then the rotation of each output.
    #[unroll]
    for j in 0..rest {
        if comptime!(first == 4) {
            transform4(z, comptime!(base + j * stride), comptime!(rest * stride));
        } else {
            transform2(z, comptime!(base + j * stride), comptime!(rest * stride));
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

/// The radix of the first step of a transform of `radix` values.
fn first_radix(radix: u32) -> u32 {
    if radix.trailing_zeros().is_multiple_of(2) { 4 } else { 2 }
}

#[cube]
fn transform2(z: &mut ComplexArray, #[comptime] base: u32, #[comptime] stride: u32) {
    let (a, b) = comptime!((base as usize, (base + stride) as usize));
    let (ar, ai) = (z.re[a], z.im[a]);
    let (br, bi) = (z.re[b], z.im[b]);
    z.re[a] = ar + br;
    z.im[a] = ai + bi;
    z.re[b] = ar - br;
    z.im[b] = ai - bi;
}

#[cube]
fn transform4(z: &mut ComplexArray, #[comptime] base: u32, #[comptime] stride: u32) {
    let a = comptime!(base as usize);
    let b = comptime!((base + stride) as usize);
    let c = comptime!((base + 2 * stride) as usize);
    let d = comptime!((base + 3 * stride) as usize);
    let (sr, si) = (z.re[a] + z.re[c], z.im[a] + z.im[c]);
    let (tr, ti) = (z.re[a] - z.re[c], z.im[a] - z.im[c]);
    let (ur, ui) = (z.re[b] + z.re[d], z.im[b] + z.im[d]);
    let (vr, vi) = (z.re[b] - z.re[d], z.im[b] - z.im[d]);
    z.re[a] = sr + ur;
    z.im[a] = si + ui;
    // t − iv and t + iv: a multiplication by i exchanges the parts.
    z.re[b] = tr + vi;
    z.im[b] = ti - vr;
    z.re[c] = sr - ur;
    z.im[c] = si - ui;
    z.re[d] = tr - vi;
    z.im[d] = ti + vr;
}

/// Multiplies value `at` by exp(-2πi·turn/of); quarters of a turn take no multiplication.
#[cube]
fn rotate(z: &mut ComplexArray, #[comptime] at: u32, #[comptime] turn: u32, #[comptime] of: u32) {
    let at = comptime!(at as usize);
    let eighths = comptime!(8 * (turn % of) / of);
    let exact = comptime!(8 * (turn % of) % of == 0);
    let (x, y) = (z.re[at], z.im[at]);
    if comptime!(exact && eighths == 0) {
    } else if comptime!(exact && eighths == 2) {
        z.re[at] = y;
        z.im[at] = -x;
    } else if comptime!(exact && eighths == 4) {
        z.re[at] = -x;
        z.im[at] = -y;
    } else if comptime!(exact && eighths == 6) {
        z.re[at] = -y;
        z.im[at] = x;
    } else {
        let c = comptime!(cosine(turn, of));
        let s = comptime!(sine(turn, of));
        let c = f32::new(c);
        let s = f32::new(s);
        z.re[at] = fma(y, s, x * c);
        z.im[at] = fma(y, c, -(x * s));
    }
}

/// cos(2π·turn/of), rounded once.
fn cosine(turn: u32, of: u32) -> f32 {
    (std::f64::consts::TAU * f64::from(turn) / f64::from(of)).cos() as f32
}

/// sin(2π·turn/of), rounded once.
fn sine(turn: u32, of: u32) -> f32 {
    (std::f64::consts::TAU * f64::from(turn) / f64::from(of)).sin() as f32
}
