//! Passes over a tile of registers, in place.
//!
//! A transform of `radix * len` points is made of `radix` transforms of `len` points, which lie one after the other:
//! value j of each, turned by its twiddle, goes through a transform of `radix` values, whose bin q is bin j + q `len`
//! of the whole.
//!
//! Transforms of p values, p an odd prime: with t_k and u_k the sum and the difference of values k and p - k, bins q and
//! p - q are m ∓ i v, where m = x_0 + Σ cos(2πqk/p) t_k and v = Σ sin(2πqk/p) u_k, k from 1 to (p - 1) / 2.

use super::plan::{MixedRadixPlan, Pass};
use crate::cpu::fft::radix::radix;
use crate::cpu::isa::register::{Complex, Register};

/// All passes, on the values of `tile` `[points]` in the plan's places → the spectrum in natural order. `pairs` are
/// spare registers, as many pairs as half the largest radix.
#[inline(always)]
pub(in crate::cpu) fn passes<V: Register>(
    token: V::Token,
    plan: &MixedRadixPlan,
    tile: &mut [Complex<V>],
    pairs: &mut [[Complex<V>; 2]],
) {
    for pass in &plan.passes {
        match pass.radix {
            2 => both_kinds::<V, 2>(token, pass, tile),
            3 => both_kinds::<V, 3>(token, pass, tile),
            4 => both_kinds::<V, 4>(token, pass, tile),
            5 => both_kinds::<V, 5>(token, pass, tile),
            7 => both_kinds::<V, 7>(token, pass, tile),
            8 => both_kinds::<V, 8>(token, pass, tile),
            16 => both_kinds::<V, 16>(token, pass, tile),
            _ => prime_pass(token, pass, tile, pairs),
        }
    }
}

/// A pass of radix `R`, the first one or another.
#[inline(always)]
fn both_kinds<V: Register, const R: usize>(token: V::Token, pass: &Pass, tile: &mut [Complex<V>]) {
    if pass.len == 1 {
        for block in tile.as_chunks_mut::<R>().0 {
            *block = transform(*block);
        }
        return;
    }
    let len = pass.len;
    assert_eq!(pass.twiddles.len(), len * (R - 1));
    for block in tile.chunks_exact_mut(R * len) {
        for j in 0..len {
            let mut values = [Complex::zero(token); R];
            // SAFETY: `j + k len` is below `R len`, the length of the block, for every k below R; the twiddles are
            // `len` times R - 1.
            unsafe {
                values[0] = *block.get_unchecked(j);
                for (k, value) in values[1..].iter_mut().enumerate() {
                    let twiddle = *pass.twiddles.get_unchecked(j * (R - 1) + k);
                    *value = block.get_unchecked(j + (k + 1) * len).times(splat(token, twiddle));
                }
            }
            let values = transform(values);
            for (k, value) in values.iter().enumerate() {
                // SAFETY: as above.
                unsafe { *block.get_unchecked_mut(j + k * len) = *value };
            }
        }
    }
}

/// The transform of `R` values: 2, 3, 4, 5, 7, 8 or 16.
#[inline(always)]
fn transform<V: Register, const R: usize>(mut x: [Complex<V>; R]) -> [Complex<V>; R] {
    match R {
        3 => [x[0], x[1], x[2]] = radix3([x[0], x[1], x[2]]),
        5 => [x[0], x[1], x[2], x[3], x[4]] = radix5([x[0], x[1], x[2], x[3], x[4]]),
        7 => {
            [x[0], x[1], x[2], x[3], x[4], x[5], x[6]] = radix7([x[0], x[1], x[2], x[3], x[4], x[5], x[6]]);
        }
        _ => return radix(x),
    }
    x
}

/// A pass whose radix is any odd prime.
#[inline(always)]
fn prime_pass<V: Register>(token: V::Token, pass: &Pass, tile: &mut [Complex<V>], pairs: &mut [[Complex<V>; 2]]) {
    let (radix, len) = (pass.radix, pass.len);
    let pairs = &mut pairs[..radix / 2];
    for block in tile.chunks_exact_mut(radix * len) {
        for j in 0..len {
            for (k, pair) in pairs.iter_mut().enumerate() {
                let (a, b) = (turned(token, pass, block, j, k + 1), turned(token, pass, block, j, radix - k - 1));
                *pair = [a.plus(b), a.minus(b)];
            }
            odd_prime(
                token,
                block[j],
                pairs,
                &pass.turns,
                #[inline(always)]
                |q, value| block[j + q * len] = value,
            );
        }
    }
}

/// Value `k`, from 1, of the transform number `j` of a pass, times its twiddle.
#[inline(always)]
fn turned<V: Register>(token: V::Token, pass: &Pass, block: &[Complex<V>], j: usize, k: usize) -> Complex<V> {
    let value = block[j + k * pass.len];
    if pass.len == 1 { value } else { value.times(splat(token, pass.twiddles[j * (pass.radix - 1) + k - 1])) }
}

/// A complex number in every lane.
#[inline(always)]
pub(in crate::cpu) fn splat<V: Register>(token: V::Token, [re, im]: [f32; 2]) -> Complex<V> {
    Complex { re: V::splat(token, re), im: V::splat(token, im) }
}

#[inline(always)]
pub(super) fn radix3<V: Register>([a, b, c]: [Complex<V>; 3]) -> [Complex<V>; 3] {
    const SIN: f32 = 0.866_025_4;
    let token = a.re.token();
    let (t, u) = (b.plus(c), b.minus(c));
    let m = a.minus_scaled(V::splat(token, 0.5), t);
    let sin = V::splat(token, SIN);
    [a.plus(t), m.minus_i_scaled(sin, u), m.plus_i_scaled(sin, u)]
}

#[inline(always)]
pub(super) fn radix5<V: Register>([a, b, c, d, e]: [Complex<V>; 5]) -> [Complex<V>; 5] {
    const COS: [f32; 2] = [0.309_017, -0.809_017];
    const SIN: [f32; 2] = [0.951_056_54, 0.587_785_24];
    let token = a.re.token();
    let (c1, c2) = (V::splat(token, COS[0]), V::splat(token, COS[1]));
    let (s1, s2) = (V::splat(token, SIN[0]), V::splat(token, SIN[1]));
    let (t1, u1, t2, u2) = (b.plus(e), b.minus(e), c.plus(d), c.minus(d));
    let m1 = a.plus_scaled(c1, t1).plus_scaled(c2, t2);
    let m2 = a.plus_scaled(c2, t1).plus_scaled(c1, t2);
    let v1 = times(s1, u1).plus_scaled(s2, u2);
    let v2 = times(s2, u1).minus_scaled(s1, u2);
    [a.plus(t1).plus(t2), m1.minus_i(v1), m2.minus_i(v2), m2.plus_i(v2), m1.plus_i(v1)]
}

#[inline(always)]
pub(super) fn radix7<V: Register>([a, b, c, d, e, f, g]: [Complex<V>; 7]) -> [Complex<V>; 7] {
    const COS: [f32; 3] = [0.623_489_8, -0.222_520_93, -0.900_968_9];
    const SIN: [f32; 3] = [0.781_831_5, 0.974_927_9, 0.433_883_73];
    let token = a.re.token();
    let (c1, c2, c3) = (V::splat(token, COS[0]), V::splat(token, COS[1]), V::splat(token, COS[2]));
    let (s1, s2, s3) = (V::splat(token, SIN[0]), V::splat(token, SIN[1]), V::splat(token, SIN[2]));
    let (t1, u1, t2, u2, t3, u3) = (b.plus(g), b.minus(g), c.plus(f), c.minus(f), d.plus(e), d.minus(e));
    let m1 = a.plus_scaled(c1, t1).plus_scaled(c2, t2).plus_scaled(c3, t3);
    let m2 = a.plus_scaled(c2, t1).plus_scaled(c3, t2).plus_scaled(c1, t3);
    let m3 = a.plus_scaled(c3, t1).plus_scaled(c1, t2).plus_scaled(c2, t3);
    let v1 = times(s1, u1).plus_scaled(s2, u2).plus_scaled(s3, u3);
    let v2 = times(s2, u1).minus_scaled(s3, u2).minus_scaled(s1, u3);
    let v3 = times(s3, u1).minus_scaled(s1, u2).plus_scaled(s2, u3);
    let sum = a.plus(t1).plus(t2).plus(t3);
    [sum, m1.minus_i(v1), m2.minus_i(v2), m3.minus_i(v3), m3.plus_i(v3), m2.plus_i(v2), m1.plus_i(v1)]
}

#[inline(always)]
fn times<V: Register>(factor: V, z: Complex<V>) -> Complex<V> {
    Complex { re: factor * z.re, im: factor * z.im }
}

/// The transform of an odd prime number of values, that of `turns`, `first` and t_k and u_k in `pairs`; bins go to `put`.
///
/// `turns` are (cos, sin) of 2πq/p.
#[inline(always)]
pub(super) fn odd_prime<V: Register>(
    token: V::Token,
    first: Complex<V>,
    pairs: &[[Complex<V>; 2]],
    turns: &[[f32; 2]],
    mut put: impl FnMut(usize, Complex<V>),
) {
    let p = turns.len();
    let mut sum = first;
    for [t, _] in pairs {
        sum = sum.plus(*t);
    }
    put(0, sum);
    let half = pairs.len();
    // Two bins at a time share the loads of t and u.
    let mut q = 1;
    while q <= half {
        let other = q + 1;
        let (mut m0, mut m1) = (first, first);
        let (mut v0, mut v1) = (Complex::zero(token), Complex::zero(token));
        // q k and (q + 1) k, less multiples of p.
        let (mut at0, mut at1) = (0, 0);
        for [t, u] in pairs {
            at0 += q;
            at0 -= if at0 >= p { p } else { 0 };
            at1 += other;
            at1 -= if at1 >= p { p } else { 0 };
            let ([cos0, sin0], [cos1, sin1]) = (turns[at0], turns[at1]);
            m0 = m0.plus_scaled(V::splat(token, cos0), *t);
            v0 = v0.plus_scaled(V::splat(token, sin0), *u);
            m1 = m1.plus_scaled(V::splat(token, cos1), *t);
            v1 = v1.plus_scaled(V::splat(token, sin1), *u);
        }
        put(q, m0.minus_i(v0));
        put(p - q, m0.plus_i(v0));
        if other <= half {
            put(other, m1.minus_i(v1));
            put(p - other, m1.plus_i(v1));
        }
        q += 2;
    }
}
