//! Small transforms across registers.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::lanes::{Complex, Lanes};

/// The transform of four values.
#[inline(always)]
pub(super) fn radix4<V: Lanes>([a, b, c, d]: [Complex<V>; 4]) -> [Complex<V>; 4] {
    let (sum_ac, difference_ac) = (a.plus(c), a.minus(c));
    let (sum_bd, difference_bd) = (b.plus(d), b.minus(d));
    [
        sum_ac.plus(sum_bd),
        difference_ac.minus_i(difference_bd),
        sum_ac.minus(sum_bd),
        difference_ac.plus_i(difference_bd),
    ]
}

/// The transform of x\[j\] exp(-2πi j K / 16), j = 0..4.
///
/// A rotation is a common factor times one by its tangent, and the factor goes into the fused operations that follow.
#[inline(always)]
pub(super) fn rotated_radix4<V: Lanes, const K: usize>([a, b, c, d]: [Complex<V>; 4]) -> [Complex<V>; 4] {
    // No constant function of the library gives these.
    const COS: f64 = 0.923_879_532_511_286_7;
    const TAN: f64 = 0.414_213_562_373_095_03;
    debug_assert!((COS - (PI / 8.0).cos()).abs() < 1e-15 && (TAN - (PI / 8.0).tan()).abs() < 1e-15);
    let cos = V::splat(COS as f32);
    let tan = V::splat(TAN as f32);
    let diagonal = V::splat(FRAC_1_SQRT_2 as f32);
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
fn finish<V: Lanes>(
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

/// Moves quads between registers: quad `q` of `groups[h][i]` becomes quad `h` of `[q][i]`. Only as many groups count as
/// a register has quads.
#[inline(always)]
pub(super) fn exchange<V: Lanes>(groups: [[V; 4]; 4]) -> [[V; 4]; 4] {
    let [g, h, k, l] = groups;
    match V::COUNT {
        16 => {
            let a = V::exchange_quads([g[0], h[0], k[0], l[0]]);
            let b = V::exchange_quads([g[1], h[1], k[1], l[1]]);
            let c = V::exchange_quads([g[2], h[2], k[2], l[2]]);
            let d = V::exchange_quads([g[3], h[3], k[3], l[3]]);
            [[a[0], b[0], c[0], d[0]], [a[1], b[1], c[1], d[1]], [a[2], b[2], c[2], d[2]], [a[3], b[3], c[3], d[3]]]
        }
        8 => {
            let a = V::exchange_quads([g[0], h[0], g[1], h[1]]);
            let b = V::exchange_quads([g[2], h[2], g[3], h[3]]);
            [[a[0], a[2], b[0], b[2]], [a[1], a[3], b[1], b[3]], k, l]
        }
        _ => groups,
    }
}
