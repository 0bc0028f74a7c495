//! Learned Welch power: segments weighted instead of averaged, transformed by gated butterflies, then multiplied by a
//! gain per bin, which may take products of neighbours too.

use super::butterfly::gated_butterfly;
use super::complex::Complex;
use super::welch::{WelchDefinition, check, one_sided_factor, power_scale, tapered_segment};

/// Learned parameters. With n = n_fft, S = segments, bins = n/2 + 1.
#[derive(Debug, Clone, Copy)]
pub struct LearnedValues<'a> {
    /// \[log2 n, n/2, 2\] as (re, im).
    pub twiddles: &'a [f64],
    /// \[log2 n, n/2\].
    pub gates: &'a [f64],
    /// \[S\]; 1/S each is the plain average.
    pub segment_weights: &'a [f64],
    /// \[bins, 3\]: what the bin below, the bin itself and the bin above give; (0, 1, 0) changes nothing. Or
    /// \[bins, 5\], with what the products with the bin below and with the bin above give.
    pub gain: &'a [f64],
}

/// Learned power of every row: `signal` \[rows, frame\], `window` \[n_fft\] → \[rows, bins\].
///
/// [`segment_power`], and [`neighbour_products`] for a gain of five factors; then [`apply_gain`].
///
/// # Panics
/// As those two.
pub fn learned_welch_power(
    signal: &[f64],
    frame: usize,
    window: &[f64],
    options: &WelchDefinition,
    learned: &LearnedValues<'_>,
) -> Vec<f64> {
    let power = segment_power(signal, frame, window, options, learned);
    let products = if learned.gain.len() == 5 * (options.n_fft / 2 + 1) {
        neighbour_products(signal, frame, window, options, learned)
    } else {
        Vec::new()
    };
    apply_gain(&power, &products, options.n_fft / 2 + 1, learned.gain)
}

/// P\[k\] = scale · Σ_s weight_s·c_k·|Y_s\[k\]|² for k from 0 to n_fft/2, Y_s the windowed segment s
/// through the gated butterfly: \[rows, bins\].
///
/// A segment whose weight is exactly 0 is skipped: not even its NaN samples reach the sum.
///
/// # Panics
/// As [`super::welch::welch_psd_bins`] and [`gated_butterfly`], or if the weights are not one per segment.
pub fn segment_power(
    signal: &[f64],
    frame: usize,
    window: &[f64],
    options: &WelchDefinition,
    learned: &LearnedValues<'_>,
) -> Vec<f64> {
    let squared = |y: &[Complex], k: usize| one_sided_factor(k, options.n_fft) * y[k].norm_sqr();
    sum_over_segments(signal, frame, window, options, learned, options.n_fft / 2 + 1, squared)
}

/// C\[k\] = scale · Σ_s weight_s·2·Re(Y_s\[k\]·Y_s\[k+1\]*) for k from 0 to n_fft/2 − 1, as [`segment_power`] otherwise:
/// \[rows, bins − 1\].
///
/// # Panics
/// As [`segment_power`].
pub fn neighbour_products(
    signal: &[f64],
    frame: usize,
    window: &[f64],
    options: &WelchDefinition,
    learned: &LearnedValues<'_>,
) -> Vec<f64> {
    let product = |y: &[Complex], k: usize| 2.0 * (y[k].re * y[k + 1].re + y[k].im * y[k + 1].im);
    sum_over_segments(signal, frame, window, options, learned, options.n_fft / 2, product)
}

/// scale · Σ_s weight_s·term(Y_s, k) for `values` values of k from 0: \[rows, values\].
fn sum_over_segments(
    signal: &[f64],
    frame: usize,
    window: &[f64],
    options: &WelchDefinition,
    learned: &LearnedValues<'_>,
    values: usize,
    term: impl Fn(&[Complex], usize) -> f64,
) -> Vec<f64> {
    check(signal, frame, window, options);
    let weights = learned.segment_weights;
    assert_eq!(weights.len(), options.segments, "segment_weights: one per segment");
    let scale = power_scale(window, options.scaling);
    let mut sums = Vec::with_capacity(signal.len() / frame * values);
    for row in signal.chunks_exact(frame) {
        let mut row_sums = vec![0.0; values];
        for (s, &weight) in weights.iter().enumerate() {
            if weight == 0.0 {
                continue;
            }
            let segment = tapered_segment(row, window, options, s);
            let outputs = gated_butterfly(&segment, learned.twiddles, Some(learned.gates));
            for (k, sum) in row_sums.iter_mut().enumerate() {
                *sum += weight * term(&outputs, k);
            }
        }
        sums.extend(row_sums.iter().map(|sum| scale * sum));
    }
    sums
}

/// Every bin from itself and its neighbours: `power` \[rows, bins\], `products` \[rows, bins − 1\], `gain`
/// \[bins, 3\], which takes no products, or \[bins, 5\] → \[rows, bins\].
///
/// out\[k\] = gain\[k, 0\]·P\[k−1\] + gain\[k, 1\]·P\[k\] + gain\[k, 2\]·P\[k+1\] + gain\[k, 3\]·C\[k−1\] +
/// gain\[k, 4\]·C\[k\]; the power of a real signal is an even function of frequency with period n_fft, so P\[−1\] = P\[1\]
/// and P\[n/2+1\] = P\[n/2−1\], and likewise C\[−1\] = C\[0\] and C\[n/2\] = C\[n/2−1\].
///
/// # Panics
/// If there are fewer than 2 bins, or the lengths do not fit each other.
pub fn apply_gain(power: &[f64], products: &[f64], bins: usize, gain: &[f64]) -> Vec<f64> {
    assert!(bins > 1 && power.len().is_multiple_of(bins), "power: not whole rows of {bins} bins");
    let (taps, rows) = (gain.len() / bins, power.len() / bins);
    assert!(gain.len() == taps * bins && (taps == 3 || taps == 5), "gain: not 3 or 5 factors per bin");
    assert_eq!(products.len(), if taps == 5 { rows * (bins - 1) } else { 0 }, "products: not one per pair of bins");
    let mut out = Vec::with_capacity(power.len());
    for row in 0..rows {
        let power = &power[row * bins..(row + 1) * bins];
        for k in 0..bins {
            let below = if k == 0 { power[1] } else { power[k - 1] };
            let above = if k == bins - 1 { power[bins - 2] } else { power[k + 1] };
            let mut sum = gain[taps * k] * below + gain[taps * k + 1] * power[k] + gain[taps * k + 2] * above;
            if taps == 5 {
                let products = &products[row * (bins - 1)..(row + 1) * (bins - 1)];
                let with_below = if k == 0 { products[0] } else { products[k - 1] };
                let with_above = if k == bins - 1 { products[bins - 2] } else { products[k] };
                sum += gain[5 * k + 3] * with_below + gain[5 * k + 4] * with_above;
            }
            out.push(sum);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::butterfly::exact_twiddles;
    use super::super::welch::{PowerScaling, welch_psd};
    use super::super::window::{Symmetry, WindowShape, window};
    use super::*;

    const OPTIONS: WelchDefinition =
        WelchDefinition { n_fft: 8, hop: 4, segments: 2, scaling: PowerScaling::Spectrum, remove_mean: true };
    const FRAME: usize = 12;

    fn exact<'a>(twiddles: &'a [f64], segment_weights: &'a [f64]) -> LearnedValues<'a> {
        LearnedValues {
            twiddles,
            gates: &[1.0; 12],
            segment_weights,
            gain: &[0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0],
        }
    }

    fn assert_close(actual: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(actual.len(), expected.len());
        for (k, (a, e)) in actual.iter().zip(expected).enumerate() {
            assert!((a - e).abs() <= tolerance, "element {k}: {a} is not {e}");
        }
    }

    #[test]
    fn exact_parameters_give_welch() {
        let signal: Vec<f64> = (0..2 * FRAME).map(|i| (i as f64 * 1.7).sin() + 0.5).collect();
        let hann = window(WindowShape::Hann, Symmetry::Periodic, 8);
        let expected = welch_psd(&signal, FRAME, &hann, &OPTIONS);
        let twiddles = exact_twiddles(8);
        let learned = exact(&twiddles, &[0.5, 0.5]);
        let power = segment_power(&signal, FRAME, &hann, &OPTIONS, &learned);
        assert_close(&power, &expected, 1e-15);
        assert_eq!(learned_welch_power(&signal, FRAME, &hann, &OPTIONS, &learned), power);
    }

    #[test]
    fn weights_pick_segments() {
        // An impulse at sample 0 is in segment 0 only.
        let mut frame = [0.0; FRAME];
        frame[0] = 1.0;
        let options = WelchDefinition { scaling: PowerScaling::Raw, remove_mean: false, ..OPTIONS };
        let twiddles = exact_twiddles(8);
        let power = |weights| segment_power(&frame, FRAME, &[1.0; 8], &options, &exact(&twiddles, weights));
        assert_eq!(power(&[0.75, 0.25]), [0.75, 1.5, 1.5, 1.5, 0.75]);
        assert_eq!(power(&[0.0, 1.0]), [0.0; 5]);
    }

    #[test]
    fn a_segment_of_weight_zero_is_skipped() {
        let mut frame = [0.0; FRAME];
        frame[0] = f64::NAN;
        let twiddles = exact_twiddles(8);
        let power = |weights| segment_power(&frame, FRAME, &[1.0; 8], &OPTIONS, &exact(&twiddles, weights));
        assert_eq!(power(&[0.0, 1.0]), [0.0; 5]);
        assert!(power(&[0.5, 0.5]).iter().all(|p| p.is_nan()));
    }

    #[test]
    fn closed_gates_leave_samples_in_bit_reversed_order() {
        // Outputs 0 to 4 are samples 0, 4, 2, 6, 1 of the one segment with weight.
        let frame: Vec<f64> = (0..FRAME).map(|i| i as f64).collect();
        let options = WelchDefinition { scaling: PowerScaling::Raw, remove_mean: false, ..OPTIONS };
        let twiddles = exact_twiddles(8);
        let learned = LearnedValues { gates: &[0.0; 12], ..exact(&twiddles, &[1.0, 0.0]) };
        let power = segment_power(&frame, FRAME, &[1.0; 8], &options, &learned);
        assert_eq!(power, [0.0, 32.0, 8.0, 72.0, 1.0]);
    }

    #[test]
    fn the_gain_has_the_values_computed_by_hand() {
        let gain = [1.0, 10.0, 100.0, 2.0, 20.0, 200.0, 3.0, 30.0, 300.0];
        assert_eq!(apply_gain(&[1.0, 2.0, 5.0], &[], 3, &gain), [212.0, 1042.0, 756.0]);
    }

    #[test]
    fn a_gain_on_products_has_the_values_computed_by_hand() {
        let gain = [0.0, 1.0, 0.0, 1.0, 10.0, 0.0, 1.0, 0.0, 2.0, 20.0, 0.0, 1.0, 0.0, 3.0, 30.0];
        assert_eq!(apply_gain(&[1.0, 2.0, 5.0], &[7.0, 8.0], 3, &gain), [78.0, 176.0, 269.0]);
    }

    /// |Y[k] + v Y[k+1]|²/2 + |Y[k] + v Y[k−1]|²/2, for a rectangular window, is the mean power of two other windows,
    /// 1 + v exp(∓2πi j/n).
    #[test]
    fn products_make_two_windows_of_one() {
        let (n, v) = (8, -0.7);
        let options = WelchDefinition { segments: 1, scaling: PowerScaling::Raw, remove_mean: false, ..OPTIONS };
        let signal: Vec<f64> = (0..n).map(|i| (i as f64 * 1.7).sin() + 0.5).collect();
        let twiddles = exact_twiddles(n);
        // Factors of one-sided power and products that make the two-sided ones of every bin equal.
        let mut gain = [v * v / 2.0, 1.0, v * v / 2.0, v, v].repeat(n / 2 + 1);
        for edge in [0, n / 2] {
            for (tap, factor) in [0.5, 1.0, 0.5, 0.5, 0.5].into_iter().enumerate() {
                gain[5 * edge + tap] *= factor;
            }
        }
        gain[5] *= 2.0;
        gain[5 * (n / 2 - 1) + 2] *= 2.0;
        let learned = LearnedValues { gain: &gain, ..exact(&twiddles, &[1.0]) };
        let found = learned_welch_power(&signal, n, &[1.0; 8], &options, &learned);
        let angle = |j: usize, k: f64| -std::f64::consts::TAU * j as f64 * k / n as f64;
        for (k, found) in found.into_iter().enumerate() {
            let power = |shift: f64| {
                let terms = signal.iter().enumerate().map(|(j, x)| {
                    let (own, other) = (angle(j, k as f64), angle(j, k as f64 + shift));
                    Complex::new(x * (own.cos() + v * other.cos()), x * (own.sin() + v * other.sin()))
                });
                terms.fold(Complex::ZERO, |sum, term| sum + term).norm_sqr()
            };
            let expected = one_sided_factor(k, n) * (power(1.0) + power(-1.0)) / 2.0;
            assert!((found - expected).abs() < 1e-12, "bin {k}: {found} is not {expected}");
        }
    }

    #[test]
    fn a_nan_stays_in_its_row() {
        let out = apply_gain(&[0.0, 0.0, f64::NAN, 1.0], &[], 2, &[0.1, 1.0, 0.1, 0.1, 1.0, 0.1]);
        assert_eq!(out[..2], [0.0, 0.0]);
        assert!(out[2..].iter().all(|p| p.is_nan()));
    }
}
