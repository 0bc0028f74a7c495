//! Sums of bins into bands, and back, and the logarithms of bands.

use crate::cpu::elementary::ln;
use crate::cpu::isa::register::Register;
use crate::cpu::real::Real;
use crate::mel_filters::MelFilter;
use crate::options::{LogGuard, Logarithm};

/// Filters as the kernels take them: the weights of all bands, one after the other.
pub(super) struct PackedFilters<T> {
    /// First bin of each band, and number of its weights.
    ranges: Vec<[usize; 2]>,
    weights: Vec<T>,
}

impl<T: Real> PackedFilters<T> {
    /// Filters with a factor on every weight.
    pub fn new(filters: &[MelFilter], factor: f64) -> Self {
        let ranges = filters.iter().map(|filter| [filter.first, filter.weights.len()]).collect();
        let weights = filters.iter().flat_map(|filter| &filter.weights);
        Self { ranges, weights: weights.map(|weight| T::of(factor * weight)).collect() }
    }

    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Sums of `bins` into `bands`.
    pub fn sum(&self, bins: &[T], bands: &mut [T]) {
        let mut at = 0;
        for (band, &[first, count]) in bands.iter_mut().zip(&self.ranges) {
            let terms = bins[first..first + count].iter().zip(&self.weights[at..at + count]);
            *band = terms.fold(T::zero(), |sum, (&bin, &weight)| sum + weight * bin);
            at += count;
        }
    }

    /// The adjoint of [`sum`](Self::sum): gradients of bins from those of bands.
    pub fn spread(&self, bands: &[T], bins: &mut [T]) {
        bins.fill(T::zero());
        let mut at = 0;
        for (&band, &[first, count]) in bands.iter().zip(&self.ranges) {
            let bins = bins[first..first + count].iter_mut();
            bins.zip(&self.weights[at..at + count]).for_each(|(bin, &weight)| *bin += weight * band);
            at += count;
        }
    }
}

impl PackedFilters<f32> {
    /// [`sum`](Self::sum) of registers in memory.
    #[inline(always)]
    pub fn sum_registers<V: Register>(&self, token: V::Token, bins: &[V::Array], bands: &mut [V::Array]) {
        let mut at = 0;
        for (band, &[first, count]) in bands.iter_mut().zip(&self.ranges) {
            let mut sum = V::splat(token, 0.0);
            for (bin, &weight) in bins[first..first + count].iter().zip(&self.weights[at..at + count]) {
                sum = V::load(token, bin).mul_add(V::splat(token, weight), sum);
            }
            sum.store(band);
            at += count;
        }
    }

    /// [`spread`](Self::spread) of registers in memory.
    #[inline(always)]
    pub fn spread_registers<V: Register>(&self, token: V::Token, bands: &[V::Array], bins: &mut [V::Array]) {
        for bin in &mut *bins {
            V::splat(token, 0.0).store(bin);
        }
        let mut at = 0;
        for (band, &[first, count]) in bands.iter().zip(&self.ranges) {
            let band = V::load(token, band);
            for (bin, &weight) in bins[first..first + count].iter_mut().zip(&self.weights[at..at + count]) {
                band.mul_add(V::splat(token, weight), V::load(token, bin)).store(bin);
            }
            at += count;
        }
    }
}

/// A logarithm with the factor of its unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaled {
    guard: LogGuard,
    factor: f64,
}

impl Scaled {
    /// A logarithm of power, or else of amplitude.
    pub fn new(logarithm: &Logarithm, is_power: bool) -> Self {
        Self { guard: logarithm.guard, factor: logarithm.factor(is_power) }
    }

    pub fn of<T: Real>(&self, value: T) -> T {
        T::of(self.factor) * self.guarded(value).ln()
    }

    /// The guarded value: plus the offset, or at least the floor. NaN stays NaN.
    #[inline(always)]
    fn guarded<T: Real>(&self, value: T) -> T {
        match self.guard {
            LogGuard::Offset(offset) => value + T::of(offset),
            LogGuard::Floor(floor) => {
                let floor = T::of(floor);
                if value < floor { floor } else { value }
            }
        }
    }

    /// The derivative at a value, 0 below the floor.
    #[inline(always)]
    pub fn derivative<T: Real>(&self, value: T) -> T {
        let slope = T::of(self.factor) / self.guarded(value);
        match self.guard {
            LogGuard::Floor(floor) if value < T::of(floor) => T::zero(),
            _ => slope,
        }
    }

    /// Logarithms of f32 values, in place: a loop that compilers turn into instructions on whole registers.
    #[inline(always)]
    pub fn apply(&self, values: &mut [f32]) {
        let factor = self.factor as f32;
        match self.guard {
            LogGuard::Offset(offset) => {
                let offset = offset as f32;
                for value in values {
                    *value = factor * ln(*value + offset);
                }
            }
            LogGuard::Floor(floor) => {
                let floor = floor as f32;
                for value in values {
                    *value = factor * ln(if *value < floor { floor } else { *value });
                }
            }
        }
    }
}
