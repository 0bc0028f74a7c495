//! Welch power and its strongest bins in one pass over the rows.

use super::parallel::Tasks;
use super::psd::Welch;
use super::real::Real;
use super::simd;
use super::top_k::{self, top_k_row};
use crate::options::WelchOptions;

/// The `k` strongest bins of every row's Welch power: `signal` `[rows, frame_len]`, `window` `[n_fft]` → `out_bins`,
/// `out_power` `[rows, k]`.
///
/// They are the strongest bins of [`welch_psd`](super::welch_psd), the power of a row never leaving its thread.
pub fn welch_peaks<T: Real>(
    signal: &[T],
    frame_len: usize,
    window: &[T],
    options: &WelchOptions,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    let (n, bins) = (options.n_fft, options.bins());
    let rows = out_bins.len() / k;
    debug_assert!((1..=bins).contains(&k));
    debug_assert_eq!(signal.len(), rows * frame_len);
    debug_assert_eq!(out_bins.len(), rows * k);
    debug_assert_eq!(out_power.len(), rows * k);
    if simd::takes(n)
        && let (Some(signal), Some(window)) = (T::as_f32(signal), T::as_f32(window))
        && let Some(out_power) = T::as_f32_mut(out_power)
    {
        return simd::welch_peaks(signal, frame_len, window, options, k, out_bins, out_power);
    }
    let welch = Welch::new(window, options);
    let tasks = Tasks::independent(rows, welch.work() + top_k::work(bins, k));
    let pieces = signal
        .chunks(tasks.rows * frame_len)
        .zip(out_bins.chunks_mut(tasks.rows * k))
        .zip(out_power.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((frames, out_bins), out_power)| {
        T::with_scratch(|scratch| {
            let (complex, real, keys) = scratch.buffers(welch.complex_len(), n + bins, bins);
            let (sums, power) = real.split_at_mut(n);
            let outputs = out_bins.chunks_exact_mut(k).zip(out_power.chunks_exact_mut(k));
            for (frame, (out_bins, out_power)) in frames.chunks_exact(frame_len).zip(outputs) {
                welch.row(frame, complex, sums, power);
                top_k_row(power, keys, out_bins, out_power);
            }
        });
    });
}
