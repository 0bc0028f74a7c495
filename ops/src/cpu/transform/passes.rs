//! Passes over a tile of registers, in place.
//!
//! A transform of `radix * len` points is made of `radix` transforms of `len` points, which lie one after the other:
//! value j of each, turned by its twiddle, goes through a transform of `radix` values, whose bin q is bin j + q `len`
//! of the whole.

use super::odd_radices::{odd_prime, radix3, radix5, radix7};
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
