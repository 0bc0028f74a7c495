//! Welch estimates from segments of 8 to 32 samples, which are too short for a transform across registers.
//!
//! They run as the learned estimate that is exact: the butterfly transform of exact twiddles, without gates and gain,
//! every weight 1 / segments, one row per lane.

use crate::cpu::butterfly::arguments::ButterflyTransform;
use crate::cpu::fft::forward_twiddles;
use crate::cpu::learned::arguments::LearnedWelch;
use crate::cpu::learned::forward::{learned_welch_peaks, learned_welch_psd};
use crate::cpu::runtime::scratch::with_zeros;
use crate::cpu::welch::estimate::Estimate;

/// As [`welch_psd`](super::forward::welch_psd), of all segments and without a gain.
pub(super) fn welch_psd(signal: &[f32], frame_len: usize, estimate: &Estimate<'_, f32>, power: &mut [f32]) {
    with_exact_model(estimate, |model| learned_welch_psd(signal, frame_len, model, power));
}

/// As [`welch_peaks`](super::forward::welch_peaks), of all segments and without a gain.
pub(super) fn welch_peaks(
    signal: &[f32],
    frame_len: usize,
    estimate: &Estimate<'_, f32>,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [f32],
) {
    with_exact_model(estimate, |model| learned_welch_peaks(signal, frame_len, model, k, out_bins, out_power));
}

/// Calls `body` with the learned estimate that is the exact one.
fn with_exact_model(estimate: &Estimate<'_, f32>, body: impl FnOnce(&LearnedWelch<'_, f32>)) {
    let &Estimate { window, options, .. } = estimate;
    let twiddles = forward_twiddles(options.n_fft);
    let transform = ButterflyTransform { n: options.n_fft, twiddles: twiddles.as_flattened(), gates: None };
    with_zeros(options.segments, |weights| {
        weights.fill(1.0 / options.segments as f32);
        body(&LearnedWelch { window, transform, weights, gain: None, options });
    });
}
