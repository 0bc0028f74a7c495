//! Four lanes in plain Rust.

use std::ops::{Add, Mul, Sub};

use super::lanes::Lanes;

/// Four lanes that the compiler makes what it can of.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Portable([f32; 4]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let (a, b) = (self.0, other.0);
        Self([f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])])
    }

    #[inline(always)]
    fn zip_bits(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        self.zip(other, |a, b| f32::from_bits(f(a.to_bits(), b.to_bits())))
    }
}

impl Add for Portable {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for Portable {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

impl Mul for Portable {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
}

// SAFETY: four f32 fill the 16 bytes, and any bits are an f32. The methods are plain Rust.
unsafe impl Lanes for Portable {
    const COUNT: usize = 4;
    type Array = [f32; 4];

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
        Self(*values)
    }

    #[inline(always)]
    fn store(self, into: &mut [f32; 4]) {
        *into = self.0;
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; 4])
    }

    // Without the instruction a fused operation is a call; two roundings are within the contract.
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        self * factor + addend
    }

    #[inline(always)]
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
        self * factor - subtrahend
    }

    #[inline(always)]
    fn neg_mul_add(self, factor: Self, minuend: Self) -> Self {
        minuend - self * factor
    }

    #[inline(always)]
    fn transpose_quads([Self(a), Self(b), Self(c), Self(d)]: [Self; 4]) -> [Self; 4] {
        [
            Self([a[0], b[0], c[0], d[0]]),
            Self([a[1], b[1], c[1], d[1]]),
            Self([a[2], b[2], c[2], d[2]]),
            Self([a[3], b[3], c[3], d[3]]),
        ]
    }

    #[inline(always)]
    fn exchange_quads(rows: [Self; 4]) -> [Self; 4] {
        rows
    }

    #[inline(always)]
    fn quads_to_quarters(self) -> Self {
        self
    }

    #[inline(always)]
    fn interleave_quarters(a: Self, b: Self) -> (Self, Self) {
        let (a, b) = (a.0, b.0);
        (Self([a[0], b[0], a[1], b[1]]), Self([a[2], b[2], a[3], b[3]]))
    }

    #[inline(always)]
    fn mirror(self, next: Self) -> Self {
        Self([next.0[0], self.0[3], self.0[2], self.0[1]])
    }

    #[inline(always)]
    fn with_low_bits(self, mask: u32, low: u32) -> Self {
        self.zip_bits(self, |bits, _| bits & !mask | low)
    }

    #[inline(always)]
    fn key_max(self, other: Self) -> Self {
        self.zip_bits(other, u32::max)
    }

    #[inline(always)]
    fn key_min(self, other: Self) -> Self {
        self.zip_bits(other, u32::min)
    }

    #[inline(always)]
    fn equal_outside(self, other: Self, mask: u32) -> u32 {
        let equal = |lane: usize| u32::from((self.0[lane].to_bits() ^ other.0[lane].to_bits()) & !mask == 0) << lane;
        equal(0) | equal(1) | equal(2) | equal(3)
    }
}
