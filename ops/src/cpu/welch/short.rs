//! Welch estimates from segments too short for a transform inside a row: the network of exact twiddles, a row in every
//! lane.

use crate::cpu::fft::forward::forward_twiddles;

use crate::cpu::ButterflyTransform;
use crate::cpu::LearnedWelch;
use crate::cpu::butterfly::prepared::with_buffer;
use crate::cpu::learned::forward::{learned_welch_peaks, learned_welch_psd};
use crate::options::WelchOptions;

/// As [`welch_psd`](super::welch_psd).
pub(in crate::cpu) fn welch_psd(
    signal: &[f32],
    frame_len: usize,
    window: &[f32],
    options: &WelchOptions,
    power: &mut [f32],
) {
    with_model(window, options, |model| learned_welch_psd(signal, frame_len, model, power));
}

/// As [`welch_peaks`](super::welch_peaks).
pub(in crate::cpu) fn welch_peaks(
    signal: &[f32],
    frame_len: usize,
    window: &[f32],
    options: &WelchOptions,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [f32],
) {
    with_model(window, options, |model| learned_welch_peaks(signal, frame_len, model, k, out_bins, out_power));
}

/// Calls `body` with the network that is the exact estimate.
fn with_model(window: &[f32], options: &WelchOptions, body: impl FnOnce(&LearnedWelch<'_, f32>)) {
    let twiddles = forward_twiddles(options.n_fft);
    let transform = ButterflyTransform { n: options.n_fft, twiddles: twiddles.as_flattened(), gates: None };
    with_buffer(options.segments, |weights| {
        weights.fill(1.0 / options.segments as f32);
        body(&LearnedWelch { window, transform, weights, gain: None, options });
    });
}
