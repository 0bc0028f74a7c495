//! Guarded logarithms and their derivatives, of single values and of many f32.

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

    /// The value with its offset, or from the floor up. What is not a number stays so.
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

/// The natural logarithm of a normal positive value, within 2 units in the last place; infinity and NaN are returned.
///
/// x = 2^e (1 + f) with 1 + f from √½ to √2, and ln(1 + f) = f − f²/2 + f³ P(f), P a polynomial through the values at
/// the Chebyshev nodes of that interval, with an error of 5·10⁻¹⁰ relative to the logarithm.
#[inline(always)]
fn ln(x: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    const P: [f32; 10] = [
        0.333_333_34,
        -0.249_999_9,
        0.200_000_1,
        -0.166_680_01,
        0.142_865_24,
        -0.124_507_435,
        0.110_377_83,
        -0.106_461_92,
        0.105_308_644,
        -0.062_015,
    ];
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (shifted as i32 >> 23) as f32;
    let f = f32::from_bits((shifted & 0x007f_ffff) + SQRT_HALF) - 1.0;
    let mut p = P[9];
    for coefficient in P[..9].iter().rev() {
        p = p * f + coefficient;
    }
    let square = f * f;
    // From the smallest term to the largest; the high part of ln 2 has few digits, so that its product is exact.
    let rest = (p * f * square + exponent * LN_2_LOW) - 0.5 * square;
    let result = exponent * LN_2_HIGH + (f + rest);
    if x < f32::INFINITY { result } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_within_two_units_in_the_last_place() {
        let mut worst: f64 = 0.0;
        for bits in (f32::MIN_POSITIVE.to_bits()..f32::MAX.to_bits()).step_by(1009).chain(0x3f7f_0000..0x3f81_0000) {
            let x = f32::from_bits(bits);
            let exact = f64::from(x).ln();
            if exact != 0.0 {
                let magnitude = exact.abs() as f32;
                let unit = f64::from(magnitude.next_up()) - f64::from(magnitude);
                worst = worst.max((f64::from(ln(x)) - exact).abs() / unit);
            }
        }
        assert!(worst <= 2.0, "{worst} units");
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(ln(f32::INFINITY), f32::INFINITY);
        assert!(ln(f32::NAN).is_nan());
    }
}
