//! Launches of learned Welch power and of the gain.

use cubecl::server::Handle;

use super::kernel;
use crate::gpu::butterfly::ButterflyTransform;
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice, buffer, chunks, elements, empty, floats, from_row};
use crate::gpu::reduce::{MAX_ROW_BLOCKS, RowBlockShapeLaunch, RowBlocks, sum_rows};
use crate::gpu::segments::{
    DeviceFrames, SegmentBatch, Skip, SumGradients, neighbour_products, power, scaling_factor, window_segments,
};
use crate::ops::PRODUCT_TAPS;
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
    /// `[bins, taps]`.
    pub gain: Handle,
    /// Factors of the gain per bin.
    pub taps: usize,
}

/// Inputs of the gain.
#[derive(Debug)]
pub(super) struct GainInputs {
    /// `[rows, bins]`.
    power: Handle,
    /// Products of bins with the bins above, `[rows, bins − 1]`, if the gain takes them.
    products: Option<Handle>,
}

impl GainInputs {
    /// Power, and products if the gain takes them, of a batch from the outputs of its transforms.
    pub fn of(
        device: &GpuDevice,
        batch: &SegmentBatch<'_>,
        outputs: &ComplexRows,
        learned: &LearnedWeights,
        factor: &Handle,
    ) -> Self {
        let into = empty(&device.client, batch.bins());
        power(device, batch, outputs, Some(&learned.weights), factor, &into);
        let has_products = learned.taps == PRODUCT_TAPS;
        let products = has_products.then(|| neighbour_products(device, batch, outputs, &learned.weights, factor));
        Self { power: into, products }
    }

    fn argument(&self, [rows, bins]: [usize; 2]) -> kernel::GainInputLaunch {
        let products = self.products.as_ref().map(|products| floats(products, rows * (bins - 1)));
        let power = floats(&self.power, rows * bins);
        kernel::GainInputLaunch::new(power, products.unwrap_or_else(|| floats(&self.power, 1)))
    }
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
    for chunk in chunks(device, frames.rows, 3 * transforms + 2 * bins, frames.row_values().max(transforms)) {
        let into = from_row(into, chunk.start, bins);
        let batch = SegmentBatch { frames: frames.slice(chunk), options, paired: false };
        let skip = Skip { rows: None, weights: Some(&learned.weights) };
        let windowed = window_segments(device, &batch, &learned.window, skip);
        let outputs = ComplexRows::empty(&device.client, batch.values());
        transform.forward(device, &windowed.samples, &outputs, batch.transforms())?;
        let inputs = GainInputs::of(device, &batch, &outputs, learned, &factor);
        apply_gain(device, &inputs, learned, &into, [batch.frames.rows, bins]);
    }
    Ok(())
}

/// Applies the gain to power of shape `[rows, bins]`.
fn apply_gain(
    device: &GpuDevice,
    inputs: &GainInputs,
    learned: &LearnedWeights,
    into: &Handle,
    [rows, bins]: [usize; 2],
) {
    let (cubes, units) = elements(device, rows * bins);
    kernel::apply_gain::launch(
        &device.client,
        cubes,
        units,
        inputs.argument([rows, bins]),
        floats(&learned.gain, learned.taps * bins),
        floats(into, rows * bins),
        rows as u32,
        bins as u32,
        learned.taps,
    );
}

/// The gradients of the weighted sums of squares and products, from `grad`, that of the power after the gain: its inputs
/// are those sums times `factor`, and times 2 for products and interior bins. 0 for rows that are not active.
pub(super) fn sum_gradients(
    device: &GpuDevice,
    grad: &Handle,
    learned: &LearnedWeights,
    factor: &Handle,
    active: &Handle,
    [rows, bins]: [usize; 2],
) -> SumGradients {
    let power = empty(&device.client, rows * bins);
    let has_products = learned.taps == PRODUCT_TAPS;
    let products = has_products.then(|| empty(&device.client, rows * (bins - 1)));
    // A buffer that is not written, where there are no products.
    let of_products = match &products {
        Some(products) => floats(products, rows * (bins - 1)),
        None => floats(&empty(&device.client, 1), 1),
    };
    let (cubes, units) = elements(device, rows * bins);
    kernel::gain_adjoint::launch(
        &device.client,
        cubes,
        units,
        floats(grad, rows * bins),
        floats(&learned.gain, learned.taps * bins),
        floats(factor, 1),
        buffer::<u32>(active, rows),
        kernel::GainInputLaunch::new(floats(&power, rows * bins), of_products),
        rows as u32,
        bins as u32,
        learned.taps,
    );
    SumGradients { power, products }
}

/// The gain's gradient `[bins, taps]`, on top of the contents of `into` if `accumulate`.
pub(super) fn gain_gradient(
    device: &GpuDevice,
    grad: &Handle,
    inputs: &GainInputs,
    active: &Handle,
    into: &LearnedWeights,
    [rows, bins]: [usize; 2],
    accumulate: bool,
) {
    let values = into.taps * bins;
    let blocks = RowBlocks::of(rows, values, MAX_ROW_BLOCKS);
    let partial = empty(&device.client, blocks.count * values);
    let (cubes, units) = elements(device, blocks.count * bins);
    kernel::gain_sums::launch(
        &device.client,
        cubes,
        units,
        floats(grad, rows * bins),
        inputs.argument([rows, bins]),
        buffer::<u32>(active, rows),
        floats(&partial, blocks.count * values),
        rows as u32,
        bins as u32,
        RowBlockShapeLaunch::new(blocks.count as u32, blocks.length as u32),
        into.taps,
    );
    sum_rows(device, partial, blocks.count, values, &into.gain, accumulate);
}
