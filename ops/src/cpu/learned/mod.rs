//! Welch power and peaks through a learned butterfly transform, weighted segments and a per-bin gain.

pub(in crate::cpu) mod arguments;
mod backward;
mod exact;
pub(in crate::cpu) mod forward;
mod frames;
pub(in crate::cpu) mod gain;
pub(in crate::cpu) mod sums;
#[cfg(test)]
mod tests;

pub use arguments::{LearnedGradients, LearnedWelch};

use crate::cpu::real::Real;
use crate::cpu::scalar::welch_backward::{EstimateGradients, estimate_psd_backward};
use crate::cpu::welch::sums::sums_of_rows;
use crate::cpu::welch::{estimate_peaks, estimate_psd};
use crate::cpu::{isa, scalar};
use exact::with_exact_estimate;

/// Learned Welch power of every row: `signal` `[rows, frame_len]` → `power` `[rows, bins]`.
pub fn learned_welch_psd<T: Real>(signal: &[T], frame_len: usize, model: &LearnedWelch<'_, T>, power: &mut [T]) {
    let bins = model.options.bins();
    let rows = power.len() / bins;
    debug_assert_eq!(power.len(), rows * bins);
    debug_assert_eq!(signal.len(), rows * frame_len);
    model.debug_check();
    let exact = with_exact_estimate(model, |estimate| estimate_psd(signal, frame_len, estimate, power));
    if exact.is_some() {
        return;
    }
    if isa::supports_length(model.options.n_fft)
        && let (Some(signal), Some(model)) = (T::as_f32(signal), model.as_f32())
        && let Some(power) = T::as_f32_mut(power)
    {
        return forward::learned_welch_psd(signal, frame_len, &model, power);
    }
    scalar::learned::learned_welch_psd(signal, frame_len, model, power);
}

/// The `k` strongest bins of every row's learned Welch power: `signal` `[rows, frame_len]` → `out_bins`, `out_power`
/// `[rows, k]`, strongest first.
pub fn learned_welch_peaks<T: Real>(
    signal: &[T],
    frame_len: usize,
    model: &LearnedWelch<'_, T>,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    let rows = out_bins.len() / k;
    debug_assert!((1..=model.options.bins()).contains(&k));
    debug_assert_eq!(signal.len(), rows * frame_len);
    debug_assert_eq!(out_bins.len(), rows * k);
    debug_assert_eq!(out_power.len(), rows * k);
    model.debug_check();
    let exact = with_exact_estimate(model, |estimate| {
        estimate_peaks(signal, frame_len, estimate, k, out_bins, out_power);
    });
    if exact.is_some() {
        return;
    }
    if model.options.halvings > 0 {
        let (sums, sums_len) = sums_of_rows(signal, frame_len, model.options.halvings);
        let options = model.options.with_halvings(0);
        return learned_welch_peaks(
            &sums,
            sums_len,
            &LearnedWelch { options: &options, ..*model },
            k,
            out_bins,
            out_power,
        );
    }
    if isa::supports_length(model.options.n_fft)
        && let (Some(signal), Some(model)) = (T::as_f32(signal), model.as_f32())
        && let Some(out_power) = T::as_f32_mut(out_power)
    {
        return forward::learned_welch_peaks(signal, frame_len, &model, k, out_bins, out_power);
    }
    scalar::learned::learned_welch_peaks(signal, frame_len, model, k, out_bins, out_power);
}

/// Gradients of [`learned_welch_psd`] for `grad_power` `[rows, bins]`.
///
/// The stages of a row are computed anew. A row whose `grad_power` is 0 throughout gives 0, also if its samples are not
/// finite.
pub fn learned_welch_psd_backward<T: Real>(
    signal: &[T],
    frame_len: usize,
    model: &LearnedWelch<'_, T>,
    grad_power: &[T],
    gradients: LearnedGradients<'_, T>,
) {
    let bins = model.options.bins();
    let rows = grad_power.len() / bins;
    debug_assert_eq!(grad_power.len(), rows * bins);
    debug_assert_eq!(signal.len(), rows * frame_len);
    debug_assert!(gradients.gates.is_none() || model.transform.gates.is_some());
    debug_assert!(gradients.gain.is_none() || model.gain.is_some());
    model.debug_check();
    // Gradients of twiddles, gates and weights take the segments one by one.
    let mut gradients = gradients;
    let of_transform = gradients.twiddles.is_some() || gradients.gates.is_some() || gradients.weights.is_some();
    if !of_transform {
        let LearnedGradients { signal: of_signal, window, gain, .. } = &mut gradients;
        let exact = with_exact_estimate(model, |estimate| {
            let into = EstimateGradients {
                signal: of_signal.as_deref_mut(),
                window: window.as_deref_mut(),
                gain: gain.as_deref_mut(),
            };
            estimate_psd_backward(signal, frame_len, estimate, grad_power, into);
        });
        if exact.is_some() {
            return;
        }
    }
    if isa::supports_length(model.options.n_fft)
        && let (Some(signal), Some(model)) = (T::as_f32(signal), model.as_f32())
        && let Some(grad_power) = T::as_f32(grad_power)
    {
        return backward::learned_welch_psd_backward(signal, frame_len, &model, grad_power, gradients.into_f32());
    }
    scalar::learned_backward::learned_welch_psd_backward(signal, frame_len, model, grad_power, gradients);
}
