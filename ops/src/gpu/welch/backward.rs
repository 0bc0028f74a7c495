//! The gradients of Welch power.
//!
//! With respect to a segment's windowed samples the gradient is the Hermitian sum Σ_k G\[k\]·e^(2πi jk/n) over all k, with
//! G\[k\] = 2·factor·grad\[k\]·X\[k\] and the neighbours' parts where the gain takes products.

use cubecl::server::Handle;

use super::launch::DeviceEstimate;
use super::row_gain::{RowGain, UngainedPower};
use super::row_spectra::{RowSpectra, SumGradients};
use crate::gpu::device::{DeviceLimitError, GpuDevice, chunks, from_row};
use crate::gpu::segments::{DeviceFrames, add_scaling_gradient, scaling_factor};

/// The gradients to be written; each may be absent.
#[derive(Debug, Clone)]
pub struct WelchGradients {
    /// `[rows, frame]`.
    pub signal: Option<Handle>,
    /// `[n_fft]`.
    pub window: Option<Handle>,
    /// Of the shape of the gain.
    pub gain: Option<RowGain>,
}

/// Writes the gradients for `grad`, that of the power `[rows, bins]`. The estimate's segments start with the frame.
///
/// # Errors
/// If the device can't transform `n_fft` samples.
pub fn welch_psd_backward(
    device: &GpuDevice,
    frames: &DeviceFrames,
    estimate: &DeviceEstimate<'_>,
    grad: &Handle,
    into: &WelchGradients,
) -> Result<(), DeviceLimitError> {
    let &DeviceEstimate { window, gain, options, .. } = estimate;
    let (samples, bins) = (options.segments * options.n_fft, options.bins());
    let factor = scaling_factor(device, window, options);
    // Windowed samples and spectra, the gradients of both, and power and products with theirs.
    let scratch = 6 * (samples + 2 * options.segments) + if gain.is_some() { 4 * bins } else { 0 };
    for chunk in chunks(device, frames.rows, scratch, frames.row_values().max(samples)) {
        let start = chunk.start;
        let grad = from_row(grad, start, bins);
        let spectra = RowSpectra::new(device, frames.slice(chunk), estimate, &factor)?;
        // Back through the gain.
        if let (Some(gain), Some(into)) = (gain, &into.gain) {
            UngainedPower::new(device, &spectra, gain).gain_gradient(&grad, into, start > 0);
        }
        if into.signal.is_none() && into.window.is_none() {
            continue;
        }
        let grad = match gain {
            Some(gain) => gain.adjoint(device, &grad, [spectra.rows, bins]),
            None => SumGradients { power: grad, products: None },
        };
        let samples = spectra.sample_gradients(&grad)?;
        let (segments, taken) = (&spectra.segments, 0..spectra.segments.count());
        if let Some(into) = &into.signal {
            segments.signal_gradient(device, &samples, &taken, &from_row(into, start, frames.len), false);
        }
        if let Some(into) = &into.window {
            segments.window_gradient(device, &samples, &spectra.spectra, &taken, into, start > 0);
        }
    }
    if let Some(into) = &into.window {
        add_scaling_gradient(device, window, into, options);
    }
    Ok(())
}
