//! Registers of two rows of eight lanes: AVX-512.

use std::arch::x86_64::*;

use crate::cpu::isa::avx512::{Avx512, Avx512Token, sixteen_lanes, transpose_quads};
use crate::cpu::isa::lanewise::{intrinsic, lanewise};
use crate::cpu::isa::register::{Lanewise, Register};

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
