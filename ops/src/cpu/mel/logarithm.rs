//! Guarded logarithms and their derivatives, of single values and of many f32.

use crate::cpu::elementary::ln;
use crate::cpu::real::Real;
use crate::options::{LogGuard, Logarithm};

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

    /// The logarithm of a value.
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
