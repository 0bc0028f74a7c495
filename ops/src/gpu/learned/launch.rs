//! Launches of learned Welch power and of the gain.

use cubecl::server::Handle;

use super::kernel;
use crate::gpu::butterfly::ButterflyTransform;
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice, buffer, chunks, elements, empty, floats, from_row};
use crate::gpu::reduce::{MAX_ROW_BLOCKS, RowBlockShapeLaunch, RowBlocks, sum_rows};
use crate::gpu::segments::{DeviceFrames, SegmentBatch, Skip, power, scaling_factor, window_segments};
use crate::ops::GAIN_TAPS;
use crate::options::WelchOptions;

/// The parameters of a learned estimate, or their gradients.
#[derive(Debug, Clone)]
pub struct LearnedWeights {
    /// `[n_fft]`.
    pub window: Handle,
    /// `[log2 n_fft, n_fft/2, 2]`.
    pub twiddles: Handle,
    /// `[log2 n_fft, n_fft/2]`.
    pub gates: Handle,
    /// Weights of segments, `[segments]`.
    pub weights: Handle,
    /// `[bins, 3]`.
    pub gain: Handle,
}

impl LearnedWeights {
    /// The transform of length `n`.
    pub(super) fn transform(&self, n: usize) -> ButterflyTransform {
        ButterflyTransform::new(n, self.twiddles.clone(), Some(self.gates.clone()))
    }
}

/// Learned Welch power of every row → `into` `[rows, bins]`.
///
/// # Errors
/// If the device can't transform `n_fft` samples.
pub fn learned_welch_psd(
    device: &GpuDevice,
    frames: &DeviceFrames,
    learned: &LearnedWeights,
    into: &Handle,
    options: &WelchOptions,
) -> Result<(), DeviceLimitError> {
    let (n, bins) = (options.n_fft, options.bins());
    let transforms = options.segments * n;
    let factor = scaling_factor(device, &learned.window, options);
    let transform = learned.transform(n);
    for chunk in chunks(device, frames.rows, 3 * transforms + bins, frames.row_values().max(transforms)) {
        let into = from_row(into, chunk.start, bins);
        let batch = SegmentBatch { frames: frames.slice(chunk), options, paired: false };
        let skip = Skip { rows: None, weights: Some(&learned.weights) };
        let windowed = window_segments(device, &batch, &learned.window, skip);
        let outputs = ComplexRows::empty(&device.client, batch.values());
        transform.forward(device, &windowed.samples, &outputs, batch.transforms())?;
        let ungained = empty(&device.client, batch.bins());
        power(device, &batch, &outputs, Some(&learned.weights), &factor, &ungained);
        apply_gain(device, &ungained, &learned.gain, &into, [batch.frames.rows, bins]);
    }
    Ok(())
}

/// Applies the gain to `power` of shape `[rows, bins]`.
fn apply_gain(device: &GpuDevice, power: &Handle, gain: &Handle, into: &Handle, [rows, bins]: [usize; 2]) {
    let (cubes, units) = elements(device, rows * bins);
    kernel::apply_gain::launch(
        &device.client,
        cubes,
        units,
        floats(power, rows * bins),
        floats(gain, GAIN_TAPS * bins),
        floats(into, rows * bins),
        rows as u32,
        bins as u32,
    );
}

/// The gradient of the weighted sums of squares, `[rows, bins]`, from `grad`, that of the power after the gain: power
/// is those sums times `factor`, and times 2 for interior bins. 0 for rows that are not active.
pub(super) fn sum_gradient(
    device: &GpuDevice,
    grad: &Handle,
    gain: &Handle,
    factor: &Handle,
    active: &Handle,
    [rows, bins]: [usize; 2],
) -> Handle {
    let into = empty(&device.client, rows * bins);
    let (cubes, units) = elements(device, rows * bins);
    kernel::gain_adjoint::launch(
        &device.client,
        cubes,
        units,
        floats(grad, rows * bins),
        floats(gain, GAIN_TAPS * bins),
        floats(factor, 1),
        buffer::<u32>(active, rows),
        floats(&into, rows * bins),
        rows as u32,
        bins as u32,
    );
    into
}

/// The gain's gradient `[bins, 3]`, on top of the contents of `into` if `accumulate`.
pub(super) fn gain_gradient(
    device: &GpuDevice,
    grad: &Handle,
    power: &Handle,
    active: &Handle,
    into: &Handle,
    [rows, bins]: [usize; 2],
    accumulate: bool,
) {
    let blocks = RowBlocks::of(rows, GAIN_TAPS * bins, MAX_ROW_BLOCKS);
    let partial = empty(&device.client, blocks.count * GAIN_TAPS * bins);
    let (cubes, units) = elements(device, blocks.count * bins);
    kernel::gain_sums::launch(
        &device.client,
        cubes,
        units,
        floats(grad, rows * bins),
        floats(power, rows * bins),
        buffer::<u32>(active, rows),
        floats(&partial, blocks.count * GAIN_TAPS * bins),
        rows as u32,
        bins as u32,
        RowBlockShapeLaunch::new(blocks.count as u32, blocks.length as u32),
    );
    sum_rows(device, partial, blocks.count, GAIN_TAPS * bins, into, accumulate);
}
