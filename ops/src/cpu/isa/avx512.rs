//! Sixteen lanes: AVX-512.

use std::arch::x86_64::*;
use std::ops::{Add, Mul, Sub};

use crate::cpu::isa::register::Kernel;
use crate::cpu::isa::register::Lanes;

/// Sixteen lanes. Values exist only in functions compiled for AVX-512 F, DQ, BW and VL; see [`Lanes`].
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(in crate::cpu) struct Avx512(pub __m512);

/// An intrinsic without memory operands.
macro_rules! intrinsic {
    ($call:expr) => {
        // SAFETY: by the contract of `Lanes` the processor has AVX-512 F, DQ, BW and VL.
        unsafe { $call }
    };
}

impl Avx512 {
    #[inline(always)]
    fn bits(self) -> __m512i {
        intrinsic!(_mm512_castps_si512(self.0))
    }

    #[inline(always)]
    fn from_bits(bits: __m512i) -> Self {
        Self(intrinsic!(_mm512_castsi512_ps(bits)))
    }
}

impl Add for Avx512 {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(intrinsic!(_mm512_add_ps(self.0, other.0)))
    }
}

impl Sub for Avx512 {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(intrinsic!(_mm512_sub_ps(self.0, other.0)))
    }
}

impl Mul for Avx512 {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(intrinsic!(_mm512_mul_ps(self.0, other.0)))
    }
}

// SAFETY: a register of sixteen f32 has no padding, and any bits are valid. `simd::dispatch` detects AVX-512.
unsafe impl Lanes for Avx512 {
    const COUNT: usize = 16;
    const RADIX: usize = 16;
    type Array = [f32; 16];
    type Whole = Self;

    #[inline(always)]
    fn arrays(values: &[f32]) -> &[[f32; 16]] {
        values.as_chunks().0
    }

    #[inline(always)]
    fn arrays_mut(values: &mut [f32]) -> &mut [[f32; 16]] {
        values.as_chunks_mut().0
    }

    #[inline(always)]
    fn load(values: &[f32; 16]) -> Self {
        // SAFETY: the array has sixteen values, and the load needs no alignment.
        Self(unsafe { _mm512_loadu_ps(values.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, into: &mut [f32; 16]) {
        // SAFETY: the array has room for sixteen values, and the store needs no alignment.
        unsafe { _mm512_storeu_ps(into.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(intrinsic!(_mm512_set1_ps(value)))
    }

    #[inline(always)]
    fn from_quads([a, b, c, d]: [&[f32; 4]; 4]) -> Self {
        // SAFETY: each array has four values, and the loads need no alignment.
        Self(unsafe {
            let low = _mm256_loadu2_m128(b.as_ptr(), a.as_ptr());
            let high = _mm256_loadu2_m128(d.as_ptr(), c.as_ptr());
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)
        })
    }

    #[inline(always)]
    fn into_quads(self) -> [[f32; 4]; 4] {
        let mut quads = [[0.0; 4]; 4];
        // SAFETY: the arrays are sixteen values in a row, and the store needs no alignment.
        unsafe { _mm512_storeu_ps(quads.as_mut_ptr().cast(), self.0) };
        quads
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(intrinsic!(_mm512_fmadd_ps(self.0, factor.0, addend.0)))
    }

    #[inline(always)]
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
        Self(intrinsic!(_mm512_fmsub_ps(self.0, factor.0, subtrahend.0)))
    }

    #[inline(always)]
    fn neg_mul_add(self, factor: Self, minuend: Self) -> Self {
        Self(intrinsic!(_mm512_fnmadd_ps(self.0, factor.0, minuend.0)))
    }

    #[inline(always)]
    fn transpose_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        intrinsic!({
            let (ab_low, ab_high) = (_mm512_unpacklo_ps(a.0, b.0), _mm512_unpackhi_ps(a.0, b.0));
            let (cd_low, cd_high) = (_mm512_unpacklo_ps(c.0, d.0), _mm512_unpackhi_ps(c.0, d.0));
            [
                Self(_mm512_shuffle_ps::<0x44>(ab_low, cd_low)),
                Self(_mm512_shuffle_ps::<0xee>(ab_low, cd_low)),
                Self(_mm512_shuffle_ps::<0x44>(ab_high, cd_high)),
                Self(_mm512_shuffle_ps::<0xee>(ab_high, cd_high)),
            ]
        })
    }

    #[inline(always)]
    fn exchange_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        intrinsic!({
            let (ab_low, ab_high) = (_mm512_shuffle_f32x4::<0x44>(a.0, b.0), _mm512_shuffle_f32x4::<0xee>(a.0, b.0));
            let (cd_low, cd_high) = (_mm512_shuffle_f32x4::<0x44>(c.0, d.0), _mm512_shuffle_f32x4::<0xee>(c.0, d.0));
            [
                Self(_mm512_shuffle_f32x4::<0x88>(ab_low, cd_low)),
                Self(_mm512_shuffle_f32x4::<0xdd>(ab_low, cd_low)),
                Self(_mm512_shuffle_f32x4::<0x88>(ab_high, cd_high)),
                Self(_mm512_shuffle_f32x4::<0xdd>(ab_high, cd_high)),
            ]
        })
    }

    #[inline(always)]
    fn deinterleave(self, next: Self) -> (Self, Self) {
        intrinsic!({
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            (Self(_mm512_permutex2var_ps(self.0, even, next.0)), Self(_mm512_permutex2var_ps(self.0, odd, next.0)))
        })
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        intrinsic!({
            let from = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            Self(_mm512_permutexvar_ps(from, self.0))
        })
    }

    #[inline(always)]
    fn mirror(self, next: Self) -> Self {
        intrinsic!({
            let from = _mm512_setr_epi32(0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
            Self(_mm512_permutexvar_ps(from, _mm512_mask_blend_ps(1, self.0, next.0)))
        })
    }

    #[inline(always)]
    fn with_low_bits(self, mask: u32, low: u32) -> Self {
        // (self & !mask) | low.
        Self::from_bits(intrinsic!(_mm512_ternarylogic_epi32::<0xdc>(
            self.bits(),
            _mm512_set1_epi32(low as i32),
            _mm512_set1_epi32(mask as i32)
        )))
    }

    #[inline(always)]
    fn key_max(self, other: Self) -> Self {
        Self::from_bits(intrinsic!(_mm512_max_epu32(self.bits(), other.bits())))
    }

    #[inline(always)]
    fn key_min(self, other: Self) -> Self {
        Self::from_bits(intrinsic!(_mm512_min_epu32(self.bits(), other.bits())))
    }

    #[inline(always)]
    fn equal_outside(self, other: Self, mask: u32) -> u32 {
        intrinsic!({
            let differing = _mm512_xor_si512(self.bits(), other.bits());
            u32::from(_mm512_testn_epi32_mask(differing, _mm512_set1_epi32(!mask as i32)))
        })
    }

    #[inline(always)]
    fn call(kernel: impl Kernel) {
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
        fn run(kernel: impl Kernel) {
            kernel.run();
        }
        intrinsic!(run(kernel));
    }

    #[inline(always)]
    fn prefetch(address: *const f32) {
        intrinsic!(_mm_prefetch::<_MM_HINT_T0>(address.cast()));
    }
}
