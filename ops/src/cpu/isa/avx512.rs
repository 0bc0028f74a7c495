//! Registers of sixteen lanes: AVX-512.

use std::arch::x86_64::*;

use crate::cpu::isa::avx2::Avx2Token;
use crate::cpu::isa::lanewise::{intrinsic, lanewise, token};
use crate::cpu::isa::register::{Lanewise, Register, gather_lane_by_lane};

token! {
    /// Proof that this processor has AVX-512 F, DQ, BW and VL, AVX2 and FMA.
    Avx512Token,
    detected by Avx2Token::detect().is_some()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl"),
    features "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"
}

/// Declares a register type of sixteen lanes in all: they differ in their rows alone.
macro_rules! sixteen_lanes {
    (
        $(#[$attribute:meta])*
        $name:ident: $lanes:literal lanes, $rows:literal rows, bits $row_bits:literal, numbered $($lane:literal)*;
        load($from:ident) = $load:expr;
        store($into:ident, $stored:ident) = $store:expr;
    ) => {
        lanewise! {
            $(#[$attribute])*
            $name(__m512): $lanes lanes, $rows rows, radix 16, Avx512Token;
            load($from) = $load;
            store($into, $stored) = $store;
            splat(value) = _mm512_set1_ps(value);
            add(a, b) = _mm512_add_ps(a, b);
            sub(a, b) = _mm512_sub_ps(a, b);
            mul(a, b) = _mm512_mul_ps(a, b);
            mul_add(a, b, c) = _mm512_fmadd_ps(a, b, c);
            mul_sub(a, b, c) = _mm512_fmsub_ps(a, b, c);
            neg_mul_add(a, b, c) = _mm512_fnmadd_ps(a, b, c);
            keys _mm512_castps_si512, _mm512_castsi512_ps;
            descending(first) = _mm512_sub_epi32(_mm512_set1_epi32(first as i32), _mm512_setr_epi32($($lane),*));
            // (a & !mask) | low.
            with_low_bits(a, mask, low) =
                _mm512_ternarylogic_epi32::<0xdc>(a, low, _mm512_set1_epi32(mask as i32));
            inverted_bits(a, mask) = _mm512_andnot_si512(a, _mm512_set1_epi32(mask as i32));
            // a ^ (sign | 0x8000_0000).
            ordered(a) =
                _mm512_ternarylogic_epi32::<0x1e>(a, _mm512_srai_epi32::<31>(a), _mm512_set1_epi32(i32::MIN));
            key_max(a, b) = _mm512_max_epu32(a, b);
            key_min(a, b) = _mm512_min_epu32(a, b);
            equal_outside(a, b, mask) = {
                let differing = _mm512_xor_si512(a, b);
                u32::from(_mm512_testn_epi32_mask(differing, _mm512_set1_epi32(!mask as i32)) & $row_bits)
            };
        }
    };
}

sixteen_lanes! {
    /// One row of sixteen lanes.
    Avx512: 16 lanes, 1 rows, bits 0xffff, numbered 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;
    load(from) = _mm512_loadu_ps(from);
    store(into, value) = _mm512_storeu_ps(into, value);
}

impl Avx512 {
    /// `found`, but in the lanes whose bits are from 32 `pair` on, up to 31 more, the value of `low` or `high` that has this
    /// number among them.
    #[inline(always)]
    fn gather_from_pair(self, pair: usize, low: __m512, high: __m512, found: Self) -> Self {
        intrinsic!({
            let at = _mm512_castps_si512(self.0);
            let is_here = _mm512_cmpeq_epi32_mask(_mm512_srli_epi32::<5>(at), _mm512_set1_epi32(pair as i32));
            Self(_mm512_mask_blend_ps(is_here, found.0, _mm512_permutex2var_ps(low, at, high)))
        })
    }
}

impl Register for Avx512 {
    type OneRow = Self;

    #[inline(always)]
    fn from_quads(_token: Avx512Token, [a, b, c, d]: [&[f32; 4]; 4]) -> Self {
        // SAFETY: the token proves the instructions; each array has four values, and the loads need no alignment.
        Self(unsafe {
            let low = _mm256_loadu2_m128(b.as_ptr(), a.as_ptr());
            let high = _mm256_loadu2_m128(d.as_ptr(), c.as_ptr());
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)
        })
    }

    #[inline(always)]
    fn into_quads(self) -> [[f32; 4]; 4] {
        let mut quads = [[0.0; 4]; 4];
        // SAFETY: `self` proves the instructions; the arrays are sixteen values in a row, and the store needs no
        // alignment.
        unsafe { _mm512_storeu_ps(quads.as_mut_ptr().cast(), self.0) };
        quads
    }

    #[inline(always)]
    fn transpose_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let [a, b, c, d] = transpose_quads([a.0, b.0, c.0, d.0], a.token());
        [Self(a), Self(b), Self(c), Self(d)]
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
    fn transpose_across_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        intrinsic!({
            // Two quads of a, then of b, and two of c, then of d.
            let even = _mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27);
            let odd = _mm512_setr_epi32(4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31);
            let (ab_low, ab_high) = (_mm512_shuffle_f32x4::<0x44>(a.0, b.0), _mm512_shuffle_f32x4::<0xee>(a.0, b.0));
            let (cd_low, cd_high) = (_mm512_shuffle_f32x4::<0x44>(c.0, d.0), _mm512_shuffle_f32x4::<0xee>(c.0, d.0));
            [
                Self(_mm512_permutex2var_ps(ab_low, even, cd_low)),
                Self(_mm512_permutex2var_ps(ab_low, odd, cd_low)),
                Self(_mm512_permutex2var_ps(ab_high, even, cd_high)),
                Self(_mm512_permutex2var_ps(ab_high, odd, cd_high)),
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
    fn shifted_up(self, before: Self) -> Self {
        intrinsic!({
            let (lanes, before) = (_mm512_castps_si512(self.0), _mm512_castps_si512(before.0));
            Self(_mm512_castsi512_ps(_mm512_alignr_epi32::<15>(lanes, before)))
        })
    }

    #[inline(always)]
    fn shifted_down(self, after: Self) -> Self {
        intrinsic!({
            let (lanes, after) = (_mm512_castps_si512(self.0), _mm512_castps_si512(after.0));
            Self(_mm512_castsi512_ps(_mm512_alignr_epi32::<1>(after, lanes)))
        })
    }

    #[inline(always)]
    fn gather(self, values: &[f32]) -> Self {
        // As many pairs of registers as take less time than sixteen loads.
        const MAX_PAIRS: usize = 8;
        const PAIR: usize = 32;
        if values.len() > MAX_PAIRS * PAIR {
            return gather_lane_by_lane(self, values);
        }
        let mut found = Self::splat(self.token(), 0.0);
        let (pairs, rest) = values.as_chunks::<PAIR>();
        for (index, pair) in pairs.iter().enumerate() {
            let (low, high) = pair.split_at(PAIR / 2);
            // SAFETY: `self` proves the instructions, and both halves have sixteen values.
            let (low, high) = unsafe { (_mm512_loadu_ps(low.as_ptr()), _mm512_loadu_ps(high.as_ptr())) };
            found = self.gather_from_pair(index, low, high, found);
        }
        if !rest.is_empty() {
            let (low, high) = rest.split_at(rest.len().min(PAIR / 2));
            let (of_low, of_high) = ((1u32 << low.len()) - 1, (1u32 << high.len()) - 1);
            // SAFETY: `self` proves the instructions, and of each half only the values that it has are loaded.
            let (low, high) = unsafe {
                (
                    _mm512_maskz_loadu_ps(of_low as u16, low.as_ptr()),
                    _mm512_maskz_loadu_ps(of_high as u16, high.as_ptr()),
                )
            };
            found = self.gather_from_pair(pairs.len(), low, high, found);
        }
        found
    }

    #[inline(always)]
    fn prefetch(address: *const f32) {
        // SAFETY: every x86-64 processor has the instruction, which takes any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
}

/// [`Register::transpose_quads`] of sixteen lanes, in one row or two.
#[inline(always)]
pub(in crate::cpu::isa) fn transpose_quads([a, b, c, d]: [__m512; 4], _token: Avx512Token) -> [__m512; 4] {
    intrinsic!({
        let (ab_low, ab_high) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let (cd_low, cd_high) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        [
            _mm512_shuffle_ps::<0x44>(ab_low, cd_low),
            _mm512_shuffle_ps::<0xee>(ab_low, cd_low),
            _mm512_shuffle_ps::<0x44>(ab_high, cd_high),
            _mm512_shuffle_ps::<0xee>(ab_high, cd_high),
        ]
    })
}

sixteen_lanes! {
    /// Two rows of eight lanes, a half of the register each.
    Avx512TwoRows: 8 lanes, 2 rows, bits 0xff, numbered 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7;
    load(from) = {
        let row = _mm256_loadu_ps(from);
        _mm512_insertf32x8::<1>(_mm512_castps256_ps512(row), row)
    };
    store(into, value) = _mm256_storeu_ps(into, _mm512_castps512_ps256(value));
}

impl Avx512TwoRows {
    /// The lanes `from` of `self`, and of `next` from 16 on.
    #[inline(always)]
    fn pick(self, next: Self, from: [i32; 16]) -> Self {
        // SAFETY: `self` proves the instructions, and the array has sixteen values.
        Self(unsafe { _mm512_permutex2var_ps(self.0, _mm512_loadu_epi32(from.as_ptr()), next.0) })
    }
}

impl Register for Avx512TwoRows {
    type OneRow = Avx512;

    #[inline(always)]
    fn load_rows(_token: Avx512Token, [first, second]: [&[f32; 8]; 2]) -> Self {
        // SAFETY: the token proves the instructions; each array has eight values, and the loads need no alignment.
        Self(unsafe {
            let (low, high) = (_mm256_loadu_ps(first.as_ptr()), _mm256_loadu_ps(second.as_ptr()));
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)
        })
    }

    #[inline(always)]
    fn store_rows(self, [first, second]: [&mut [f32; 8]; 2]) {
        self.store(first);
        // SAFETY: `self` proves the instructions; the array has room for eight values, and the store needs no
        // alignment.
        unsafe { _mm256_storeu_ps(second.as_mut_ptr(), _mm512_extractf32x8_ps::<1>(self.0)) }
    }

    #[inline(always)]
    fn from_quads(_token: Avx512Token, [a, b, ..]: [&[f32; 4]; 4]) -> Self {
        // SAFETY: the token proves the instructions; each array has four values, and the load needs no alignment.
        Self(unsafe {
            let row = _mm256_loadu2_m128(b.as_ptr(), a.as_ptr());
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(row), row)
        })
    }

    #[inline(always)]
    fn into_quads(self) -> [[f32; 4]; 4] {
        let mut quads = [[0.0; 4]; 4];
        let (low, high) = quads.split_at_mut(1);
        // SAFETY: `self` proves the instructions; each array has room for four values, and the stores need no
        // alignment.
        unsafe {
            _mm256_storeu2_m128(high[0].as_mut_ptr(), low[0].as_mut_ptr(), _mm512_castps512_ps256(self.0));
        }
        quads
    }

    #[inline(always)]
    fn transpose_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let [a, b, c, d] = transpose_quads([a.0, b.0, c.0, d.0], a.token());
        [Self(a), Self(b), Self(c), Self(d)]
    }

    #[inline(always)]
    fn exchange_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        const LOW: [i32; 16] = [0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27];
        const HIGH: [i32; 16] = [4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31];
        [a.pick(b, LOW), a.pick(b, HIGH), c.pick(d, LOW), c.pick(d, HIGH)]
    }

    #[inline(always)]
    fn deinterleave(self, next: Self) -> (Self, Self) {
        const EVEN: [i32; 16] = [0, 2, 4, 6, 16, 18, 20, 22, 8, 10, 12, 14, 24, 26, 28, 30];
        const ODD: [i32; 16] = [1, 3, 5, 7, 17, 19, 21, 23, 9, 11, 13, 15, 25, 27, 29, 31];
        (self.pick(next, EVEN), self.pick(next, ODD))
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        self.pick(self, [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8])
    }

    #[inline(always)]
    fn mirror(self, next: Self) -> Self {
        self.pick(next, [16, 7, 6, 5, 4, 3, 2, 1, 24, 15, 14, 13, 12, 11, 10, 9])
    }

    #[inline(always)]
    fn shifted_up(self, before: Self) -> Self {
        self.pick(before, [23, 0, 1, 2, 3, 4, 5, 6, 31, 8, 9, 10, 11, 12, 13, 14])
    }

    #[inline(always)]
    fn shifted_down(self, after: Self) -> Self {
        self.pick(after, [1, 2, 3, 4, 5, 6, 7, 16, 9, 10, 11, 12, 13, 14, 15, 24])
    }

    #[inline(always)]
    fn prefetch(address: *const f32) {
        Avx512::prefetch(address);
    }
}
