//! Destinations of a spectrum, register by register as the lane pass yields it.

use crate::cpu::fft::prefetch::prefetch_outputs;
use crate::cpu::isa::register::{Complex, Register};

/// Consumer of a spectrum's registers. A trait, because closures are not inlined for certain.
pub(in crate::cpu) trait ColumnSink<V: Register> {
    /// Takes register `at`.
    fn store(&mut self, at: usize, z: Complex<V>);
}

/// Stores the spectrum.
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
