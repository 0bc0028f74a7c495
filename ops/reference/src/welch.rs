//! Welch's averaged one-sided power (P. D. Welch, "The use of fast Fourier transform for the estimation of power
//! spectra", IEEE Trans. Audio Electroacoust. AU-15, 1967).

use super::Complex;
use super::dft::dft_bins;

/// Factor on averaged one-sided power.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PowerScaling {
    /// 1.
    Raw,
    /// 1/(Σw)²: the power of a sinusoid at its bin.
    Spectrum,
    /// 1/(sample_rate·Σw²): power per hertz.
    Density {
        /// Samples per second, in hertz.
        sample_rate: f64,
    },
}

/// Parameters of a Welch estimate: `segments` segments of `n_fft` samples, `hop` samples apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WelchDefinition {
    /// Samples per segment.
    pub n_fft: usize,
    /// Samples from the start of one segment to the start of the next.
    pub hop: usize,
    /// Segments per row.
    pub segments: usize,
    /// Factor on the averaged power.
    pub scaling: PowerScaling,
    /// Whether the mean of each segment is subtracted before it is windowed.
    pub remove_mean: bool,
}

/// Power of every row: `signal` \[rows, frame\], `window` \[n_fft\] → \[rows, n_fft/2 + 1\].
///
/// power\[k\] = scale · 1/S · Σ_s c_k·|X_s\[k\]|² with X_s the transform of the windowed segment s,
/// c_k from [`one_sided_factor`] and the scale from [`power_scale`]. Samples past the last segment
/// are ignored. n_fft²/2 multiplications per segment: for long segments see [`welch_psd_bins`].
///
/// # Panics
/// As [`welch_psd_bins`].
pub fn welch_psd(signal: &[f64], frame: usize, window: &[f64], options: &WelchDefinition) -> Vec<f64> {
    let bins: Vec<usize> = (0..=options.n_fft / 2).collect();
    welch_psd_bins(signal, frame, window, options, &bins)
}

/// [`welch_psd`] at selected bins only, in the order given: \[rows, bins.len()\].
///
/// # Panics
/// If `signal` is not whole rows of `frame` samples, a row is shorter than its segments, the window's
/// length is not `n_fft`, there are no segments, or a bin is above n_fft/2.
pub fn welch_psd_bins(
    signal: &[f64],
    frame: usize,
    window: &[f64],
    options: &WelchDefinition,
    bins: &[usize],
) -> Vec<f64> {
    check(signal, frame, window, options);
    let scale = power_scale(window, options.scaling);
    let mut power = Vec::with_capacity(signal.len() / frame * bins.len());
    for row in signal.chunks_exact(frame) {
        let mut sum = vec![0.0; bins.len()];
        for s in 0..options.segments {
            let segment = tapered_segment(row, window, options, s);
            for ((sum, &k), x) in sum.iter_mut().zip(bins).zip(dft_bins(&segment, bins)) {
                *sum += one_sided_factor(k, options.n_fft) * x.norm_sqr();
            }
        }
        power.extend(sum.iter().map(|sum| scale * sum / options.segments as f64));
    }
    power
}

/// Segment `s` of a row, detrended and windowed, as complex numbers with imaginary part 0: \[n_fft\].
///
/// # Panics
/// If the row is shorter than the segment needs.
pub fn tapered_segment(row: &[f64], window: &[f64], options: &WelchDefinition, s: usize) -> Vec<Complex> {
    let segment = &row[s * options.hop..][..options.n_fft];
    let offset = if options.remove_mean { segment.iter().sum::<f64>() / options.n_fft as f64 } else { 0.0 };
    segment.iter().zip(window).map(|(x, w)| (w * (x - offset)).into()).collect()
}

/// c_k: 2 for the bins that stand for themselves and their mirror image, 1 for DC and Nyquist.
///
/// # Panics
/// If `k` is above n_fft/2.
pub fn one_sided_factor(k: usize, n_fft: usize) -> f64 {
    assert!(k <= n_fft / 2, "one_sided_factor: bin {k} is above {}", n_fft / 2);
    if k == 0 || 2 * k == n_fft { 1.0 } else { 2.0 }
}

/// The factor on averaged power: 1, 1/(Σw)² or 1/(sample_rate·Σw²).
pub fn power_scale(window: &[f64], scaling: PowerScaling) -> f64 {
    match scaling {
        PowerScaling::Raw => 1.0,
        PowerScaling::Spectrum => window.iter().sum::<f64>().powi(2).recip(),
        PowerScaling::Density { sample_rate } => (sample_rate * window.iter().map(|w| w * w).sum::<f64>()).recip(),
    }
}

/// The conditions that [`welch_psd_bins`] documents.
pub(super) fn check(signal: &[f64], frame: usize, window: &[f64], options: &WelchDefinition) {
    assert!(options.segments > 0, "segments: 0, there must be at least one");
    let needed = options.n_fft + (options.segments - 1) * options.hop;
    assert!(frame > 0 && frame >= needed, "frame: {frame} samples, its segments need {needed}");
    assert_eq!(signal.len() % frame, 0, "signal: not whole rows of {frame} samples");
    assert_eq!(window.len(), options.n_fft, "window: its length must be n_fft");
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONES: [f64; 8] = [1.0; 8];
    const IMPULSE: [f64; 8] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    /// Bin 2 of 8, amplitude 1.
    const COSINE: [f64; 8] = [1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0];

    fn options(segments: usize, scaling: PowerScaling, remove_mean: bool) -> WelchDefinition {
        WelchDefinition { n_fft: 8, hop: 4, segments, scaling, remove_mean }
    }

    fn plain(segments: usize) -> WelchDefinition {
        options(segments, PowerScaling::Raw, false)
    }

    fn assert_close(actual: &[f64], expected: &[f64]) {
        assert_eq!(actual.len(), expected.len());
        for (k, (a, e)) in actual.iter().zip(expected).enumerate() {
            assert!((a - e).abs() <= 1e-14, "bin {k}: {a} is not {e}");
        }
    }

    #[test]
    fn an_impulse_shows_the_one_sided_factors() {
        assert_eq!(welch_psd(&IMPULSE, 8, &ONES, &plain(1)), [1.0, 2.0, 2.0, 2.0, 1.0]);
    }

    #[test]
    fn spectrum_and_density_scale_by_the_window() {
        // Σw = Σw² = 8.
        let spectrum = options(1, PowerScaling::Spectrum, false);
        let expected = [1.0, 2.0, 2.0, 2.0, 1.0].map(|p| p / 64.0);
        assert_eq!(welch_psd(&IMPULSE, 8, &ONES, &spectrum), expected);

        let density = options(1, PowerScaling::Density { sample_rate: 2.0 }, false);
        let expected = [1.0, 2.0, 2.0, 2.0, 1.0].map(|p| p / 16.0);
        assert_eq!(welch_psd(&IMPULSE, 8, &ONES, &density), expected);
    }

    #[test]
    fn a_cosine_has_half_its_squared_amplitude_in_the_spectrum() {
        let spectrum = options(1, PowerScaling::Spectrum, false);
        assert_eq!(welch_psd(&COSINE, 8, &ONES, &spectrum), [0.0, 0.0, 0.5, 0.0, 0.0]);
        assert_eq!(welch_psd(&COSINE, 8, &ONES, &plain(1)), [0.0, 0.0, 32.0, 0.0, 0.0]);
    }

    #[test]
    fn a_hann_window_spreads_dc_over_two_bins() {
        // The transform of a periodic Hann window of 8 is 4, −2, 0, 0, 0.
        let half = std::f64::consts::FRAC_1_SQRT_2 / 2.0;
        let hann = [0.0, 0.5 - half, 0.5, 0.5 + half, 1.0, 0.5 + half, 0.5, 0.5 - half];
        assert_close(&welch_psd(&ONES, 8, &hann, &plain(1)), &[16.0, 8.0, 0.0, 0.0, 0.0]);
        let spectrum = options(1, PowerScaling::Spectrum, false);
        assert_close(&welch_psd(&ONES, 8, &hann, &spectrum), &[1.0, 0.5, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn constant_detrend_takes_each_segments_own_mean() {
        let detrended = options(1, PowerScaling::Raw, true);
        assert_eq!(welch_psd(&[3.0; 8], 8, &ONES, &detrended), [0.0; 5]);
        assert_eq!(welch_psd(&IMPULSE, 8, &ONES, &detrended), [0.0, 2.0, 2.0, 2.0, 1.0]);

        // Means 0 and 5 with hop = n_fft: a common mean of 2.5 would leave power at DC.
        let step: Vec<f64> = [0.0; 8].into_iter().chain([5.0; 8]).collect();
        let apart = WelchDefinition { hop: 8, segments: 2, ..detrended };
        assert_eq!(welch_psd(&step, 16, &ONES, &apart), [0.0; 5]);
    }

    #[test]
    fn constant_detrend_comes_before_the_window() {
        // After the window it would leave nothing at DC but something at bin 1; before, nothing at all.
        let hann = super::super::window::window(
            super::super::window::WindowShape::Hann,
            super::super::window::Symmetry::Periodic,
            8,
        );
        let detrended = options(1, PowerScaling::Raw, true);
        assert_eq!(welch_psd(&ONES, 8, &hann, &detrended), [0.0; 5]);
    }

    #[test]
    fn segments_are_averaged_and_later_samples_ignored() {
        // The impulse is in segment 0 (samples 0..8) and not in segment 1 (4..12).
        let mut frame = vec![0.0; 15];
        frame[0] = 1.0;
        frame[12..].fill(1e6);
        let expected = [0.5, 1.0, 1.0, 1.0, 0.5];
        assert_eq!(welch_psd(&frame, 15, &ONES, &plain(2)), expected);
    }

    #[test]
    fn selected_bins_come_in_the_order_given() {
        let power = welch_psd_bins(&[IMPULSE, COSINE].concat(), 8, &ONES, &plain(1), &[2, 4]);
        assert_eq!(power, [2.0, 1.0, 32.0, 0.0]);
    }

    #[test]
    fn a_nan_stays_in_its_row() {
        let mut spoilt = COSINE;
        spoilt[3] = f64::NAN;
        let power = welch_psd(&[spoilt, COSINE].concat(), 8, &ONES, &plain(1));
        assert!(power[..5].iter().all(|p| p.is_nan()));
        assert_eq!(power[5..], [0.0, 0.0, 32.0, 0.0, 0.0]);
    }

    #[test]
    #[should_panic(expected = "its segments need 12")]
    fn a_short_frame_is_not_padded() {
        welch_psd(&IMPULSE, 8, &ONES, &plain(2));
    }
}
