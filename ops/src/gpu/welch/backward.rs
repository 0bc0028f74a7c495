//! The gradients of exact Welch power.
//!
//! With respect to a segment's windowed samples y the gradient is Σ_k q[k]·X[k]·e^(2πi jk/n) over all k, with
//! q[k] = q[n−k] = 2·factor·grad[k]: a real and even filter, which takes real samples to real ones. So two segments go
//! through it as one complex transform, and stay apart. The inverse transform is the transform of exchanged parts.

use cubecl::server::Handle;

use super::exact_transform::ExactTransform;
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice, chunks, from_row};
use crate::gpu::reduce::active_rows;
use crate::gpu::segments::{
    DeviceFrames, SegmentBatch, Skip, add_scaling_gradient, filter_by_gradient, scaling_factor, signal_gradient,
    window_gradient, window_segments,
};
use crate::options::WelchOptions;

/// The gradients to be written.
#[derive(Debug, Clone)]
pub struct WelchGradients {
    /// `[rows, frame]`.
    pub signal: Handle,
    /// `[n_fft]`.
    pub window: Handle,
}

/// Writes the gradients of signal and window from `grad`, that of the power `[rows, bins]`.
///
/// # Errors
/// If the device can't transform `n_fft` samples.
pub fn welch_psd_backward(
    device: &GpuDevice,
    frames: &DeviceFrames,
    window: &Handle,
    grad: &Handle,
    into: &WelchGradients,
    options: &WelchOptions,
) -> Result<(), DeviceLimitError> {
    let transforms = options.segments.div_ceil(2) * options.n_fft;
    let transform = ExactTransform::new(device, options.n_fft);
    let factor = scaling_factor(device, window, options);
    for chunk in chunks(device, frames.rows, 6 * transforms, frames.row_values().max(transforms)) {
        let (start, rows) = (chunk.start, chunk.len());
        let grad = from_row(grad, start, options.bins());
        let batch = SegmentBatch { frames: frames.slice(chunk), options, paired: true };
        // The transforms X, of rows without a gradient 0.
        let active = active_rows(device, [&grad, &grad], rows, options.bins());
        let windowed = window_segments(device, &batch, window, Skip { rows: Some(&active), weights: None });
        let outputs = ComplexRows::empty(&device.client, batch.values());
        transform.forward(device, &windowed.samples, &outputs, batch.transforms())?;
        // The filter, and the inverse transform into the memory of the windowed samples.
        filter_by_gradient(device, &batch, &outputs, &factor, &grad);
        let inverse = windowed.samples;
        transform.forward(device, &outputs.exchanged(), &inverse, batch.transforms())?;
        let windowed_grad = inverse.exchanged();
        signal_gradient(device, &batch, window, &windowed_grad, &from_row(&into.signal, start, frames.len));
        window_gradient(device, &batch, &windowed.means, &windowed_grad, &into.window, start > 0);
    }
    add_scaling_gradient(device, window, &into.window, options);
    Ok(())
}
