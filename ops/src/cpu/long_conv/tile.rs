//! Parts of a convolution on tiles of rows, a row per lane.
//!
//! A real row of 2N samples is transformed as N complex values, its pairs of samples. With He and Ho the transforms of
//! a kernel's even and odd taps and w = exp(−πi k/N), the spectrum Z of such a row becomes that of its convolution as
//! V[k] = A[k] Z[k] + B[k] Z[N − k]*, where A = He − sin(πk/N) w Ho and B = i cos(πk/N) w Ho. The reversed kernel has
//! A* in the place of A, and −B* in that of B.

use crate::cpu::isa::register::{Complex, Register};
use crate::cpu::transform::passes::splat;
use crate::cpu::transform::plan::MixedRadixPlan;

/// The factors A and B of a bin.
pub(super) type BinFactors<V> = [Complex<V>; 2];

/// Sums over the batch, per bin k: P[k]* Z[k] and P[N − k] Z[k] of spectra P and Z.
pub(super) type BinSums<V> = [Complex<V>; 2];

/// The bin of the conjugate.
#[inline(always)]
fn mirrored(k: usize, points: usize) -> usize {
    if k == 0 { 0 } else { points - k }
}

/// −i exp(−πi k/N) of any bin: the plan has those of the lower half.
#[inline(always)]
fn half_turn(plan: &MixedRadixPlan, k: usize) -> [f32; 2] {
    if 2 * k <= plan.points {
        plan.half_turns[k]
    } else {
        let [re, im] = plan.half_turns[plan.points - k];
        [re, -im]
    }
}

#[inline(always)]
pub(super) fn conjugate<V: Register>(token: V::Token, z: Complex<V>) -> Complex<V> {
    Complex { re: z.re, im: V::splat(token, 0.0) - z.im }
}

#[inline(always)]
fn scaled<V: Register>(token: V::Token, factor: f32, z: Complex<V>) -> Complex<V> {
    let factor = V::splat(token, factor);
    Complex { re: z.re * factor, im: z.im * factor }
}

/// The factors of kernels whose spectra are `spectra`, divided by the points.
#[inline(always)]
pub(super) fn factors_of<V: Register>(
    token: V::Token,
    plan: &MixedRadixPlan,
    spectra: &[Complex<V>],
    factors: &mut [BinFactors<V>],
) {
    let points = plan.points;
    let half = 0.5 / points as f32;
    for (k, factors) in factors.iter_mut().enumerate() {
        let (p, q) = (spectra[k], conjugate(token, spectra[mirrored(k, points)]));
        let (he, difference) = (scaled(token, half, p.plus(q)), scaled(token, half, p.minus(q)));
        // He = (P + Q)/2 and w Ho = −i w (P − Q)/2, where −i w = −sin − i cos.
        let turn = half_turn(plan, k);
        let turned = difference.times(splat(token, turn));
        let [minus_sin, minus_cos] = [V::splat(token, turn[0]), V::splat(token, turn[1])];
        let zero = Complex::zero(token);
        *factors = [he.plus_scaled(minus_sin, turned), zero.minus_i_scaled(minus_cos, turned)];
    }
}

/// The spectra of convolutions, in the plan's places and with parts exchanged, which makes the forward transform the
/// inverse one; of convolutions with the reversed kernels where `REVERSED`.
#[inline(always)]
pub(super) fn convolve<V: Register, const REVERSED: bool>(
    token: V::Token,
    plan: &MixedRadixPlan,
    factors: &[BinFactors<V>],
    spectra: &[Complex<V>],
    into: &mut [Complex<V>],
) {
    let points = plan.points;
    for k in 0..points {
        let (z, mirrored) = (spectra[k], conjugate(token, spectra[mirrored(k, points)]));
        let [a, b] = factors[k];
        let value = if REVERSED {
            z.times(conjugate(token, a)).minus(mirrored.times(conjugate(token, b)))
        } else {
            z.times(a).plus(mirrored.times(b))
        };
        into[plan.places[k] as usize] = Complex { re: value.im, im: value.re };
    }
}

/// Adds the products of two rows' spectra to the sums.
#[inline(always)]
pub(super) fn add_products<V: Register>(
    token: V::Token,
    signal: &[Complex<V>],
    grad: &[Complex<V>],
    sums: &mut [BinSums<V>],
) {
    let points = grad.len();
    for (k, [direct, crossed]) in sums.iter_mut().enumerate() {
        let z = grad[k];
        *direct = direct.plus(z.times(conjugate(token, signal[k])));
        *crossed = crossed.plus(z.times(signal[mirrored(k, points)]));
    }
}

/// The spectra of correlations, from sums over the batch, divided by the points; in the plan's places, with parts
/// exchanged.
#[inline(always)]
pub(super) fn correlate<V: Register>(
    token: V::Token,
    plan: &MixedRadixPlan,
    sums: &[BinSums<V>],
    into: &mut [Complex<V>],
) {
    let points = plan.points;
    let half = 0.5 / points as f32;
    for (k, &[direct, crossed]) in sums.iter().enumerate() {
        let [far_direct, far_crossed] = sums[mirrored(k, points)].map(|sum| conjugate(token, sum));
        // V = Σ A* Z[k] − Σ B* Z[N − k]*, with the factors A and B of the signal, in which Q is P[N − k]*. Written out,
        // both sums are combinations of the direct and the crossed sum at k and at its mirror image.
        let turn = half_turn(plan, k);
        let [minus_sin, minus_cos] = [V::splat(token, turn[0]), V::splat(token, turn[1])];
        let back = splat(token, [turn[0], -turn[1]]);
        let near = scaled(token, half, direct.minus(crossed)).times(back);
        let far = scaled(token, half, far_crossed.minus(far_direct)).times(back);
        let both = scaled(token, half, direct.plus(crossed));
        let value = both.plus_scaled(minus_sin, near).minus_i_scaled(minus_cos, far);
        into[plan.places[k] as usize] = Complex { re: value.im, im: value.re };
    }
}
