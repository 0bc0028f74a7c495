//! The discrete Fourier transform in O(n log n), for lengths at which its sum takes too long to check measurements.

use super::Complex;
use super::dft::{dft, twiddle};

/// Largest prime factor whose transforms are computed by the sum.
const MAX_SUM: usize = 128;

/// All bins of the transform of `signal` \[n\], in natural order: \[n\]; the same as [`dft`].
///
/// A length n = p·m with p its least prime factor is split into p transforms of every p-th value (J. W. Cooley and J. W.
/// Tukey, "An algorithm for the machine calculation of complex Fourier series", Math. Comp. 19, 1965):
/// X\[k\] = Σ_r w^{rk}·X_r\[k mod m\], with w = e^{-2πi/n}. Prime lengths above 128 are convolutions with a chirp
/// (L. I. Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", IEEE Trans. Audio
/// Electroacoust. AU-18, 1970).
pub fn fast_dft(signal: &[Complex]) -> Vec<Complex> {
    let n = signal.len();
    let twiddles: Vec<Complex> = (0..n).map(|m| twiddle(m, n)).collect();
    split(signal.to_vec(), &twiddles, 1)
}

/// [`fast_dft`] without the sign in the exponent: Σ_j x\[j\]·e^{2πi jk/n}, unnormalised.
pub fn fast_inverse_dft(signal: &[Complex]) -> Vec<Complex> {
    conjugates(&fast_dft(&conjugates(signal)))
}

/// The transform of `signal` \[n\], with `twiddles` those of `stride`·n points.
fn split(signal: Vec<Complex>, twiddles: &[Complex], stride: usize) -> Vec<Complex> {
    let n = signal.len();
    let p = least_prime_factor(n);
    if p == n {
        return if n <= MAX_SUM { dft(&signal) } else { chirped(&signal) };
    }
    let every = |r: usize| signal.iter().skip(r).step_by(p).copied().collect();
    let parts: Vec<Vec<Complex>> = (0..p).map(|r| split(every(r), twiddles, stride * p)).collect();
    let term = |r: usize, k: usize| twiddles[stride * (r * k % n)] * parts[r][k % (n / p)];
    (0..n).map(|k| (0..p).fold(Complex::ZERO, |sum, r| sum + term(r, k))).collect()
}

/// Bluestein's transform: with c\[j\] = e^{-πi j²/n}, X\[k\] = c\[k\]·Σ_j (x\[j\]·c\[j\])·conj(c\[k − j\]).
fn chirped(signal: &[Complex]) -> Vec<Complex> {
    let n = signal.len();
    let chirp: Vec<Complex> = (0..n).map(|j| twiddle(j * j % (2 * n), 2 * n)).collect();
    let points = (2 * n - 1).next_power_of_two();
    let (mut values, mut response) = (vec![Complex::ZERO; points], vec![Complex::ZERO; points]);
    for (j, (&x, &c)) in signal.iter().zip(&chirp).enumerate() {
        values[j] = x * c;
        response[j] = c.conj();
        response[(points - j) % points] = c.conj();
    }
    let product: Vec<Complex> = fast_dft(&values).iter().zip(fast_dft(&response)).map(|(&a, b)| a * b).collect();
    let convolved = fast_inverse_dft(&product);
    chirp.iter().zip(convolved).map(|(&c, x)| (1.0 / points as f64) * (c * x)).collect()
}

/// The least prime factor of n; n itself below 2.
fn least_prime_factor(n: usize) -> usize {
    (2..).take_while(|p| p * p <= n).find(|p| n.is_multiple_of(*p)).unwrap_or(n)
}

pub(super) fn conjugates(values: &[Complex]) -> Vec<Complex> {
    values.iter().map(|z| z.conj()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::dft::dft_bins;
    use super::*;

    fn scattered(n: usize) -> Vec<Complex> {
        (0..n).map(|j| Complex::new((j as f64 * 1.7 + 0.3).sin(), (j as f64 * j as f64 * 0.9).cos())).collect()
    }

    /// Checks bins against their sums, relative to the largest magnitude of all bins.
    fn assert_close(fast: &[Complex], sums: impl Iterator<Item = (usize, Complex)>, tolerance: f64) {
        let largest = fast.iter().map(|z| z.norm_sqr()).fold(0.0, f64::max).sqrt();
        for (k, sum) in sums {
            let error = (fast[k] - sum).norm_sqr().sqrt() / largest;
            assert!(error < tolerance, "bin {k} of {}: {error:e}", fast.len());
        }
    }

    #[test]
    fn every_bin_is_the_sum_of_the_definition() {
        for n in (1..=70).chain([97, 127, 131, 251, 256, 262, 1000, 1009]) {
            let signal = scattered(n);
            assert_close(&fast_dft(&signal), dft(&signal).into_iter().enumerate(), 1e-13);
        }
        assert!(fast_dft(&[]).is_empty());
    }

    #[test]
    fn bins_of_long_transforms_are_the_sums_of_the_definition() {
        for n in [65_536, 3 * 10_007, 1 << 17] {
            let signal = scattered(n);
            let bins = [0, 1, 12_345, n / 2, n - 1];
            assert_close(&fast_dft(&signal), bins.into_iter().zip(dft_bins(&signal, &bins)), 1e-12);
        }
    }

    #[test]
    fn the_inverse_turns_the_other_way() {
        let signal = scattered(30);
        let mut again = fast_inverse_dft(&fast_dft(&signal));
        again.iter_mut().for_each(|z| *z = (1.0 / 30.0) * *z);
        assert_close(&again, signal.into_iter().enumerate(), 1e-14);
    }
}
