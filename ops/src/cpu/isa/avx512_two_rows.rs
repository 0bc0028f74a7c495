//! Two rows of eight lanes: AVX-512.

use std::arch::x86_64::*;
use std::ops::{Add, Mul, Sub};

use crate::cpu::isa::avx512::Avx512;
use crate::cpu::isa::register::Kernel;
use crate::cpu::isa::register::Lanes;

/// Two rows of eight lanes, a half each. Values exist only in functions compiled for what [`Avx512`] stands for; see [`Lanes`].
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(in crate::cpu) struct Avx512Pairs(Avx512);

impl Avx512Pairs {
    /// The lanes `from` of `self`, and of `next` from 16 on.
    #[inline(always)]
    fn pick(self, next: Self, from: [i32; 16]) -> Self {
        // SAFETY: by the contract of `Lanes` the processor has AVX-512 F, and the array has sixteen values.
        Self(Avx512(unsafe { _mm512_permutex2var_ps(self.0.0, _mm512_loadu_epi32(from.as_ptr()), next.0.0) }))
    }
}

impl Add for Avx512Pairs {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Avx512Pairs {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul for Avx512Pairs {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }
}

// SAFETY: a register of sixteen f32 has no padding, and any bits are valid. `simd::dispatch` detects AVX-512.
unsafe impl Lanes for Avx512Pairs {
    const COUNT: usize = 8;
    const ROWS: usize = 2;
    const RADIX: usize = Avx512::RADIX;
    type Array = [f32; 8];
    type Whole = Avx512;

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
        Self::load_rows([values, values])
    }

    #[inline(always)]
    fn store(self, into: &mut [f32; 8]) {
        // SAFETY: the array has room for eight values, and the store needs no alignment.
        unsafe { _mm256_storeu_ps(into.as_mut_ptr(), _mm512_castps512_ps256(self.0.0)) }
    }

    #[inline(always)]
    fn load_rows([first, second]: [&[f32; 8]; 2]) -> Self {
        // SAFETY: each array has eight values, and the loads need no alignment.
        Self(Avx512(unsafe {
            let (low, high) = (_mm256_loadu_ps(first.as_ptr()), _mm256_loadu_ps(second.as_ptr()));
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)
        }))
    }

    #[inline(always)]
    fn store_rows(self, [first, second]: [&mut [f32; 8]; 2]) {
        self.store(first);
        // SAFETY: the array has room for eight values, and the store needs no alignment.
        unsafe { _mm256_storeu_ps(second.as_mut_ptr(), _mm512_extractf32x8_ps::<1>(self.0.0)) }
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(Avx512::splat(value))
    }

    #[inline(always)]
    fn from_quads([a, b, ..]: [&[f32; 4]; 4]) -> Self {
        Self(Avx512::from_quads([a, b, a, b]))
    }

    #[inline(always)]
    fn into_quads(self) -> [[f32; 4]; 4] {
        let [a, b, ..] = self.0.into_quads();
        [a, b, [0.0; 4], [0.0; 4]]
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(self.0.mul_add(factor.0, addend.0))
    }

    #[inline(always)]
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
        Self(self.0.mul_sub(factor.0, subtrahend.0))
    }

    #[inline(always)]
    fn neg_mul_add(self, factor: Self, minuend: Self) -> Self {
        Self(self.0.neg_mul_add(factor.0, minuend.0))
    }

    #[inline(always)]
    fn transpose_quads([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let [a, b, c, d] = Avx512::transpose_quads([a.0, b.0, c.0, d.0]);
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
    fn with_low_bits(self, mask: u32, low: u32) -> Self {
        Self(self.0.with_low_bits(mask, low))
    }

    #[inline(always)]
    fn key_max(self, other: Self) -> Self {
        Self(self.0.key_max(other.0))
    }

    #[inline(always)]
    fn key_min(self, other: Self) -> Self {
        Self(self.0.key_min(other.0))
    }

    #[inline(always)]
    fn equal_outside(self, other: Self, mask: u32) -> u32 {
        self.0.equal_outside(other.0, mask) & 0xff
    }

    #[inline(always)]
    fn call(kernel: impl Kernel) {
        Avx512::call(kernel);
    }

    #[inline(always)]
    fn prefetch(address: *const f32) {
        Avx512::prefetch(address);
    }
}
