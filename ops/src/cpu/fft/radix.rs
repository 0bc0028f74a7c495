//! Transforms of 2 to 16 values across registers, and transpositions.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use crate::cpu::isa::register::{Complex, Register};

/// The transform of `R` values: 2, 4, 8 or 16.
#[inline(always)]
pub(in crate::cpu) fn radix<V: Register, const R: usize>(mut x: [Complex<V>; R]) -> [Complex<V>; R] {
    match R {
        2 => (x[0], x[1]) = (x[0].plus(x[1]), x[0].minus(x[1])),
        4 => [x[0], x[1], x[2], x[3]] = radix4([x[0], x[1], x[2], x[3]]),
        8 => {
            // Radix 2, then a transform of 4 for the even outputs and a rotated one for the odd.
            let sums = [x[0].plus(x[4]), x[1].plus(x[5]), x[2].plus(x[6]), x[3].plus(x[7])];
            let differences = [x[0].minus(x[4]), x[1].minus(x[5]), x[2].minus(x[6]), x[3].minus(x[7])];
            [x[0], x[2], x[4], x[6]] = radix4(sums);
            [x[1], x[3], x[5], x[7]] = rotated_radix4::<V, 2>(differences);
        }
        _ => {
            // Radix 4 twice, the rotations between them part of the second transforms.
            let a = radix4([x[0], x[4], x[8], x[12]]);
            let b = radix4([x[1], x[5], x[9], x[13]]);
            let c = radix4([x[2], x[6], x[10], x[14]]);
            let d = radix4([x[3], x[7], x[11], x[15]]);
            [x[0], x[4], x[8], x[12]] = radix4([a[0], b[0], c[0], d[0]]);
            [x[1], x[5], x[9], x[13]] = rotated_radix4::<V, 1>([a[1], b[1], c[1], d[1]]);
            [x[2], x[6], x[10], x[14]] = rotated_radix4::<V, 2>([a[2], b[2], c[2], d[2]]);
            [x[3], x[7], x[11], x[15]] = rotated_radix4::<V, 3>([a[3], b[3], c[3], d[3]]);
        }
    }
    x
}

/// The transform of four values.
#[inline(always)]
pub(in crate::cpu::fft) fn radix4<V: Register>([a, b, c, d]: [Complex<V>; 4]) -> [Complex<V>; 4] {
    let (sum_ac, difference_ac) = (a.plus(c), a.minus(c));
    let (sum_bd, difference_bd) = (b.plus(d), b.minus(d));
    [
        sum_ac.plus(sum_bd),
        difference_ac.minus_i(difference_bd),
        sum_ac.minus(sum_bd),
        difference_ac.plus_i(difference_bd),
    ]
}

/// The transform of x\[j\] exp(-2πi j K / 16), j = 0..4, for K from 0 to 3.
///
/// A rotation is a common factor times a rotation by its tangent, and the factor goes into the fused operations that
/// follow.
#[inline(always)]
pub(in crate::cpu::fft) fn rotated_radix4<V: Register, const K: usize>(
    [a, b, c, d]: [Complex<V>; 4],
) -> [Complex<V>; 4] {
    // The standard library has no constants for these.
    const COS: f64 = 0.923_879_532_511_286_7;
    const TAN: f64 = 0.414_213_562_373_095_03;
    debug_assert!((COS - (PI / 8.0).cos()).abs() < 1e-15 && (TAN - (PI / 8.0).tan()).abs() < 1e-15);
    let token = a.re.token();
    let cos = V::splat(token, COS as f32);
    let tan = V::splat(token, TAN as f32);
    let diagonal = V::splat(token, FRAC_1_SQRT_2 as f32);
    // x exp(-3πi/8) / COS.
    let steep = |x: Complex<V>| Complex { re: x.re.mul_add(tan, x.im), im: x.im.mul_sub(tan, x.re) };
    match K {
        0 => radix4([a, b, c, d]),
        1 => {
            let (b, c, d) = (b.minus_i_scaled(tan, b), c.minus_i(c), steep(d));
            finish(a.plus_scaled(diagonal, c), a.minus_scaled(diagonal, c), b.plus(d), b.minus(d), cos)
        }
        2 => {
            let (b, d) = (b.minus_i(b), d.plus_i(d));
            finish(a.minus_i(c), a.plus_i(c), b.minus(d), b.plus(d), diagonal)
        }
        _ => {
            let (b, c, d) = (steep(b), c.plus_i(c), d.minus_i_scaled(tan, d));
            finish(a.minus_scaled(diagonal, c), a.plus_scaled(diagonal, c), b.minus(d), b.plus(d), cos)
        }
    }
}

/// The second half of [`radix4`], the sum and difference of b and d short of `factor`.
#[inline(always)]
fn finish<V: Register>(
    sum_ac: Complex<V>,
    difference_ac: Complex<V>,
    sum_bd: Complex<V>,
    difference_bd: Complex<V>,
    factor: V,
) -> [Complex<V>; 4] {
    [
        sum_ac.plus_scaled(factor, sum_bd),
        difference_ac.minus_i_scaled(factor, difference_bd),
        sum_ac.minus_scaled(factor, sum_bd),
        difference_ac.plus_i_scaled(factor, difference_bd),
    ]
}

/// The `L` x `L` matrix transposed, `L` the lanes of a register: lane `j` of result `i` is lane `i` of `rows[j]`.
#[inline(always)]
pub(in crate::cpu) fn transpose<V: Register, const L: usize>(mut rows: [V; L]) -> [V; L] {
    let r = &mut rows;
    match L {
        4 => [r[0], r[1], r[2], r[3]] = V::transpose_quads([r[0], r[1], r[2], r[3]]),
        // Quads within registers, then the quads themselves.
        8 => {
            let a = V::transpose_quads([r[0], r[1], r[2], r[3]]);
            let b = V::transpose_quads([r[4], r[5], r[6], r[7]]);
            [r[0], r[4], r[1], r[5]] = V::exchange_quads([a[0], b[0], a[1], b[1]]);
            [r[2], r[6], r[3], r[7]] = V::exchange_quads([a[2], b[2], a[3], b[3]]);
        }
        _ => {
            let a = V::transpose_quads([r[0], r[1], r[2], r[3]]);
            let b = V::transpose_quads([r[4], r[5], r[6], r[7]]);
            let c = V::transpose_quads([r[8], r[9], r[10], r[11]]);
            let d = V::transpose_quads([r[12], r[13], r[14], r[15]]);
            [r[0], r[4], r[8], r[12]] = V::exchange_quads([a[0], b[0], c[0], d[0]]);
            [r[1], r[5], r[9], r[13]] = V::exchange_quads([a[1], b[1], c[1], d[1]]);
            [r[2], r[6], r[10], r[14]] = V::exchange_quads([a[2], b[2], c[2], d[2]]);
            [r[3], r[7], r[11], r[15]] = V::exchange_quads([a[3], b[3], c[3], d[3]]);
        }
    }
    rows
}
