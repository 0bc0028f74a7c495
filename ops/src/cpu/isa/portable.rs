//! Registers in plain Rust.

use std::ops::{Add, Mul, Sub};

use crate::cpu::isa::register::{Lanewise, Register, SharedKernel};

/// Proof that this processor has the portable set: every processor has.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct PortableToken;

/// `R` rows of `L` lanes, 4 to 16, vectorised as far as the compiler does.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub(in crate::cpu) struct Portable<const L: usize, const R: usize = 1>([[f32; L]; R]);

impl<const L: usize, const R: usize> Portable<L, R> {
    /// The register with `of(row, lane)` in each lane.
    #[inline]
    fn from_lanes(of: impl Fn(usize, usize) -> f32) -> Self {
        let mut rows = [[0.0; L]; R];
        for (row, lanes) in rows.iter_mut().enumerate() {
            for (index, lane) in lanes.iter_mut().enumerate() {
                *lane = of(row, index);
            }
        }
        Self(rows)
    }

    #[inline]
    fn from_bits(of: impl Fn(usize, usize) -> u32) -> Self {
        Self::from_lanes(|row, lane| f32::from_bits(of(row, lane)))
    }

    #[inline]
    fn bits(&self, row: usize, lane: usize) -> u32 {
        self.0[row][lane].to_bits()
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $symbol:tt),*) => {$(
        impl<const L: usize, const R: usize> $operator for Portable<L, R> {
            type Output = Self;

            #[inline]
            fn $method(self, other: Self) -> Self {
                Self::from_lanes(|row, lane| self.0[row][lane] $symbol other.0[row][lane])
            }
        }
    )*};
}

operators!(Add add +, Sub sub -, Mul mul *);

// SAFETY: a multiple of 4 f32 leaves no padding at an alignment of 16, and any bits are an f32. The methods are plain
// Rust, which every processor runs.
unsafe impl<const L: usize, const R: usize> Lanewise for Portable<L, R>
where
    [f32; L]: Default,
{
    const LANES: usize = L;
    const ROWS: usize = R;
    const RADIX: usize = if L * R == 16 { 16 } else { 4 };
    type Token = PortableToken;
    type Array = [f32; L];

    #[inline]
    fn token(self) -> PortableToken {
        PortableToken
    }

    #[inline]
    fn arrays(values: &[f32]) -> &[[f32; L]] {
        values.as_chunks().0
    }

    #[inline]
    fn arrays_mut(values: &mut [f32]) -> &mut [[f32; L]] {
        values.as_chunks_mut().0
    }

    #[inline]
    fn splat(_token: PortableToken, value: f32) -> Self {
        Self([[value; L]; R])
    }

    #[inline]
    fn load(_token: PortableToken, values: &[f32; L]) -> Self {
        Self([*values; R])
    }

    #[inline]
    fn store(self, into: &mut [f32; L]) {
        *into = self.0[0];
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
    fn descending(_token: PortableToken, first: u32) -> Self {
        Self::from_bits(|_, lane| first.wrapping_sub(lane as u32))
    }

    #[inline]
    fn with_low_bits(self, mask: u32, low: Self) -> Self {
        Self::from_bits(|row, lane| self.bits(row, lane) & !mask | low.bits(row, lane))
    }

    #[inline]
    fn inverted_bits(self, mask: u32) -> Self {
        Self::from_bits(|row, lane| !self.bits(row, lane) & mask)
    }

    #[inline]
    fn ordered(self) -> Self {
        Self::from_bits(|row, lane| {
            let bits = self.bits(row, lane);
            bits ^ (((bits as i32) >> 31) as u32 | 1 << 31)
        })
    }

    #[inline]
    fn key_max(self, other: Self) -> Self {
        Self::from_bits(|row, lane| self.bits(row, lane).max(other.bits(row, lane)))
    }

    #[inline]
    fn key_min(self, other: Self) -> Self {
        Self::from_bits(|row, lane| self.bits(row, lane).min(other.bits(row, lane)))
    }

    #[inline]
    fn equal_outside(self, other: Self, mask: u32) -> u32 {
        let equal = |lane: usize| u32::from((self.bits(0, lane) ^ other.bits(0, lane)) & !mask == 0) << lane;
        (0..L).fold(0, |equals, lane| equals | equal(lane))
    }

    #[inline(never)]
    fn call_shared(_token: PortableToken, kernel: impl SharedKernel) {
        kernel.run();
    }
}

impl<const L: usize, const R: usize> Register for Portable<L, R>
where
    [f32; L]: Default,
{
    type OneRow = Self;

    #[inline]
    fn load_rows(_token: PortableToken, rows: [&[f32; L]; 2]) -> Self {
        Self::from_lanes(|row, lane| rows[row][lane])
    }

    #[inline]
    fn store_rows(self, rows: [&mut [f32; L]; 2]) {
        for (into, row) in rows.into_iter().zip(self.0) {
            *into = row;
        }
    }

    #[inline]
    fn from_quads(_token: PortableToken, quads: [&[f32; 4]; 4]) -> Self {
        Self::from_lanes(|_, lane| quads[lane / 4][lane % 4])
    }

    #[inline]
    fn into_quads(self) -> [[f32; 4]; 4] {
        let mut quads = [[0.0; 4]; 4];
        for (lane, &value) in self.0[0].iter().enumerate() {
            quads[lane / 4][lane % 4] = value;
        }
        quads
    }

    #[inline]
    fn transpose_quads(rows: [Self; 4]) -> [Self; 4] {
        [0, 1, 2, 3].map(|j| Self::from_lanes(|row, lane| rows[lane % 4].0[row][lane / 4 * 4 + j]))
    }

    #[inline]
    fn exchange_quads(rows: [Self; 4]) -> [Self; 4] {
        let quads = L / 4;
        [0, 1, 2, 3]
            .map(|j| Self::from_lanes(|row, lane| rows[j / quads * quads + lane / 4].0[row][j % quads * 4 + lane % 4]))
    }

    #[inline]
    fn transpose_across_quads(rows: [Self; 4]) -> [Self; 4] {
        assert_eq!(L, 16, "a register of four quads");
        [0, 1, 2, 3].map(|m| Self::from_lanes(|row, lane| rows[lane % 4].0[row][4 * m + lane / 4]))
    }

    #[inline]
    fn deinterleave(self, next: Self) -> (Self, Self) {
        let value = |row: usize, at: usize| if at < L { self.0[row][at] } else { next.0[row][at - L] };
        (Self::from_lanes(|row, lane| value(row, 2 * lane)), Self::from_lanes(|row, lane| value(row, 2 * lane + 1)))
    }

    #[inline]
    fn reverse(self) -> Self {
        Self::from_lanes(|row, lane| self.0[row][L - 1 - lane])
    }

    #[inline]
    fn mirror(self, next: Self) -> Self {
        Self::from_lanes(|row, lane| if lane == 0 { next.0[row][0] } else { self.0[row][L - lane] })
    }

    #[inline]
    fn shifted_up(self, before: Self) -> Self {
        Self::from_lanes(|row, lane| if lane == 0 { before.0[row][L - 1] } else { self.0[row][lane - 1] })
    }

    #[inline]
    fn shifted_down(self, after: Self) -> Self {
        Self::from_lanes(|row, lane| if lane == L - 1 { after.0[row][0] } else { self.0[row][lane + 1] })
    }
}
