//! The gated butterfly: decimation-in-time stages, each butterfly mixed with the identity by its gate.

use super::Complex;
use super::dft::twiddle;

/// One row through all stages: `input` \[n\] in natural order → \[n\] in natural order.
///
/// `twiddles` \[log2 n, n/2, 2\] (re, im) and `gates` \[log2 n, n/2\]; without gates every gate is 1.
/// After a bit-reversal permutation, stage s with half = 2^s joins for every block and j < half the
/// pair p = block·half + j: a = v\[2·block·half + j\] and b = v\[2·block·half + j + half\] become,
/// with t = w·b,
///
/// a' = a + g·t and b' = g·(a − t) + (1−g)·b.
///
/// A closed butterfly, g = 0, is the identity, also of values that are not finite.
///
/// With [`exact_twiddles`] and open gates this is the discrete Fourier transform.
///
/// # Panics
/// If n is not a power of two of at least 2, or `twiddles` or `gates` do not have the size that n implies.
pub fn gated_butterfly(input: &[Complex], twiddles: &[f64], gates: Option<&[f64]>) -> Vec<Complex> {
    let n = input.len();
    let stages = stages(n);
    assert_eq!(twiddles.len(), stages * n, "twiddles: their shape must be [log2 n, n/2, 2]");
    if let Some(gates) = gates {
        assert_eq!(gates.len(), stages * n / 2, "gates: their shape must be [log2 n, n/2]");
    }

    let mut v: Vec<Complex> = (0..n).map(|i| input[reversed_bits(i, stages)]).collect();
    for s in 0..stages {
        for (pair, upper, lower) in butterflies(n, s) {
            let w = Complex::new(twiddles[2 * pair], twiddles[2 * pair + 1]);
            let g = gates.map_or(1.0, |gates| gates[pair]);
            if g == 0.0 {
                continue;
            }
            let (a, b) = (v[upper], v[lower]);
            let t = w * b;
            v[upper] = a + g * t;
            v[lower] = g * (a - t) + (1.0 - g) * b;
        }
    }
    v
}

/// The twiddles of the transform, \[log2 n, n/2, 2\]: w = e^{-2πi·j/(2·half)} at stage s, half = 2^s,
/// for every pair p = block·half + j.
///
/// # Panics
/// If n is not a power of two of at least 2.
pub fn exact_twiddles(n: usize) -> Vec<f64> {
    (0..stages(n))
        .flat_map(|s| {
            let half = 1 << s;
            (0..n / 2).flat_map(move |pair| {
                let w = twiddle(pair % half, 2 * half);
                [w.re, w.im]
            })
        })
        .collect()
}

/// The butterflies of stage `s`: the number of each, and the places of the values it joins.
pub(super) fn butterflies(n: usize, s: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let half = 1 << s;
    (0..n / 2).map(move |p| {
        let (block, j) = (p / half, p % half);
        let upper = 2 * block * half + j;
        (s * n / 2 + p, upper, upper + half)
    })
}

/// log2 n.
pub(super) fn stages(n: usize) -> usize {
    assert!(n >= 2 && n.is_power_of_two(), "n = {n} is not a power of two of at least 2");
    n.trailing_zeros() as usize
}

/// The lowest `bits` bits of `i` in reverse order.
pub(super) fn reversed_bits(i: usize, bits: usize) -> usize {
    (0..bits).fold(0, |reversed, bit| reversed << 1 | (i >> bit & 1))
}

#[cfg(test)]
mod tests {
    use super::super::dft::dft;
    use super::*;

    /// Values without symmetry, the same in every run.
    fn scattered(count: usize, seed: f64) -> Vec<f64> {
        (0..count).map(|i| (i as f64 * 1.7 + seed).sin()).collect()
    }

    fn row(n: usize) -> Vec<Complex> {
        let (re, im) = (scattered(n, 0.3), scattered(n, 2.1));
        re.iter().zip(&im).map(|(&re, &im)| Complex::new(re, im)).collect()
    }

    fn assert_close(actual: &[Complex], expected: &[Complex], tolerance: f64) {
        assert_eq!(actual.len(), expected.len());
        for (k, (&a, &e)) in actual.iter().zip(expected).enumerate() {
            let error = (a - e).norm_sqr().sqrt();
            assert!(error <= tolerance, "element {k}: {a:?} is not {e:?}");
        }
    }

    #[test]
    fn bits_reverse() {
        let order: Vec<usize> = (0..8).map(|i| reversed_bits(i, 3)).collect();
        assert_eq!(order, [0, 4, 2, 6, 1, 5, 3, 7]);
    }

    #[test]
    fn open_gates_and_exact_twiddles_are_the_transform() {
        for n in [2, 8, 64, 1024] {
            let input = row(n);
            let twiddles = exact_twiddles(n);
            let open = vec![1.0; n.ilog2() as usize * n / 2];
            let expected = dft(&input);
            assert_close(&gated_butterfly(&input, &twiddles, None), &expected, 1e-11);
            assert_close(&gated_butterfly(&input, &twiddles, Some(&open)), &expected, 1e-11);
        }
    }

    #[test]
    fn closed_gates_leave_the_permutation() {
        let input: Vec<Complex> = (0..8).map(|i| f64::from(i).into()).collect();
        let output = gated_butterfly(&input, &exact_twiddles(8), Some(&[0.0; 12]));
        let expected = [0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0].map(Complex::from);
        assert_eq!(output, expected);
    }

    #[test]
    fn one_butterfly_has_the_values_computed_by_hand() {
        // a = 1, b = 2, w = i, g = 1/4: t = 2i, a' = 1 + i/2, b' = (1 − 2i)/4 + 3/2.
        let output = gated_butterfly(&[1.0.into(), 2.0.into()], &[0.0, 1.0], Some(&[0.25]));
        assert_eq!(output, [Complex::new(1.0, 0.5), Complex::new(1.75, -0.5)]);
    }

    #[test]
    fn twiddles_are_laid_out_per_stage_and_pair() {
        let twiddles = exact_twiddles(8);
        let diagonal = std::f64::consts::FRAC_1_SQRT_2;
        let expected = [
            [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]],
            [[1.0, 0.0], [0.0, -1.0], [1.0, 0.0], [0.0, -1.0]],
            [[1.0, 0.0], [diagonal, -diagonal], [0.0, -1.0], [-diagonal, -diagonal]],
        ];
        for (i, (actual, expected)) in twiddles.iter().zip(expected.as_flattened().as_flattened()).enumerate() {
            assert!((actual - expected).abs() <= 2e-16, "{i}: {actual} is not {expected}");
        }
    }

    /// The same stages as dense matrices, g·butterfly + (1−g)·identity, for any twiddles and gates.
    #[test]
    fn stages_equal_their_matrices() {
        let (n, stages) = (8, 3);
        let twiddles = scattered(stages * n, 0.9);
        let gates: Vec<f64> = scattered(stages * n / 2, 1.3).iter().map(|x| x * x).collect();
        let input = row(n);

        let mut v: Vec<Complex> = [0, 4, 2, 6, 1, 5, 3, 7].map(|i| input[i]).to_vec();
        for s in 0..stages {
            let half = 1 << s;
            let mut matrix = vec![vec![Complex::ZERO; n]; n];
            for (i, line) in matrix.iter_mut().enumerate() {
                let (block, place) = (i / (2 * half), i % (2 * half));
                let j = place % half;
                let pair = s * n / 2 + block * half + j;
                let w = Complex::new(twiddles[2 * pair], twiddles[2 * pair + 1]);
                let g = gates[pair];
                let (upper, lower) = (2 * block * half + j, 2 * block * half + j + half);
                let sign = if place < half { 1.0 } else { -1.0 };
                line[upper] = line[upper] + g.into();
                line[lower] = line[lower] + (sign * g) * w;
                line[i] = line[i] + (1.0 - g).into();
            }
            v = matrix.iter().map(|row| row.iter().zip(&v).fold(Complex::ZERO, |sum, (&m, &x)| sum + m * x)).collect();
        }
        assert_close(&gated_butterfly(&input, &twiddles, Some(&gates)), &v, 1e-14);
    }
}
