//! Registers of four lanes: WebAssembly's 128-bit SIMD. Products are rounded before they are added: its fused operations
//! (`relaxed-simd`) are fused on some machines and not on others.
#![allow(unused_unsafe, reason = "most intrinsics are safe in a module that is compiled with the instructions")]

use std::arch::wasm32::*;

use crate::cpu::isa::lanewise::{intrinsic, lanewise, token};
use crate::cpu::isa::register::Register;

token! {
    /// Proof that this module is compiled with SIMD.
    Simd128Token, detected by cfg!(target_feature = "simd128"), features "simd128"
}

/// The bits of a register, which has one type for integers and floats.
#[inline(always)]
const fn bits(value: v128) -> v128 {
    value
}

lanewise! {
    /// One row of four lanes.
    Simd128(v128): 4 lanes, 1 rows, radix 4, Simd128Token;
    load(from) = v128_load(from.cast());
    store(into, value) = v128_store(into.cast(), value);
    splat(value) = f32x4_splat(value);
    add(a, b) = f32x4_add(a, b);
    sub(a, b) = f32x4_sub(a, b);
    mul(a, b) = f32x4_mul(a, b);
    mul_add(a, b, c) = f32x4_add(f32x4_mul(a, b), c);
    mul_sub(a, b, c) = f32x4_sub(f32x4_mul(a, b), c);
    neg_mul_add(a, b, c) = f32x4_sub(c, f32x4_mul(a, b));
    keys bits, bits;
    descending(first) = u32x4_sub(u32x4_splat(first), u32x4(0, 1, 2, 3));
    with_low_bits(a, mask, low) = v128_or(v128_andnot(a, u32x4_splat(mask)), low);
    inverted_bits(a, mask) = v128_andnot(u32x4_splat(mask), a);
    ordered(a) = v128_xor(a, v128_or(i32x4_shr(a, 31), u32x4_splat(1 << 31)));
    key_max(a, b) = u32x4_max(a, b);
    key_min(a, b) = u32x4_min(a, b);
    equal_outside(a, b, mask) = {
        let outside = v128_andnot(v128_xor(a, b), u32x4_splat(mask));
        u32::from(i32x4_bitmask(i32x4_eq(outside, u32x4_splat(0))))
    };
}

impl Register for Simd128 {
    type OneRow = Self;

    #[inline(always)]
    fn transpose_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let (ab_low, ab_high) = (i32x4_shuffle::<0, 4, 1, 5>(a.0, b.0), i32x4_shuffle::<2, 6, 3, 7>(a.0, b.0));
        let (cd_low, cd_high) = (i32x4_shuffle::<0, 4, 1, 5>(c.0, d.0), i32x4_shuffle::<2, 6, 3, 7>(c.0, d.0));
        [
            Self(i32x4_shuffle::<0, 1, 4, 5>(ab_low, cd_low)),
            Self(i32x4_shuffle::<2, 3, 6, 7>(ab_low, cd_low)),
            Self(i32x4_shuffle::<0, 1, 4, 5>(ab_high, cd_high)),
            Self(i32x4_shuffle::<2, 3, 6, 7>(ab_high, cd_high)),
        ]
    }

    #[inline(always)]
    fn deinterleave(self, next: Self) -> (Self, Self) {
        (Self(i32x4_shuffle::<0, 2, 4, 6>(self.0, next.0)), Self(i32x4_shuffle::<1, 3, 5, 7>(self.0, next.0)))
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        Self(i32x4_shuffle::<3, 2, 1, 0>(self.0, self.0))
    }

    #[inline(always)]
    fn mirror(self, next: Self) -> Self {
        Self(i32x4_shuffle::<4, 3, 2, 1>(self.0, next.0))
    }

    #[inline(always)]
    fn shifted_up(self, before: Self) -> Self {
        Self(i32x4_shuffle::<3, 4, 5, 6>(before.0, self.0))
    }

    #[inline(always)]
    fn shifted_down(self, after: Self) -> Self {
        Self(i32x4_shuffle::<1, 2, 3, 4>(self.0, after.0))
    }
}
