//! Lanes in plain Rust.

use std::ops::{Add, Mul, Sub};

use super::lanes::{Kernel, Lanes};

/// `L` lanes, 4 to 16, that the compiler makes what it can of.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Portable<const L: usize>([f32; L]);

impl<const L: usize> Portable<L> {
    #[inline]
    fn from_lanes(of: impl Fn(usize) -> f32) -> Self {
        let mut lanes = [0.0; L];
        for (index, lane) in lanes.iter_mut().enumerate() {
            *lane = of(index);
        }
        Self(lanes)
    }

    #[inline]
    fn from_bits(of: impl Fn(usize) -> u32) -> Self {
        Self::from_lanes(|lane| f32::from_bits(of(lane)))
    }

    #[inline]
    fn bits(&self, lane: usize) -> u32 {
        self.0[lane].to_bits()
    }
}

impl<const L: usize> Add for Portable<L> {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self::from_lanes(|lane| self.0[lane] + other.0[lane])
    }
}

impl<const L: usize> Sub for Portable<L> {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self::from_lanes(|lane| self.0[lane] - other.0[lane])
    }
}

impl<const L: usize> Mul for Portable<L> {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        Self::from_lanes(|lane| self.0[lane] * other.0[lane])
    }
}

// SAFETY: 4, 8 or 16 f32 leave no padding at an alignment of 16, and any bits are an f32. The methods are plain Rust.
unsafe impl<const L: usize> Lanes for Portable<L>
where
    [f32; L]: Default,
{
    const COUNT: usize = L;
    type Array = [f32; L];

    #[inline]
    fn arrays(values: &[f32]) -> &[[f32; L]] {
        values.as_chunks().0
    }

    #[inline]
    fn arrays_mut(values: &mut [f32]) -> &mut [[f32; L]] {
        values.as_chunks_mut().0
    }

    #[inline]
    fn load(values: &[f32; L]) -> Self {
        Self(*values)
    }

    #[inline]
    fn store(self, into: &mut [f32; L]) {
        *into = self.0;
    }

    #[inline]
    fn splat(value: f32) -> Self {
        Self([value; L])
    }

    #[inline]
    fn from_quads(quads: [&[f32; 4]; 4]) -> Self {
        Self::from_lanes(|lane| quads[lane / 4][lane % 4])
    }

    #[inline]
    fn into_quads(self) -> [[f32; 4]; 4] {
        let mut quads = [[0.0; 4]; 4];
        for (lane, &value) in self.0.iter().enumerate() {
            quads[lane / 4][lane % 4] = value;
        }
        quads
    }

    // Without the instruction a fused operation is a call; two roundings are within the contract.
    #[inline]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        self * factor + addend
    }

    #[inline]
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
        self * factor - subtrahend
    }

    #[inline]
    fn neg_mul_add(self, factor: Self, minuend: Self) -> Self {
        minuend - self * factor
    }

    #[inline]
    fn transpose_quads(rows: [Self; 4]) -> [Self; 4] {
        [0, 1, 2, 3].map(|j| Self::from_lanes(|lane| rows[lane % 4].0[lane / 4 * 4 + j]))
    }

    #[inline]
    fn exchange_quads(rows: [Self; 4]) -> [Self; 4] {
        let quads = L / 4;
        [0, 1, 2, 3].map(|j| Self::from_lanes(|lane| rows[j / quads * quads + lane / 4].0[j % quads * 4 + lane % 4]))
    }

    #[inline]
    fn deinterleave(self, next: Self) -> (Self, Self) {
        let value = |at: usize| if at < L { self.0[at] } else { next.0[at - L] };
        (Self::from_lanes(|lane| value(2 * lane)), Self::from_lanes(|lane| value(2 * lane + 1)))
    }

    #[inline]
    fn reverse(self) -> Self {
        Self::from_lanes(|lane| self.0[L - 1 - lane])
    }

    #[inline]
    fn mirror(self, next: Self) -> Self {
        Self::from_lanes(|lane| if lane == 0 { next.0[0] } else { self.0[L - lane] })
    }

    #[inline]
    fn with_low_bits(self, mask: u32, low: u32) -> Self {
        Self::from_bits(|lane| self.bits(lane) & !mask | low)
    }

    #[inline]
    fn key_max(self, other: Self) -> Self {
        Self::from_bits(|lane| self.bits(lane).max(other.bits(lane)))
    }

    #[inline]
    fn key_min(self, other: Self) -> Self {
        Self::from_bits(|lane| self.bits(lane).min(other.bits(lane)))
    }

    #[inline]
    fn equal_outside(self, other: Self, mask: u32) -> u32 {
        let equal = |lane: usize| u32::from((self.bits(lane) ^ other.bits(lane)) & !mask == 0) << lane;
        (0..L).fold(0, |equals, lane| equals | equal(lane))
    }

    #[inline(never)]
    fn call(kernel: impl Kernel) {
        kernel.run();
    }
}
