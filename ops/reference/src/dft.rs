//! The discrete Fourier transform as its sum: X\[k\] = Σ_j x\[j\]·e^{-2πi jk/n}, unnormalised.

use std::f64::consts::FRAC_PI_2;

use super::Complex;

/// e^{-2πi·m/n}, with the angle reduced in integers to within an eighth of a turn before it is rounded.
///
/// Every multiple of a quarter turn is exact, and the error elsewhere doesn't grow with `m`.
///
/// # Panics
/// If `n` is 0.
pub fn twiddle(m: usize, n: usize) -> Complex {
    assert!(n > 0, "twiddle: n must be positive");
    // The angle in units of a quarter turn is `quarter + rest / n`.
    let quarter = 4 * (m % n) / n;
    let rest = 4 * (m % n) % n;
    let angle = |part: usize| FRAC_PI_2 * (part as f64 / n as f64);
    let (cos, sin) = if 2 * rest <= n {
        (angle(rest).cos(), angle(rest).sin())
    } else {
        (angle(n - rest).sin(), angle(n - rest).cos())
    };
    let (cos, sin) = match quarter {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    };
    Complex::new(cos, -sin)
}

/// All bins of the transform of `signal` \[n\], in natural order: \[n\].
///
/// n² multiplications. Beyond n = 4,096 see [`dft_bins`].
pub fn dft(signal: &[Complex]) -> Vec<Complex> {
    let bins: Vec<usize> = (0..signal.len()).collect();
    dft_bins(signal, &bins)
}

/// The transform of `signal` \[n\] at selected bins only, in the order given: \[bins.len()\].
///
/// # Panics
/// If a bin is not below n.
pub fn dft_bins(signal: &[Complex], bins: &[usize]) -> Vec<Complex> {
    let n = signal.len();
    let twiddles: Vec<Complex> = (0..n).map(|m| twiddle(m, n)).collect();
    bins.iter()
        .map(|&k| {
            assert!(k < n, "dft_bins: bin {k} is not below n = {n}");
            let mut sum = Complex::ZERO;
            // `turn` is j·k mod n, kept reduced so that it cannot overflow.
            let mut turn = 0;
            for &sample in signal {
                sum = sum + sample * twiddles[turn];
                turn = (turn + k) % n;
            }
            sum
        })
        .collect()
}

/// The sum Σ_j signal\[j\]·z^(-j) at the points z = a·w^(-k) for k below `m`, \[m\]: the chirp-z transform.
pub fn czt(signal: &[Complex], m: usize, w: Complex, a: Complex) -> Vec<Complex> {
    let [w, a] = [w, a].map(|z| (z.norm_sqr().ln() / 2.0, z.im.atan2(z.re)));
    let power = |j: f64, k: f64| {
        let (size, angle) = ((j * (k * w.0 - a.0)).exp(), j * (k * w.1 - a.1));
        Complex::new(size * angle.cos(), size * angle.sin())
    };
    let sum = |k| signal.iter().enumerate().fold(Complex::ZERO, |sum, (j, &x)| sum + x * power(j as f64, k as f64));
    (0..m).map(sum).collect()
}

/// The analytic signal of `signal` \[n\]: negative frequencies dropped and positive ones doubled, \[n\].
pub fn hilbert(signal: &[f64]) -> Vec<Complex> {
    let n = signal.len();
    let bins = dft(&signal.iter().map(|&x| Complex::from(x)).collect::<Vec<_>>()).into_iter().enumerate();
    let weight = |k| if k == 0 || 2 * k == n { 1.0 } else { 2.0 * f64::from(u8::from(2 * k < n)) };
    let kept: Vec<Complex> = bins.map(|(k, bin)| (weight(k) / n as f64) * bin).collect();
    let sample = |j| (0..n).fold(Complex::ZERO, |sum, k| sum + kept[k] * twiddle((n - j) * k, n));
    (0..n).map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_analytic_signal_of_a_cosine_turns_and_its_chirp_z_transform_is_the_dft() {
        let signal = hilbert(&[1.0, 0.0, -1.0, 0.0]);
        let expected = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)];
        assert!(signal.iter().zip(expected).all(|(z, (re, im))| (z.re - re).abs() + (z.im - im).abs() < 1e-14));
        let bins = czt(&signal, 4, Complex::new(0.0, -1.0), Complex::new(1.0, 0.0));
        assert!(bins.iter().zip(dft(&signal)).all(|(a, b)| (*a - b).norm_sqr() < 1e-26));
    }

    fn real(samples: &[f64]) -> Vec<Complex> {
        samples.iter().map(|&x| x.into()).collect()
    }

    fn assert_close(actual: &[Complex], expected: &[Complex], tolerance: f64) {
        assert_eq!(actual.len(), expected.len());
        for (k, (&a, &e)) in actual.iter().zip(expected).enumerate() {
            let error = (a - e).norm_sqr().sqrt();
            assert!(error <= tolerance, "bin {k}: {a:?} is not {e:?}");
        }
    }

    #[test]
    fn quarter_turns_are_exact() {
        for n in [4, 8, 4096, 65536] {
            assert_eq!(twiddle(0, n), Complex::new(1.0, 0.0));
            assert_eq!(twiddle(n / 4, n), Complex::new(0.0, -1.0));
            assert_eq!(twiddle(n / 2, n), Complex::new(-1.0, 0.0));
            assert_eq!(twiddle(3 * n / 4, n), Complex::new(0.0, 1.0));
            assert_eq!(twiddle(n + n / 4, n), twiddle(n / 4, n));
        }
    }

    #[test]
    fn twiddles_match_the_plain_formula_at_any_length() {
        for n in [1, 2, 3, 5, 7, 8, 12, 60, 1024] {
            for m in 0..n {
                let angle = std::f64::consts::TAU * m as f64 / n as f64;
                let plain = Complex::new(angle.cos(), -angle.sin());
                assert_close(&[twiddle(m, n)], &[plain], 1e-14);
            }
        }
    }

    #[test]
    fn an_impulse_has_a_flat_spectrum() {
        let mut signal = vec![0.0; 8];
        signal[0] = 1.0;
        assert_eq!(dft(&real(&signal)), vec![Complex::new(1.0, 0.0); 8]);
    }

    #[test]
    fn a_late_impulse_turns_clockwise() {
        let mut signal = vec![0.0; 8];
        signal[2] = 1.0;
        let expected = [(1.0, 0.0), (0.0, -1.0), (-1.0, 0.0), (0.0, 1.0)].map(|(re, im)| Complex::new(re, im));
        assert_eq!(dft(&real(&signal)), expected.repeat(2));
    }

    #[test]
    fn a_cosine_and_a_sine_at_a_bin() {
        // Period 4 in 8 samples: bin 2 and its mirror, bin 6, at n/2 = 4.
        let cosine = dft(&real(&[1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0]));
        let mut expected = vec![Complex::ZERO; 8];
        expected[2] = Complex::new(4.0, 0.0);
        expected[6] = Complex::new(4.0, 0.0);
        assert_close(&cosine, &expected, 1e-15);

        let sine = dft(&real(&[0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0]));
        expected[2] = Complex::new(0.0, -4.0);
        expected[6] = Complex::new(0.0, 4.0);
        assert_close(&sine, &expected, 1e-15);
    }

    #[test]
    fn a_complex_tone_has_one_bin() {
        let tone: Vec<Complex> = (0..8).map(|j| twiddle(8 - (3 * j) % 8, 8)).collect();
        let mut expected = vec![Complex::ZERO; 8];
        expected[3] = Complex::new(8.0, 0.0);
        assert_close(&dft(&tone), &expected, 1e-15);
    }

    #[test]
    fn selected_bins_at_the_largest_length() {
        let n = 65536;
        let tone: Vec<Complex> = (0..n).map(|j| twiddle(j * 12345 % n, n).re.into()).collect();
        let bins = dft_bins(&tone, &[12345, 0, n - 12345]);
        let half = Complex::new(n as f64 / 2.0, 0.0);
        assert_close(&bins, &[half, Complex::ZERO, half], 1e-9);
    }

    #[test]
    fn one_nan_sample_reaches_every_bin() {
        let mut signal = vec![1.0; 8];
        signal[5] = f64::NAN;
        assert!(dft(&real(&signal)).iter().all(|x| x.re.is_nan() && x.im.is_nan()));
    }
}
