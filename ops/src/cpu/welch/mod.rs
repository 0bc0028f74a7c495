//! Welch power spectra and their strongest bins, with exact transforms.

mod bin_gain;
mod detrended;
pub(in crate::cpu) mod estimate;
pub(in crate::cpu) mod forward;
mod lanes;
pub(in crate::cpu) mod scaling;
pub(in crate::cpu) mod segment;
mod short;
pub(in crate::cpu) mod sums;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::estimate::Estimate;
use self::forward::WelchCall;
use self::sums::sums_of_rows;
use crate::cpu::real::Real;
use crate::cpu::scalar::welch_backward::EstimateGradients;
use crate::cpu::transform::{MixedRadixPlan, plan_of_frames};
use crate::cpu::{isa, scalar};
use crate::options::WelchOptions;

/// Engines for f32; all other cases use planned transforms.
enum Engine {
    /// A segment of a power of two samples across registers, or a row per lane where it is short.
    AcrossRegisters,
    /// A row per lane, for any other length that a plan takes.
    Lanes(Arc<MixedRadixPlan>),
}

impl Engine {
    /// The engine of an estimate of `rows` rows on this thread.
    fn of(options: &WelchOptions, rows: usize) -> Option<Self> {
        let n = options.n_fft;
        if n.is_power_of_two() && isa::supports_length(n) {
            return Some(Self::AcrossRegisters);
        }
        plan_of_frames(n, rows).map(Self::Lanes)
    }
}

/// One-sided Welch power of every row: `signal` `[rows, frame_len]`, `window` `[n_fft]` → `power` `[rows, bins]`.
///
/// `power[k]` is the mean over segments of c_k |X\[k\]|², times the factor of the scaling, with c_k = 1 at DC and
/// Nyquist and 2 between (Welch, 1967). A non-finite sample in a segment makes every bin of its row non-finite, and
/// leaves the other rows alone.
pub fn welch_psd<T: Real>(signal: &[T], frame_len: usize, window: &[T], options: &WelchOptions, power: &mut [T]) {
    estimate_psd(signal, frame_len, &Estimate::welch(window, options), power);
}

/// Power of every row as an estimate says: `signal` `[rows, frame_len]` → `power` `[rows, bins]`. An estimate with a
/// gain or with segments left out has a length that is a power of two, and in f32 in registers at least 64.
pub(in crate::cpu) fn estimate_psd<T: Real>(
    signal: &[T],
    frame_len: usize,
    estimate: &Estimate<'_, T>,
    power: &mut [T],
) {
    let bins = estimate.options.bins();
    let rows = power.len() / bins;
    debug_assert_eq!(power.len(), rows * bins);
    debug_assert_eq!(signal.len(), rows * frame_len);
    estimate.debug_check();
    if let Some(engine) = Engine::of(estimate.options, rows)
        && let (Some(signal), Some(estimate)) = (T::as_f32(signal), estimate.as_f32())
        && let Some(power) = T::as_f32_mut(power)
    {
        return match engine {
            Engine::AcrossRegisters => forward::welch_psd(signal, frame_len, &estimate, power),
            Engine::Lanes(plan) => lanes::welch_psd(signal, &WelchCall::new(frame_len, &estimate), &plan, power),
        };
    }
    scalar::welch::welch_psd(signal, frame_len, estimate, power);
}

/// The `k` strongest bins of every row's Welch power: `signal` `[rows, frame_len]`, `window` `[n_fft]` → `out_bins`,
/// `out_power` `[rows, k]`.
///
/// They are the strongest bins of [`welch_psd`], the power of a row never leaving its thread.
pub fn welch_peaks<T: Real>(
    signal: &[T],
    frame_len: usize,
    window: &[T],
    options: &WelchOptions,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    estimate_peaks(signal, frame_len, &Estimate::welch(window, options), k, out_bins, out_power);
}

/// The `k` strongest bins of [`estimate_psd`]: `out_bins`, `out_power` `[rows, k]`.
pub(in crate::cpu) fn estimate_peaks<T: Real>(
    signal: &[T],
    frame_len: usize,
    estimate: &Estimate<'_, T>,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    let rows = out_bins.len() / k;
    debug_assert!((1..=estimate.options.bins()).contains(&k));
    debug_assert_eq!(signal.len(), rows * frame_len);
    debug_assert_eq!(out_bins.len(), rows * k);
    debug_assert_eq!(out_power.len(), rows * k);
    estimate.debug_check();
    let engine = Engine::of(estimate.options, rows);
    let takes_sums = matches!(engine, Some(Engine::AcrossRegisters)) && T::as_f32(signal).is_some();
    if estimate.options.halvings > 0 && !(takes_sums && forward::takes_halvings(estimate.options)) {
        let (sums, sums_len) = sums_of_rows(signal, frame_len, estimate.options.halvings);
        let options = estimate.options.with_halvings(0);
        return estimate_peaks(&sums, sums_len, &Estimate { options: &options, ..*estimate }, k, out_bins, out_power);
    }
    if let Some(engine) = engine
        && let (Some(signal), Some(estimate)) = (T::as_f32(signal), estimate.as_f32())
        && let Some(out_power) = T::as_f32_mut(out_power)
    {
        return match engine {
            Engine::AcrossRegisters => forward::welch_peaks(signal, frame_len, &estimate, k, out_bins, out_power),
            Engine::Lanes(plan) => {
                let call = WelchCall::new(frame_len, &estimate);
                lanes::welch_peaks(signal, &call, &plan, k, out_bins, out_power);
            }
        };
    }
    scalar::welch::welch_peaks(signal, frame_len, estimate, k, out_bins, out_power);
}

/// Gradients of [`welch_psd`] for `grad_power` `[rows, bins]`: overwrites `grad_signal` `[rows, frame_len]` and
/// `grad_window` `[n_fft]`, each if given.
///
/// The window's gradient includes the part through the scaling. Samples past the last segment get 0. A row whose
/// `grad_power` is 0 throughout gives 0, also if its samples are not finite.
pub fn welch_psd_backward<T: Real>(
    signal: &[T],
    frame_len: usize,
    window: &[T],
    options: &WelchOptions,
    grad_power: &[T],
    grad_signal: Option<&mut [T]>,
    grad_window: Option<&mut [T]>,
) {
    let bins = options.bins();
    let rows = grad_power.len() / bins;
    debug_assert_eq!(grad_power.len(), rows * bins);
    debug_assert_eq!(signal.len(), rows * frame_len);
    debug_assert!(grad_signal.as_ref().is_none_or(|grad| grad.len() == signal.len()));
    debug_assert!(grad_window.as_ref().is_none_or(|grad| grad.len() == options.n_fft));
    let gradients = EstimateGradients { signal: grad_signal, window: grad_window, gain: None };
    let estimate = Estimate::welch(window, options);
    scalar::welch_backward::estimate_psd_backward(signal, frame_len, &estimate, grad_power, gradients);
}
