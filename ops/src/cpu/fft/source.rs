//! Inputs and outputs of a transform, column by column.

use crate::cpu::fft::prefetch::prefetch_outputs;
use crate::cpu::isa::register::{Complex, Register};

/// Complex values, a register of lanes for each column.
pub(in crate::cpu) trait ColumnSource<V: Register>: Copy {
    fn column(&self, c: usize) -> Complex<V>;
}

/// Complex values whose real and imaginary parts are apart.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct SplitColumns<'a, V: Register> {
    pub token: V::Token,
    pub re: &'a [V::Array],
    pub im: &'a [V::Array],
}

impl<V: Register> ColumnSource<V> for SplitColumns<'_, V> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        Complex { re: V::load(self.token, &self.re[c]), im: V::load(self.token, &self.im[c]) }
    }
}

/// Real values, a register of lanes for each column.
pub(in crate::cpu) trait RealSource<V: Register>: Copy {
    fn column(&self, c: usize) -> V;
}

/// Samples of one segment of each row.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Samples<'a, V: Register> {
    token: V::Token,
    rows: [&'a [V::Array]; 2],
}

impl<'a, V: Register> Samples<'a, V> {
    /// `rows` have `columns * L` samples, as far as the register has rows.
    #[inline(always)]
    pub fn new(token: V::Token, [first, second]: [&'a [f32]; 2], columns: usize) -> Self {
        Self { token, rows: [&V::arrays(first)[..columns], &V::arrays(second)[..columns]] }
    }

    /// The samples times a window `[columns]`.
    #[inline(always)]
    pub fn windowed(self, window: &'a [V]) -> Windowed<'a, V> {
        Windowed { samples: self, window }
    }
}

impl<V: Register> RealSource<V> for Samples<'_, V> {
    #[inline(always)]
    fn column(&self, c: usize) -> V {
        V::load_rows(self.token, [&self.rows[0][c], &self.rows[1][c]])
    }
}

/// Windowed samples of one segment of each row.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Windowed<'a, V: Register> {
    samples: Samples<'a, V>,
    window: &'a [V],
}

impl<V: Register> RealSource<V> for Windowed<'_, V> {
    #[inline(always)]
    fn column(&self, c: usize) -> V {
        self.window[c] * self.samples.column(c)
    }
}

/// Two segments, the second as the imaginary part.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct SegmentPair<S>(pub S, pub S);

impl<V: Register, S: RealSource<V>> ColumnSource<V> for SegmentPair<S> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        Complex { re: self.0.column(c), im: self.1.column(c) }
    }
}

/// One segment, its imaginary part zero.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Single<S>(pub S);

impl<V: Register, S: RealSource<V>> ColumnSource<V> for Single<S> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        let re = self.0.column(c);
        Complex { re, im: V::splat(re.token(), 0.0) }
    }
}

/// One segment, its samples real and imaginary parts in turn.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Interleaved<S>(pub S);

impl<V: Register, S: RealSource<V>> ColumnSource<V> for Interleaved<S> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        let (re, im) = V::deinterleave(self.0.column(2 * c), self.0.column(2 * c + 1));
        Complex { re, im }
    }
}

/// Consumer of a spectrum's registers. A trait, because closures are not inlined for certain.
pub(in crate::cpu) trait ColumnSink<V: Register> {
    /// Takes register `at`.
    fn store(&mut self, at: usize, z: Complex<V>);
}

pub(in crate::cpu) struct StoreSpectrum<'a, V>(pub &'a mut [Complex<V>]);

impl<V: Register> ColumnSink<V> for StoreSpectrum<'_, V> {
    #[inline(always)]
    fn store(&mut self, at: usize, z: Complex<V>) {
        self.0[at] = z;
    }
}

/// Stores the spectrum times a factor, real and imaginary parts apart.
pub(in crate::cpu) struct StoreParts<'a, V: Register> {
    pub re: &'a mut [V::Array],
    pub im: &'a mut [V::Array],
    pub factor: V,
    /// Whether what follows in memory is prefetched.
    pub prefetches: bool,
}

impl<V: Register> ColumnSink<V> for StoreParts<'_, V> {
    #[inline(always)]
    fn store(&mut self, at: usize, z: Complex<V>) {
        if self.prefetches {
            prefetch_outputs::<V>(self.re, self.im, at);
        }
        (z.re * self.factor).store(&mut self.re[at]);
        (z.im * self.factor).store(&mut self.im[at]);
    }
}

/// Stores |Z|².
pub(in crate::cpu) struct StorePower<'a, V>(pub &'a mut [V]);

impl<V: Register> ColumnSink<V> for StorePower<'_, V> {
    #[inline(always)]
    fn store(&mut self, at: usize, z: Complex<V>) {
        self.0[at] = z.re.mul_add(z.re, z.im * z.im);
    }
}

/// Adds |Z|².
pub(in crate::cpu) struct AddPower<'a, V>(pub &'a mut [V]);

impl<V: Register> ColumnSink<V> for AddPower<'_, V> {
    #[inline(always)]
    fn store(&mut self, at: usize, z: Complex<V>) {
        self.0[at] = z.re.mul_add(z.re, z.im.mul_add(z.im, self.0[at]));
    }
}
