//! Welch power spectra and their strongest bins, with exact transforms.

mod backward;
pub(in crate::cpu) mod estimate;
mod forward;
pub(in crate::cpu) mod gain;
mod lanes;
mod planned;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::estimate::Estimate;
use self::forward::{PeakRows, WelchCall, WelchOutputs};
use crate::cpu::fft::plan::MIN_N;
use crate::cpu::isa;
use crate::cpu::real::Real;
use crate::cpu::transform::{MixedRadixPlan, frame_plan, plan_of_frames};
use crate::options::WelchOptions;

/// Engines for f32; all other cases use planned transforms.
enum Engine {
    /// A segment of a power of two samples across registers.
    AcrossRegisters,
    /// A row per lane, for segments that are too short for that, and for any other length that a plan takes.
    Lanes(Arc<MixedRadixPlan>),
}

impl Engine {
    /// The engine of an estimate of `rows` rows on this thread.
    fn of(options: &WelchOptions, rows: usize) -> Option<Self> {
        let n = options.n_fft;
        if !n.is_power_of_two() || !isa::supports_length(n) {
            return plan_of_frames(n, rows).map(Self::Lanes);
        }
        Some(if n < MIN_N { Self::Lanes(frame_plan(n)) } else { Self::AcrossRegisters })
    }
}

/// One-sided power of every row: `signal` `[rows, frame_len]` → `power` `[rows, bins]`.
///
/// A non-finite sample in a segment that is averaged makes every bin of its row non-finite, and leaves the other rows
/// alone.
pub fn welch_psd<T: Real>(signal: &[T], frame_len: usize, estimate: &Estimate<'_, T>, power: &mut [T]) {
    debug_assert!(power.len().is_multiple_of(estimate.options.bins()));
    welch(signal, frame_len, estimate, WelchOutputs::Power(power));
}

/// The `k` strongest bins of every row: `signal` `[rows, frame_len]` → `out_bins`, `out_power` `[rows, k]`.
///
/// They are the strongest bins of [`welch_psd`], the power of a row never leaving its thread.
pub fn welch_peaks<T: Real>(
    signal: &[T],
    frame_len: usize,
    estimate: &Estimate<'_, T>,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    debug_assert!((1..=estimate.options.bins()).contains(&k));
    debug_assert!(out_bins.len().is_multiple_of(k) && out_power.len() == out_bins.len());
    let peaks = PeakRows { k, keys: &mut [], bins: out_bins, power: out_power };
    welch(signal, frame_len, estimate, WelchOutputs::Peaks(peaks));
}

fn welch<T: Real>(signal: &[T], frame_len: usize, estimate: &Estimate<'_, T>, mut outputs: WelchOutputs<'_, T>) {
    let rows = outputs.rows(estimate.options.bins());
    debug_assert_eq!(signal.len(), rows * frame_len);
    estimate.debug_check();
    if let Some(engine) = Engine::of(estimate.options, rows)
        && let (Some(signal), Some(estimate)) = (T::as_f32(signal), estimate.as_f32())
        && let Some(outputs) = outputs.as_f32_mut()
    {
        let call = WelchCall::new(frame_len, &estimate);
        return match engine {
            Engine::AcrossRegisters => forward::welch(signal, call, outputs),
            Engine::Lanes(plan) => lanes::welch(signal, &call, &plan, outputs),
        };
    }
    planned::welch(signal, frame_len, estimate, outputs);
}

/// Gradients of [`welch_psd`] for `grad_power` `[rows, bins]`: overwrites those that are given, of the signal, the window and
/// the gain, if the estimate has one.
///
/// The window's gradient includes the part through the scaling. Samples that no averaged segment has get 0. A row whose
/// `grad_power` is 0 throughout gives 0, also if its samples are not finite.
pub fn welch_psd_backward<T: Real>(
    signal: &[T],
    frame_len: usize,
    estimate: &Estimate<'_, T>,
    grad_power: &[T],
    into: [Option<&mut [T]>; 3],
) {
    let options = estimate.options;
    let bins = options.bins();
    let rows = grad_power.len() / bins;
    debug_assert_eq!(grad_power.len(), rows * bins);
    debug_assert_eq!(signal.len(), rows * frame_len);
    let lengths = [signal.len(), options.n_fft, estimate.gain.map_or(0, <[T]>::len)];
    debug_assert!(into.iter().zip(lengths).all(|(grad, len)| grad.as_ref().is_none_or(|grad| grad.len() == len)));
    estimate.debug_check();
    backward::welch_psd_backward(signal, frame_len, estimate, grad_power, into);
}
