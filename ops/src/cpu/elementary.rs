//! Logarithms and exponentials of f32 as polynomials, in loops that compilers turn into instructions on whole
//! registers.

use super::real::Real;

/// Elementary functions of a type, in one of two ways: [`Approximate`] or [`Exact`].
pub(in crate::cpu) trait ElementaryFunctions<T> {
    /// The natural logarithm of a normal positive value.
    fn ln(x: T) -> T;
    /// The exponential of a value up to 0.
    fn exp_of_negative(x: T) -> T;
    /// ln(1 + x) for x from 0 to 1.
    fn ln_1p(x: T) -> T;
}

/// Polynomials within a few units in the last place.
pub(in crate::cpu) enum Approximate {}

/// The functions of the platform.
pub(in crate::cpu) enum Exact {}

impl ElementaryFunctions<f32> for Approximate {
    #[inline(always)]
    fn ln(x: f32) -> f32 {
        ln(x)
    }

    #[inline(always)]
    fn exp_of_negative(x: f32) -> f32 {
        exp_of_negative(x)
    }

    #[inline(always)]
    fn ln_1p(x: f32) -> f32 {
        let sum = 1.0 + x;
        // Correction: the rounding error of 1 + x, times the slope of the logarithm.
        ln(sum) + (x - (sum - 1.0)) / sum
    }
}

impl<T: Real> ElementaryFunctions<T> for Exact {
    fn ln(x: T) -> T {
        x.ln()
    }

    fn exp_of_negative(x: T) -> T {
        x.exp()
    }

    fn ln_1p(x: T) -> T {
        x.ln_1p()
    }
}

/// High and low part of ln 2: the high part has few digits, so that its products with small integers are exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// The natural logarithm of a normal positive value, within 2 units in the last place; infinity and NaN are returned.
///
/// x = 2^e (1 + f) with 1 + f from √½ to √2, and ln(1 + f) = f − f²/2 + f³ P(f), P a polynomial through the values at
/// the Chebyshev nodes of that interval, with an error of 5·10⁻¹⁰ relative to the logarithm.
#[inline(always)]
pub(in crate::cpu) fn ln(x: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
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
    // Exponent e and f of x = 2^e (1 + f), from the bits of x.
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (shifted as i32 >> 23) as f32;
    let f = f32::from_bits((shifted & 0x007f_ffff) + SQRT_HALF) - 1.0;
    // P(f) by Horner's scheme.
    let mut p = P[9];
    for coefficient in P[..9].iter().rev() {
        p = p * f + coefficient;
    }
    let square = f * f;
    // The terms of the result are added from the smallest to the largest, which rounds least.
    let rest = (p * f * square + exponent * LN_2[1]) - 0.5 * square;
    let result = exponent * LN_2[0] + (f + rest);
    if x < f32::INFINITY { result } else { x }
}

/// The exponential of a value up to 0, within 2 units in the last place; below −87, that of −87. NaN is returned.
///
/// x = k ln 2 + r with |r| up to ½ ln 2, and e^x = 2^k e^r, by the series of e^r up to r⁷/7!.
#[inline(always)]
fn exp_of_negative(x: f32) -> f32 {
    /// 1.5 · 2²³: adding it rounds a small number to an integer, which is then in the lowest bits of the sum.
    const ROUND: f32 = 1.5 * (1 << 23) as f32;
    const TERMS: [f32; 7] = [1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0];
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2[0]) - k * LN_2[1];
    let mut p = TERMS[6];
    for term in TERMS[..6].iter().rev() {
        p = p * r + term;
    }
    let exponent = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
    (1.0 + p * r) * f32::from_bits(exponent << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
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

    #[test]
    #[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
    fn exponentials_are_within_two_units_in_the_last_place() {
        for step in 0..200_000 {
            let x = -87.0 * step as f32 / 200_000.0;
            let exact = f64::from(x).exp();
            let unit = f64::from((exact as f32).next_up()) - f64::from(exact as f32);
            let error = (f64::from(exp_of_negative(x)) - exact).abs() / unit;
            assert!(error <= 2.0, "{error} units at {x}");
        }
        assert_eq!((exp_of_negative(0.0), exp_of_negative(f32::NEG_INFINITY)), (1.0, exp_of_negative(-87.0)));
        assert!(exp_of_negative(f32::NAN).is_nan());
    }

    #[test]
    #[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
    fn small_arguments_of_ln_1p_are_kept() {
        for step in 0..100_000 {
            let x = (-80.0 * step as f32 / 100_000.0).exp();
            let exact = f64::from(x).ln_1p();
            let found = f64::from(<Approximate as ElementaryFunctions<f32>>::ln_1p(x));
            assert!((found - exact).abs() <= 4e-7 * exact, "{found} is not {exact}");
        }
    }
}
