//! Welch power and peaks through a learned butterfly transform, weighted segments and a per-bin gain.

mod backward;
mod exact;
pub(in crate::cpu) mod forward;
mod frames;
pub(in crate::cpu) mod gain;
pub(in crate::cpu) mod sums;
#[cfg(test)]
mod tests;

use crate::cpu::butterfly::ButterflyTransform;
use crate::cpu::real::Real;
use crate::cpu::scalar::welch_backward::{EstimateGradients, estimate_psd_backward};
use crate::cpu::welch::{estimate_peaks, estimate_psd};
use crate::cpu::{isa, scalar};
use crate::options::WelchOptions;
use exact::with_exact_estimate;
use gain::GAIN_TAPS;

/// Learned Welch estimate.
///
/// Every segment, detrended and windowed, goes through the transform as the real part of its input. With Y_s the
/// transform's output for segment s: P\[k\] = scale · Σ_s weights\[s\] c_k |Y_s\[k\]|² for k = 0..=n/2, scale and c_k
/// as for [`welch_psd`](super::welch_psd); then the gain is applied. Exact twiddles, open gates, weights 1 / segments
/// and no gain (or a gain of (0, 1, 0)) give the Welch power.
///
/// With exact twiddles and open gates, segments that have one weight share transforms in pairs, as in the Welch power,
/// and gradients of signal, window and gain go back through those.
#[derive(Debug, Clone, Copy)]
pub struct LearnedWelch<'a, T> {
    /// The window, `[n_fft]`.
    pub window: &'a [T],
    /// The transform, of length `n_fft`.
    pub transform: ButterflyTransform<'a, T>,
    /// Weights of the segments, `[segments]`, not negative. A segment of weight 0 is skipped.
    pub weights: &'a [T],
    /// Gain of the bins, `[bins, 3]`: see [`GAIN_TAPS`]. Without it, power stays as it is.
    pub gain: Option<&'a [T]>,
    /// The segments, scaling and detrending.
    pub options: &'a WelchOptions,
}

impl<'a, T: Real> LearnedWelch<'a, T> {
    /// The model if it is of f32.
    fn as_f32(&self) -> Option<LearnedWelch<'a, f32>> {
        let gain = match self.gain {
            Some(gain) => Some(T::as_f32(gain)?),
            None => None,
        };
        Some(LearnedWelch {
            window: T::as_f32(self.window)?,
            transform: self.transform.as_f32()?,
            weights: T::as_f32(self.weights)?,
            gain,
            options: self.options,
        })
    }

    fn debug_check(&self) {
        debug_assert_eq!(self.window.len(), self.options.n_fft);
        debug_assert_eq!(self.transform.n, self.options.n_fft);
        debug_assert_eq!(self.weights.len(), self.options.segments);
        debug_assert!(self.gain.is_none_or(|gain| gain.len() == GAIN_TAPS * self.options.bins()));
    }
}

/// Gradients that [`learned_welch_psd_backward`] overwrites, each if given.
#[derive(Debug, Default)]
pub struct LearnedGradients<'a, T> {
    /// Of the signal, `[rows, frame_len]`; 0 past the last segment.
    pub signal: Option<&'a mut [T]>,
    /// Of the window, `[n_fft]`, with the part through the scaling.
    pub window: Option<&'a mut [T]>,
    /// Of the twiddles, `[log2 n, n / 2, 2]`.
    pub twiddles: Option<&'a mut [T]>,
    /// Of the gates, `[log2 n, n / 2]`; only for a transform that has gates.
    pub gates: Option<&'a mut [T]>,
    /// Of the segments' weights, `[segments]`, a skipped segment's included.
    pub weights: Option<&'a mut [T]>,
    /// Of the gain, `[bins, 3]`; only for a model that has a gain.
    pub gain: Option<&'a mut [T]>,
}

impl<'a, T: Real> LearnedGradients<'a, T> {
    /// The same gradients if they are of f32, else none of them.
    fn into_f32(self) -> LearnedGradients<'a, f32> {
        let f32 = |gradient: Option<&'a mut [T]>| gradient.and_then(T::as_f32_mut);
        LearnedGradients {
            signal: f32(self.signal),
            window: f32(self.window),
            twiddles: f32(self.twiddles),
            gates: f32(self.gates),
            weights: f32(self.weights),
            gain: f32(self.gain),
        }
    }
}

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
    if isa::takes(model.options.n_fft)
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
    if isa::takes(model.options.n_fft)
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
    if isa::takes(model.options.n_fft)
        && let (Some(signal), Some(model)) = (T::as_f32(signal), model.as_f32())
        && let Some(grad_power) = T::as_f32(grad_power)
    {
        return backward::learned_welch_psd_backward(signal, frame_len, &model, grad_power, gradients.into_f32());
    }
    scalar::learned_backward::learned_welch_psd_backward(signal, frame_len, model, grad_power, gradients);
}
