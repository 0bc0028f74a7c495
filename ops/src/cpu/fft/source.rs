//! What a transform is of: tapered samples, loaded column by column.

use crate::cpu::isa::register::Complex;
use crate::cpu::isa::register::Lanes;

/// Complex values made of samples, a register of lanes for each column.
pub(in crate::cpu) trait Source<V: Lanes>: Copy {
    /// Column `c`.
    fn column(&self, c: usize) -> Complex<V>;
}

/// Tapered samples of one segment of each row.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Tapered<'a, V: Lanes> {
    samples: [&'a [V::Array]; 2],
    window: &'a [V],
}

impl<'a, V: Lanes> Tapered<'a, V> {
    /// `samples` are those of each row; `window` has a register for each `COUNT` of them.
    #[inline(always)]
    pub fn new([first, second]: [&'a [f32]; 2], window: &'a [V]) -> Self {
        let samples = [&V::arrays(first)[..window.len()], &V::arrays(second)[..window.len()]];
        Self { samples, window }
    }

    #[inline(always)]
    fn register(&self, at: usize) -> V {
        self.window[at] * V::load_rows([&self.samples[0][at], &self.samples[1][at]])
    }
}

/// Two segments, one the imaginary part of the other.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Pair<'a, V: Lanes>(pub Tapered<'a, V>, pub Tapered<'a, V>);

impl<V: Lanes> Source<V> for Pair<'_, V> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        Complex { re: self.0.register(c), im: self.1.register(c) }
    }
}

/// One segment, its imaginary part zero.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Lone<'a, V: Lanes>(pub Tapered<'a, V>);

impl<V: Lanes> Source<V> for Lone<'_, V> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        Complex { re: self.0.register(c), im: V::splat(0.0) }
    }
}

/// One segment, its samples real and imaginary parts in turn.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Interleaved<'a, V: Lanes>(pub Tapered<'a, V>);

impl<V: Lanes> Source<V> for Interleaved<'_, V> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        let (re, im) = V::deinterleave(self.0.register(2 * c), self.0.register(2 * c + 1));
        Complex { re, im }
    }
}
