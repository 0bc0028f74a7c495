//! Short transforms over values one unit holds.
//!
//! Values stand in arrays that are indexed with constants only, so that they become registers. Products are written
//! with `fma` because not every compiler contracts them.

use cubecl::prelude::*;

/// Transforms the `radix` (2, 4, 8, 16 or 32) values at `base`, `base + stride`, … in place; output `m` is left at
/// place [`place`]`(m, radix)`.
#[cube]
pub(super) fn dft(
    re: &mut Array<f32>,
    im: &mut Array<f32>,
    #[comptime] base: u32,
    #[comptime] stride: u32,
    #[comptime] radix: u32,
) {
    let first = comptime!(first_radix(radix));
    let rest = comptime!(radix / first);
    #[unroll]
    for j in 0..rest {
        if comptime!(first == 4) {
            dft4(re, im, comptime!(base + j * stride), comptime!(rest * stride));
        } else {
            dft2(re, im, comptime!(base + j * stride), comptime!(rest * stride));
        }
        #[unroll]
        for m in 1..first {
            rotate(re, im, comptime!(base + (m * rest + j) * stride), comptime!(m * j), radix);
        }
    }
    if comptime!(rest > 1) {
        #[unroll]
        for m in 0..first {
            dft(re, im, comptime!(base + m * rest * stride), stride, rest);
        }
    }
}

/// Where output `m` of a transform of `radix` values stands after [`dft`].
pub(super) fn place(m: u32, radix: u32) -> u32 {
    let first = first_radix(radix);
    let rest = radix / first;
    if rest <= 1 { m } else { (m % first) * rest + place(m / first, rest) }
}

/// The radix of the first step of a transform of `radix` values.
fn first_radix(radix: u32) -> u32 {
    if radix.trailing_zeros().is_multiple_of(2) { 4 } else { 2 }
}

#[cube]
fn dft2(re: &mut Array<f32>, im: &mut Array<f32>, #[comptime] base: u32, #[comptime] stride: u32) {
    let (a, b) = comptime!((base as usize, (base + stride) as usize));
    let (ar, ai) = (re[a], im[a]);
    let (br, bi) = (re[b], im[b]);
    re[a] = ar + br;
    im[a] = ai + bi;
    re[b] = ar - br;
    im[b] = ai - bi;
}

#[cube]
fn dft4(re: &mut Array<f32>, im: &mut Array<f32>, #[comptime] base: u32, #[comptime] stride: u32) {
    let a = comptime!(base as usize);
    let b = comptime!((base + stride) as usize);
    let c = comptime!((base + 2 * stride) as usize);
    let d = comptime!((base + 3 * stride) as usize);
    let (sr, si) = (re[a] + re[c], im[a] + im[c]);
    let (tr, ti) = (re[a] - re[c], im[a] - im[c]);
    let (ur, ui) = (re[b] + re[d], im[b] + im[d]);
    let (vr, vi) = (re[b] - re[d], im[b] - im[d]);
    re[a] = sr + ur;
    im[a] = si + ui;
    re[b] = tr + vi;
    im[b] = ti - vr;
    re[c] = sr - ur;
    im[c] = si - ui;
    re[d] = tr - vi;
    im[d] = ti + vr;
}

/// Multiplies value `at` by exp(-2πi·turn/of).
#[cube]
fn rotate(re: &mut Array<f32>, im: &mut Array<f32>, #[comptime] at: u32, #[comptime] turn: u32, #[comptime] of: u32) {
    let at = comptime!(at as usize);
    let eighths = comptime!(8 * (turn % of) / of);
    let exact = comptime!(8 * (turn % of) % of == 0);
    let (x, y) = (re[at], im[at]);
    if comptime!(exact && eighths == 0) {
    } else if comptime!(exact && eighths == 2) {
        re[at] = y;
        im[at] = -x;
    } else if comptime!(exact && eighths == 4) {
        re[at] = -x;
        im[at] = -y;
    } else if comptime!(exact && eighths == 6) {
        re[at] = -y;
        im[at] = x;
    } else {
        let c = comptime!(cosine(turn, of));
        let s = comptime!(sine(turn, of));
        let c = f32::new(c);
        let s = f32::new(s);
        re[at] = fma(y, s, x * c);
        im[at] = fma(y, c, -(x * s));
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
