//! Eight lanes: AVX2 and FMA.

use std::arch::x86_64::*;
use std::ops::{Add, Mul, Sub};

use crate::cpu::isa::register::Kernel;
use crate::cpu::isa::register::Lanes;

/// Eight lanes. Values exist only in functions compiled for AVX2 and FMA; see [`Lanes`].
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(in crate::cpu) struct Avx2(__m256);

/// An intrinsic without memory operands.
macro_rules! intrinsic {
    ($call:expr) => {
        // SAFETY: by the contract of `Lanes` the processor has AVX2 and FMA.
        unsafe { $call }
    };
}

impl Avx2 {
    #[inline(always)]
    fn bits(self) -> __m256i {
        intrinsic!(_mm256_castps_si256(self.0))
    }

    #[inline(always)]
    fn from_bits(bits: __m256i) -> Self {
        Self(intrinsic!(_mm256_castsi256_ps(bits)))
    }
}

impl Add for Avx2 {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(intrinsic!(_mm256_add_ps(self.0, other.0)))
    }
}

impl Sub for Avx2 {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(intrinsic!(_mm256_sub_ps(self.0, other.0)))
    }
}

impl Mul for Avx2 {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(intrinsic!(_mm256_mul_ps(self.0, other.0)))
    }
}

// SAFETY: a register of eight f32 has no padding, and any bits are valid. `simd::dispatch` detects AVX2 and FMA.
unsafe impl Lanes for Avx2 {
    const COUNT: usize = 8;
    const RADIX: usize = 4;
    type Array = [f32; 8];
    type Whole = Self;

    #[inline(always)]
    fn arrays(values: &[f32]) -> &[[f32; 8]] {
        values.as_chunks().0
    }

    #[inline(always)]
    fn arrays_mut(values: &mut [f32]) -> &mut [[f32; 8]] {
        values.as_chunks_mut().0
    }

    #[inline(always)]
    fn load(values: &[f32; 8]) -> Self {
        // SAFETY: the array has eight values, and the load needs no alignment.
        Self(unsafe { _mm256_loadu_ps(values.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, into: &mut [f32; 8]) {
        // SAFETY: the array has room for eight values, and the store needs no alignment.
        unsafe { _mm256_storeu_ps(into.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(intrinsic!(_mm256_set1_ps(value)))
    }

    #[inline(always)]
    fn from_quads([a, b, ..]: [&[f32; 4]; 4]) -> Self {
        // SAFETY: each array has four values, and the loads need no alignment.
        Self(unsafe { _mm256_loadu2_m128(b.as_ptr(), a.as_ptr()) })
    }

    #[inline(always)]
    fn into_quads(self) -> [[f32; 4]; 4] {
        let mut quads = [[0.0; 4]; 4];
        let (low, high) = quads.split_at_mut(1);
        // SAFETY: each array has room for four values, and the stores need no alignment.
        unsafe { _mm256_storeu2_m128(high[0].as_mut_ptr(), low[0].as_mut_ptr(), self.0) };
        quads
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(intrinsic!(_mm256_fmadd_ps(self.0, factor.0, addend.0)))
    }

    #[inline(always)]
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
        Self(intrinsic!(_mm256_fmsub_ps(self.0, factor.0, subtrahend.0)))
    }

    #[inline(always)]
    fn neg_mul_add(self, factor: Self, minuend: Self) -> Self {
        Self(intrinsic!(_mm256_fnmadd_ps(self.0, factor.0, minuend.0)))
    }

    #[inline(always)]
    fn transpose_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        intrinsic!({
            let (ab_low, ab_high) = (_mm256_unpacklo_ps(a.0, b.0), _mm256_unpackhi_ps(a.0, b.0));
            let (cd_low, cd_high) = (_mm256_unpacklo_ps(c.0, d.0), _mm256_unpackhi_ps(c.0, d.0));
            [
                Self(_mm256_shuffle_ps::<0x44>(ab_low, cd_low)),
                Self(_mm256_shuffle_ps::<0xee>(ab_low, cd_low)),
                Self(_mm256_shuffle_ps::<0x44>(ab_high, cd_high)),
                Self(_mm256_shuffle_ps::<0xee>(ab_high, cd_high)),
            ]
        })
    }

    #[inline(always)]
    fn exchange_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        intrinsic!([
            Self(_mm256_permute2f128_ps::<0x20>(a.0, b.0)),
            Self(_mm256_permute2f128_ps::<0x31>(a.0, b.0)),
            Self(_mm256_permute2f128_ps::<0x20>(c.0, d.0)),
            Self(_mm256_permute2f128_ps::<0x31>(c.0, d.0)),
        ])
    }

    #[inline(always)]
    fn deinterleave(self, next: Self) -> (Self, Self) {
        intrinsic!({
            // Quarters (0 2, 1 3) of the result.
            let even = _mm256_castps_pd(_mm256_shuffle_ps::<0x88>(self.0, next.0));
            let odd = _mm256_castps_pd(_mm256_shuffle_ps::<0xdd>(self.0, next.0));
            (
                Self(_mm256_castpd_ps(_mm256_permute4x64_pd::<0xd8>(even))),
                Self(_mm256_castpd_ps(_mm256_permute4x64_pd::<0xd8>(odd))),
            )
        })
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        intrinsic!(Self(_mm256_permutevar8x32_ps(self.0, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0))))
    }

    #[inline(always)]
    fn mirror(self, next: Self) -> Self {
        intrinsic!(Self(_mm256_permutevar8x32_ps(
            _mm256_blend_ps::<1>(self.0, next.0),
            _mm256_setr_epi32(0, 7, 6, 5, 4, 3, 2, 1)
        )))
    }

    #[inline(always)]
    fn with_low_bits(self, mask: u32, low: u32) -> Self {
        Self::from_bits(intrinsic!(_mm256_or_si256(
            _mm256_andnot_si256(_mm256_set1_epi32(mask as i32), self.bits()),
            _mm256_set1_epi32(low as i32)
        )))
    }

    #[inline(always)]
    fn key_max(self, other: Self) -> Self {
        Self::from_bits(intrinsic!(_mm256_max_epu32(self.bits(), other.bits())))
    }

    #[inline(always)]
    fn key_min(self, other: Self) -> Self {
        Self::from_bits(intrinsic!(_mm256_min_epu32(self.bits(), other.bits())))
    }

    #[inline(always)]
    fn equal_outside(self, other: Self, mask: u32) -> u32 {
        intrinsic!({
            let differing = _mm256_xor_si256(self.bits(), other.bits());
            let outside = _mm256_andnot_si256(_mm256_set1_epi32(mask as i32), differing);
            _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(outside, _mm256_setzero_si256()))) as u32
        })
    }

    #[inline(always)]
    fn call(kernel: impl Kernel) {
        #[target_feature(enable = "avx2,fma")]
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
