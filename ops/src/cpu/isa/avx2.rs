//! Registers of eight lanes: AVX2 and FMA.

use std::arch::x86_64::*;

use crate::cpu::isa::lanewise::{intrinsic, lanewise, token};
use crate::cpu::isa::register::Register;

token! {
    /// Proof that this processor has AVX2 and FMA.
    Avx2Token, detected by is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"), features "avx2,fma"
}

lanewise! {
    /// One row of eight lanes.
    Avx2(__m256): 8 lanes, 1 rows, radix 4, Avx2Token;
    load(from) = _mm256_loadu_ps(from);
    store(into, value) = _mm256_storeu_ps(into, value);
    splat(value) = _mm256_set1_ps(value);
    add(a, b) = _mm256_add_ps(a, b);
    sub(a, b) = _mm256_sub_ps(a, b);
    mul(a, b) = _mm256_mul_ps(a, b);
    mul_add(a, b, c) = _mm256_fmadd_ps(a, b, c);
    mul_sub(a, b, c) = _mm256_fmsub_ps(a, b, c);
    neg_mul_add(a, b, c) = _mm256_fnmadd_ps(a, b, c);
    keys _mm256_castps_si256, _mm256_castsi256_ps;
    descending(first) =
        _mm256_sub_epi32(_mm256_set1_epi32(first as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    with_low_bits(a, mask, low) = _mm256_or_si256(_mm256_andnot_si256(_mm256_set1_epi32(mask as i32), a), low);
    inverted_bits(a, mask) = _mm256_andnot_si256(a, _mm256_set1_epi32(mask as i32));
    ordered(a) = _mm256_xor_si256(a, _mm256_or_si256(_mm256_srai_epi32::<31>(a), _mm256_set1_epi32(i32::MIN)));
    key_max(a, b) = _mm256_max_epu32(a, b);
    key_min(a, b) = _mm256_min_epu32(a, b);
    equal_outside(a, b, mask) = {
        let outside = _mm256_andnot_si256(_mm256_set1_epi32(mask as i32), _mm256_xor_si256(a, b));
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(outside, _mm256_setzero_si256()))) as u32
    };
}

impl Register for Avx2 {
    type OneRow = Self;

    #[inline(always)]
    fn from_quads(_token: Avx2Token, [a, b, ..]: [&[f32; 4]; 4]) -> Self {
        // SAFETY: the token proves the instructions; each array has four values, and the loads need no alignment.
        Self(unsafe { _mm256_loadu2_m128(b.as_ptr(), a.as_ptr()) })
    }

    #[inline(always)]
    fn into_quads(self) -> [[f32; 4]; 4] {
        let mut quads = [[0.0; 4]; 4];
        let (low, high) = quads.split_at_mut(1);
        // SAFETY: `self` proves the instructions; each array has room for four values, and the stores need no
        // alignment.
        unsafe { _mm256_storeu2_m128(high[0].as_mut_ptr(), low[0].as_mut_ptr(), self.0) };
        quads
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
    fn shifted_up(self, before: Self) -> Self {
        intrinsic!({
            let lanes = _mm256_castps_si256(self.0);
            let before = _mm256_permute2x128_si256::<0x21>(_mm256_castps_si256(before.0), lanes);
            Self(_mm256_castsi256_ps(_mm256_alignr_epi8::<12>(lanes, before)))
        })
    }

    #[inline(always)]
    fn shifted_down(self, after: Self) -> Self {
        intrinsic!({
            let lanes = _mm256_castps_si256(self.0);
            let after = _mm256_permute2x128_si256::<0x21>(lanes, _mm256_castps_si256(after.0));
            Self(_mm256_castsi256_ps(_mm256_alignr_epi8::<4>(after, lanes)))
        })
    }

    #[inline(always)]
    fn prefetch(address: *const f32) {
        // SAFETY: every x86-64 processor has the instruction, which takes any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
}
