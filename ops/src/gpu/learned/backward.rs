//! The gradients of learned Welch power.

use cubecl::server::Handle;

use super::launch::{GainInputs, LearnedWeights, gain_gradient, sum_gradients};
use crate::gpu::butterfly::{BackwardRows, ButterflyGradients};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice, chunks, from_row};
use crate::gpu::reduce::{active_rows, sum_rows};
use crate::gpu::segments::{
    DeviceFrames, SegmentBatch, Skip, add_scaling_gradient, scaling_factor, signal_gradient, weight_gradients,
    weighted_gradient, window_gradient, window_segments,
};
use crate::options::WelchOptions;

/// The gradients to be written.
#[derive(Debug, Clone)]
pub struct LearnedGradients {
    /// `[rows, frame]`.
    pub signal: Handle,
    /// Of the parameters.
    pub learned: LearnedWeights,
}

/// Writes the gradients that are `required` (signal, window, twiddles, gates, weights, gain), and perhaps others, from
/// `grad`, that of the power `[rows, bins]`.
///
/// # Errors
/// If the device can't transform `n_fft` samples.
pub fn learned_welch_psd_backward(
    device: &GpuDevice,
    frames: &DeviceFrames,
    learned: &LearnedWeights,
    grad: &Handle,
    into: &LearnedGradients,
    options: &WelchOptions,
    required: [bool; 6],
) -> Result<(), DeviceLimitError> {
    let [of_signal, of_window, of_twiddles, of_gates, of_weights, of_gain] = required;
    let through_segments = of_signal || of_window || of_twiddles || of_gates;
    let (n, bins) = (options.n_fft, options.bins());
    let transforms = options.segments * n;
    let factor = scaling_factor(device, &learned.window, options);
    let transform = learned.transform(n);
    for chunk in chunks(device, frames.rows, 8 * transforms + 5 * bins, frames.row_values().max(transforms)) {
        let (start, rows) = (chunk.start, chunk.len());
        let accumulate = start > 0;
        let grad = from_row(grad, start, bins);
        let batch = SegmentBatch { frames: frames.slice(chunk), options, paired: false };
        // Forward again, of rows that have a gradient.
        let active = active_rows(device, [&grad, &grad], rows, bins);
        // The gradient of a weight of 0 needs its segment too.
        let weights = (!of_weights).then_some(&learned.weights);
        let windowed = window_segments(device, &batch, &learned.window, Skip { rows: Some(&active), weights });
        let outputs = ComplexRows::empty(&device.client, batch.values());
        transform.forward(device, &windowed.samples, &outputs, batch.transforms())?;
        // Back through the gain and the sum over segments.
        if of_gain {
            let inputs = GainInputs::of(device, &batch, &outputs, learned, &factor);
            gain_gradient(device, &grad, &inputs, &active, &into.learned, [rows, bins], accumulate);
        }
        let sums_grad = sum_gradients(device, &grad, learned, &factor, &active, [rows, bins]);
        if of_weights {
            let per_row = weight_gradients(device, &batch, &outputs, &active, &sums_grad);
            sum_rows(device, per_row, rows, options.segments, &into.learned.weights, accumulate);
        }
        if !through_segments {
            continue;
        }
        // Back through the squares and the transform.
        let grad = weighted_gradient(device, &batch, &outputs, &learned.weights, &active, &sums_grad);
        let rows = BackwardRows {
            input: windowed.samples,
            grad,
            input_grad: ComplexRows::empty(&device.client, batch.values()),
            rows: batch.transforms(),
        };
        let sums = ButterflyGradients { twiddles: into.learned.twiddles.clone(), gates: into.learned.gates.clone() };
        transform.backward(device, &rows, &sums, accumulate)?;
        // Back through the window, whose output has no imaginary part.
        let windowed_grad = ComplexRows { im: None, ..rows.input_grad };
        if of_signal {
            let into = from_row(&into.signal, start, frames.len);
            signal_gradient(device, &batch, &learned.window, &windowed_grad, &into);
        }
        if of_window {
            let into = &into.learned.window;
            window_gradient(device, &batch, &windowed.means, &windowed_grad, into, accumulate);
        }
    }
    if of_window {
        add_scaling_gradient(device, &learned.window, &into.learned.window, options);
    }
    Ok(())
}
