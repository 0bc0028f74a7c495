//! Learned Welch power: segments weighted instead of averaged, transformed by gated butterflies, then multiplied by a
//! gain per bin.

use super::butterfly::gated_butterfly;
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
    /// \[bins, 3\]: what the bin below, the bin itself and the bin above give; (0, 1, 0) changes nothing.
    pub gain: &'a [f64],
}

/// Learned power of every row: `signal` \[rows, frame\], `window` \[n_fft\] → \[rows, bins\].
///
/// [`segment_power`], then [`apply_gain`].
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
    apply_gain(&power, learned.gain)
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
    check(signal, frame, window, options);
    let weights = learned.segment_weights;
    assert_eq!(weights.len(), options.segments, "segment_weights: one per segment");
    let scale = power_scale(window, options.scaling);
    let bins = options.n_fft / 2 + 1;
    let mut power = Vec::with_capacity(signal.len() / frame * bins);
    for row in signal.chunks_exact(frame) {
        let mut sum = vec![0.0; bins];
        for (s, &weight) in weights.iter().enumerate() {
            if weight == 0.0 {
                continue;
            }
            let segment = tapered_segment(row, window, options, s);
            let outputs = gated_butterfly(&segment, learned.twiddles, Some(learned.gates));
            for (k, (sum, y)) in sum.iter_mut().zip(outputs).enumerate() {
                *sum += weight * one_sided_factor(k, options.n_fft) * y.norm_sqr();
            }
        }
        power.extend(sum.iter().map(|sum| scale * sum));
    }
    power
}

/// Every bin from itself and its neighbours: `power` \[rows, bins\], `gain` \[bins, 3\] → \[rows, bins\].
///
/// out\[k\] = gain\[k, 0\]·P\[k−1\] + gain\[k, 1\]·P\[k\] + gain\[k, 2\]·P\[k+1\]; the power of a real signal is
/// an even function of frequency with period n_fft, so P\[−1\] = P\[1\] and P\[n/2+1\] = P\[n/2−1\].
///
/// # Panics
/// If `power` is not whole rows of as many bins as `gain` has, or that is fewer than 2.
pub fn apply_gain(power: &[f64], gain: &[f64]) -> Vec<f64> {
    let bins = gain.len() / 3;
    assert!(
        bins > 1 && gain.len() == 3 * bins && power.len().is_multiple_of(bins),
        "power: not whole rows of {bins} bins"
    );
    let mut out = Vec::with_capacity(power.len());
    for row in power.chunks_exact(bins) {
        for k in 0..bins {
            let below = if k == 0 { row[1] } else { row[k - 1] };
            let above = if k == bins - 1 { row[bins - 2] } else { row[k + 1] };
            out.push(gain[3 * k] * below + gain[3 * k + 1] * row[k] + gain[3 * k + 2] * above);
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
        assert_eq!(apply_gain(&[1.0, 2.0, 5.0], &gain), [212.0, 1042.0, 756.0]);
    }

    #[test]
    fn a_nan_stays_in_its_row() {
        let out = apply_gain(&[0.0, 0.0, f64::NAN, 1.0], &[0.1, 1.0, 0.1, 0.1, 1.0, 0.1]);
        assert_eq!(out[..2], [0.0, 0.0]);
        assert!(out[2..].iter().all(|p| p.is_nan()));
    }
}
