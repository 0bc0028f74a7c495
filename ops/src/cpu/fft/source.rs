//! Inputs of a transform, loaded column by column.

use crate::cpu::isa::register::{Complex, Register};

/// Complex values, a register of lanes for each column.
pub(in crate::cpu) trait ColumnSource<V: Register>: Copy {
    /// Column `c`.
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

/// Windowed samples of one segment of each row.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Windowed<'a, V: Register> {
    samples: [&'a [V::Array]; 2],
    window: &'a [V],
}

impl<'a, V: Register> Windowed<'a, V> {
    /// `samples` are those of each row; `window` has a register for each `LANES` of them.
    #[inline(always)]
    pub fn new([first, second]: [&'a [f32]; 2], window: &'a [V]) -> Self {
        let samples = [&V::arrays(first)[..window.len()], &V::arrays(second)[..window.len()]];
        Self { samples, window }
    }

    #[inline(always)]
    fn register(&self, at: usize) -> V {
        let window = self.window[at];
        window * V::load_rows(window.token(), [&self.samples[0][at], &self.samples[1][at]])
    }
}

/// Two segments, the second as the imaginary part.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct SegmentPair<'a, V: Register>(pub Windowed<'a, V>, pub Windowed<'a, V>);

impl<V: Register> ColumnSource<V> for SegmentPair<'_, V> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        Complex { re: self.0.register(c), im: self.1.register(c) }
    }
}

/// One segment, its imaginary part zero.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Single<'a, V: Register>(pub Windowed<'a, V>);

impl<V: Register> ColumnSource<V> for Single<'_, V> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        let re = self.0.register(c);
        Complex { re, im: V::splat(re.token(), 0.0) }
    }
}

/// One segment, its samples real and imaginary parts in turn.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Interleaved<'a, V: Register>(pub Windowed<'a, V>);

impl<V: Register> ColumnSource<V> for Interleaved<'_, V> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        let (re, im) = V::deinterleave(self.0.register(2 * c), self.0.register(2 * c + 1));
        Complex { re, im }
    }
}
