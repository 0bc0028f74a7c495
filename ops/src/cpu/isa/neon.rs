//! Four lanes: NEON, which every processor of the architecture has.

use std::arch::aarch64::*;
use std::ops::{Add, Mul, Sub};

use crate::cpu::isa::register::Kernel;
use crate::cpu::isa::register::Lanes;

/// Four lanes.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(in crate::cpu) struct Neon(float32x4_t);

/// An intrinsic without memory operands.
macro_rules! intrinsic {
    ($call:expr) => {
        // SAFETY: NEON is among what the target's processors all have.
        unsafe { $call }
    };
}

impl Neon {
    #[inline(always)]
    fn bits(self) -> uint32x4_t {
        intrinsic!(vreinterpretq_u32_f32(self.0))
    }

    #[inline(always)]
    fn from_bits(bits: uint32x4_t) -> Self {
        Self(intrinsic!(vreinterpretq_f32_u32(bits)))
    }
}

impl Add for Neon {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(intrinsic!(vaddq_f32(self.0, other.0)))
    }
}

impl Sub for Neon {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(intrinsic!(vsubq_f32(self.0, other.0)))
    }
}

impl Mul for Neon {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(intrinsic!(vmulq_f32(self.0, other.0)))
    }
}

// SAFETY: a register of four f32 has no padding, and any bits are valid. Every processor of the target has NEON.
unsafe impl Lanes for Neon {
    const COUNT: usize = 4;
    const RADIX: usize = 4;
    type Array = [f32; 4];
    type Whole = Self;

    #[inline(always)]
    fn arrays(values: &[f32]) -> &[[f32; 4]] {
        values.as_chunks().0
    }

    #[inline(always)]
    fn arrays_mut(values: &mut [f32]) -> &mut [[f32; 4]] {
        values.as_chunks_mut().0
    }

    #[inline(always)]
    fn load(values: &[f32; 4]) -> Self {
        // SAFETY: the array has four values, and the load needs no alignment.
        Self(unsafe { vld1q_f32(values.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, into: &mut [f32; 4]) {
        // SAFETY: the array has room for four values, and the store needs no alignment.
        unsafe { vst1q_f32(into.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(intrinsic!(vdupq_n_f32(value)))
    }

    #[inline(always)]
    fn from_quads([quad, ..]: [&[f32; 4]; 4]) -> Self {
        Self::load(quad)
    }

    #[inline(always)]
    fn into_quads(self) -> [[f32; 4]; 4] {
        let mut quads = [[0.0; 4]; 4];
        self.store(&mut quads[0]);
        quads
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(intrinsic!(vfmaq_f32(addend.0, self.0, factor.0)))
    }

    #[inline(always)]
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
        Self(intrinsic!(vfmaq_f32(vnegq_f32(subtrahend.0), self.0, factor.0)))
    }

    #[inline(always)]
    fn neg_mul_add(self, factor: Self, minuend: Self) -> Self {
        Self(intrinsic!(vfmsq_f32(minuend.0, self.0, factor.0)))
    }

    #[inline(always)]
    fn transpose_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        intrinsic!({
            let wide = |even: float32x4_t| vreinterpretq_f64_f32(even);
            let (ab_even, ab_odd) = (wide(vtrn1q_f32(a.0, b.0)), wide(vtrn2q_f32(a.0, b.0)));
            let (cd_even, cd_odd) = (wide(vtrn1q_f32(c.0, d.0)), wide(vtrn2q_f32(c.0, d.0)));
            [
                Self(vreinterpretq_f32_f64(vtrn1q_f64(ab_even, cd_even))),
                Self(vreinterpretq_f32_f64(vtrn1q_f64(ab_odd, cd_odd))),
                Self(vreinterpretq_f32_f64(vtrn2q_f64(ab_even, cd_even))),
                Self(vreinterpretq_f32_f64(vtrn2q_f64(ab_odd, cd_odd))),
            ]
        })
    }

    #[inline(always)]
    fn exchange_quads(rows: [Self; 4]) -> [Self; 4] {
        rows
    }

    #[inline(always)]
    fn deinterleave(self, next: Self) -> (Self, Self) {
        intrinsic!((Self(vuzp1q_f32(self.0, next.0)), Self(vuzp2q_f32(self.0, next.0))))
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        intrinsic!({
            let swapped = vrev64q_f32(self.0);
            Self(vextq_f32::<2>(swapped, swapped))
        })
    }

    #[inline(always)]
    fn mirror(self, next: Self) -> Self {
        Self(intrinsic!(vextq_f32::<3>(vdupq_laneq_f32::<0>(next.0), self.reverse().0)))
    }

    #[inline(always)]
    fn with_low_bits(self, mask: u32, low: u32) -> Self {
        Self::from_bits(intrinsic!(vorrq_u32(vbicq_u32(self.bits(), vdupq_n_u32(mask)), vdupq_n_u32(low))))
    }

    #[inline(always)]
    fn key_max(self, other: Self) -> Self {
        Self::from_bits(intrinsic!(vmaxq_u32(self.bits(), other.bits())))
    }

    #[inline(always)]
    fn key_min(self, other: Self) -> Self {
        Self::from_bits(intrinsic!(vminq_u32(self.bits(), other.bits())))
    }

    #[inline(always)]
    fn equal_outside(self, other: Self, mask: u32) -> u32 {
        const LANES: [u32; 4] = [1, 2, 4, 8];
        intrinsic!({
            let outside = vbicq_u32(veorq_u32(self.bits(), other.bits()), vdupq_n_u32(mask));
            vaddvq_u32(vandq_u32(vceqzq_u32(outside), vld1q_u32(LANES.as_ptr())))
        })
    }

    #[inline(never)]
    fn call(kernel: impl Kernel) {
        kernel.run();
    }
}
