//! Packs of a few values that go through the same arithmetic, which the compiler turns into vector instructions.
//!
//! Loading and storing whole packs by value tells it that a store cannot change what was loaded before.

use std::array;
use std::ops::{Add, Mul, Sub};

use crate::cpu::real::Real;
use crate::cpu::scalar::split::{Split, SplitMut};

/// `L` values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cpu) struct Pack<T, const L: usize>(pub [T; L]);

impl<T: Real, const L: usize> Pack<T, L> {
    /// `value` in every lane.
    #[inline(always)]
    pub fn splat(value: T) -> Self {
        Self([value; L])
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        Self(array::from_fn(
            #[inline(always)]
            |lane| f(self.0[lane], other.0[lane]),
        ))
    }
}

impl<T: Real, const L: usize> Add for Pack<T, L> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl<T: Real, const L: usize> Sub for Pack<T, L> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

impl<T: Real, const L: usize> Mul for Pack<T, L> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
}

/// `L` complex values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cpu) struct ComplexPack<T, const L: usize> {
    pub re: Pack<T, L>,
    pub im: Pack<T, L>,
}

impl<T: Real, const L: usize> ComplexPack<T, L> {
    /// The product of `self`'s conjugate and `other`.
    #[inline(always)]
    pub fn conj_mul(self, other: Self) -> Self {
        Self { re: self.dot(other), im: self.re * other.im - self.im * other.re }
    }

    /// The lanes of `other` where `gate` is 0, those of `self` elsewhere.
    #[inline(always)]
    pub fn or_where_zero(self, gate: Pack<T, L>, other: Self) -> Self {
        let choose = |value: Pack<T, L>, other: Pack<T, L>| {
            Pack(array::from_fn(
                #[inline(always)]
                |lane| if gate.0[lane].is_zero() { other.0[lane] } else { value.0[lane] },
            ))
        };
        Self { re: choose(self.re, other.re), im: choose(self.im, other.im) }
    }

    /// The real part of [`Self::conj_mul`].
    #[inline(always)]
    pub fn dot(self, other: Self) -> Pack<T, L> {
        self.re * other.re + self.im * other.im
    }
}

impl<T: Real, const L: usize> Add for ComplexPack<T, L> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl<T: Real, const L: usize> Sub for ComplexPack<T, L> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl<T: Real, const L: usize> Mul for ComplexPack<T, L> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl<T: Real, const L: usize> Mul<Pack<T, L>> for ComplexPack<T, L> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: Pack<T, L>) -> Self {
        Self { re: self.re * factor, im: self.im * factor }
    }
}

/// A vector cut into packs, read.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Blocks<'a, T, const L: usize> {
    re: &'a [[T; L]],
    im: &'a [[T; L]],
}

impl<'a, T: Real, const L: usize> Blocks<'a, T, L> {
    /// The first `len` values of `vector`.
    #[inline(always)]
    pub fn of(vector: Split<'a, T>, len: usize) -> Self {
        let blocks = len / L;
        Self { re: &vector.re.as_chunks().0[..blocks], im: &vector.im.as_chunks().0[..blocks] }
    }

    #[inline(always)]
    pub fn load(&self, block: usize) -> ComplexPack<T, L> {
        ComplexPack { re: Pack(self.re[block]), im: Pack(self.im[block]) }
    }
}

/// A vector cut into packs, written.
pub(in crate::cpu) struct BlocksMut<'a, T, const L: usize> {
    re: &'a mut [[T; L]],
    im: &'a mut [[T; L]],
}

impl<'a, T: Real, const L: usize> BlocksMut<'a, T, L> {
    /// The first `len` values of `vector`.
    #[inline(always)]
    pub fn of(vector: SplitMut<'a, T>, len: usize) -> Self {
        let blocks = len / L;
        Self { re: &mut vector.re.as_chunks_mut().0[..blocks], im: &mut vector.im.as_chunks_mut().0[..blocks] }
    }

    #[inline(always)]
    pub fn load(&self, block: usize) -> ComplexPack<T, L> {
        ComplexPack { re: Pack(self.re[block]), im: Pack(self.im[block]) }
    }

    #[inline(always)]
    pub fn store(&mut self, block: usize, value: ComplexPack<T, L>) {
        self.re[block] = value.re.0;
        self.im[block] = value.im.0;
    }
}
