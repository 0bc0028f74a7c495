//! Launches of windowing, power and their gradients.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::{
    self, Divisor, FrameShapeLaunch, SCALING_UNITS, Skipped, SumGradientBuffersLaunch, WindowInputLaunch,
    WindowOutputLaunch,
};
use super::plan::{CUBE_UNITS, SegmentBatch};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{GpuDevice, buffer, cubes, elements, empty, floats, hop_in_32_bits};
use crate::gpu::reduce::{MAX_ROW_BLOCKS, RowBlockShapeLaunch, RowBlocks, active_rows, sum_rows};
use crate::options::{Scaling, WelchOptions};

/// The input of the transforms, and the means that detrending subtracted.
#[derive(Debug, Clone)]
pub struct WindowedSegments {
    /// `[transforms, n]`; without imaginary parts unless segments are paired.
    pub samples: ComplexRows,
    /// `[rows, segments]`; uninitialised without detrending.
    pub means: Handle,
}

/// The segments that are 0 instead of windowed.
#[derive(Debug, Clone, Copy)]
pub struct Skip<'a> {
    /// Rows that are not active, by `[rows]` u32.
    pub rows: Option<&'a Handle>,
    /// Segments of weight 0, by `[segments]`.
    pub weights: Option<&'a Handle>,
}

impl Skip<'_> {
    /// Every segment is windowed.
    pub const NONE: Self = Self { rows: None, weights: None };
}

/// Windows the segments of a batch.
pub fn window_segments(
    device: &GpuDevice,
    batch: &SegmentBatch<'_>,
    window: &Handle,
    skip: Skip<'_>,
) -> WindowedSegments {
    let (client, layout, values) = (&device.client, batch.layout(), batch.values());
    let re = empty(client, values);
    let im = batch.paired.then(|| empty(client, values));
    let means = empty(client, batch.segments());
    let slots = batch.frames.rows * layout.slots() as usize;
    // Kernels do not access the buffers that are passed in place of missing ones.
    let none = empty(client, 1);
    kernel::window_segments::launch(
        client,
        cubes(device, slots.div_ceil(layout.cube_segments() as usize)),
        CubeDim::new_1d(CUBE_UNITS),
        WindowInputLaunch::new(
            batch.frames.buffer(),
            floats(window, batch.options.n_fft),
            skip.rows.map_or(buffer::<u32>(window, 1), |rows| buffer::<u32>(rows, batch.frames.rows)),
            skip.weights.map_or(floats(window, 1), |weights| floats(weights, batch.options.segments)),
        ),
        WindowOutputLaunch::new(
            floats(&re, values),
            im.as_ref().map_or(floats(&none, 1), |im| floats(im, values)),
            floats(&means, batch.segments()),
        ),
        slots as u32,
        batch.frames.stride as u32,
        hop_in_32_bits(batch.options.hop),
        Skipped { rows: skip.rows.is_some(), segments: skip.weights.is_some() },
        layout,
    );
    WindowedSegments { samples: ComplexRows { re, im }, means }
}

/// Power of each row from the outputs of its transforms, `[rows, bins]`: `factor` (one f32) times the sum over segments
/// of the one-sided squares, weighted by `weights` or, where there are none, averaged.
pub fn power(
    device: &GpuDevice,
    batch: &SegmentBatch<'_>,
    outputs: &ComplexRows,
    weights: Option<&Handle>,
    factor: &Handle,
    into: &Handle,
) {
    let (cubes, units) = elements(device, batch.bins());
    kernel::sum_squares::launch(
        &device.client,
        cubes,
        units,
        outputs.buffers(batch.values()),
        weights.map_or(floats(factor, 1), |weights| floats(weights, batch.options.segments)),
        floats(factor, 1),
        floats(into, batch.bins()),
        batch.frames.rows as u32,
        batch.layout(),
    );
}

/// Products of the bins of each row with the bins above from the outputs of its transforms, `[rows, bins − 1]`: `factor`
/// (one f32) times the weighted sum over segments of 2 Re X\[k\] X*\[k+1\].
pub fn neighbour_products(
    device: &GpuDevice,
    batch: &SegmentBatch<'_>,
    outputs: &ComplexRows,
    weights: &Handle,
    factor: &Handle,
) -> Handle {
    let len = batch.products();
    let into = empty(&device.client, len);
    let (cubes, units) = elements(device, len);
    kernel::sum_products::launch(
        &device.client,
        cubes,
        units,
        outputs.buffers(batch.values()),
        floats(weights, batch.options.segments),
        floats(factor, 1),
        floats(&into, len),
        batch.frames.rows as u32,
        batch.layout(),
    );
    into
}

/// Gradients of the weighted sums over segments of squares and of products.
#[derive(Debug, Clone)]
pub struct SumGradients {
    /// `[rows, bins]`.
    pub power: Handle,
    /// `[rows, bins − 1]`.
    pub products: Option<Handle>,
}

impl SumGradients {
    /// Both as a kernel argument.
    fn buffers(&self, batch: &SegmentBatch<'_>) -> SumGradientBuffersLaunch {
        let products = self.products.as_ref().map(|products| floats(products, batch.products()));
        let products = products.unwrap_or_else(|| floats(&self.power, 1));
        SumGradientBuffersLaunch::new(floats(&self.power, batch.bins()), products)
    }
}

/// The gradients of the outputs of the transforms of single segments, from those of the sums; 0 for segments of weight 0
/// and rows that are not active.
pub fn weighted_gradient(
    device: &GpuDevice,
    batch: &SegmentBatch<'_>,
    outputs: &ComplexRows,
    weights: &Handle,
    active: &Handle,
    grad: &SumGradients,
) -> ComplexRows {
    let into = ComplexRows::empty(&device.client, batch.values());
    let (cubes, units) = elements(device, batch.values());
    kernel::weight_bins::launch(
        &device.client,
        cubes,
        units,
        outputs.buffers(batch.values()),
        floats(weights, batch.options.segments),
        buffer::<u32>(active, batch.frames.rows),
        grad.buffers(batch),
        into.buffers(batch.values()),
        batch.frames.rows as u32,
        grad.products.is_some(),
        batch.layout(),
    );
    into
}

/// Multiplies the outputs of paired transforms by 2·factor·grad/segments, the filter by which the gradient of the
/// windowed samples is the inverse transform.
pub fn filter_by_gradient(
    device: &GpuDevice,
    batch: &SegmentBatch<'_>,
    outputs: &ComplexRows,
    factor: &Handle,
    grad: &Handle,
) {
    let (cubes, units) = elements(device, batch.values());
    kernel::filter_bins::launch(
        &device.client,
        cubes,
        units,
        outputs.buffers(batch.values()),
        floats(factor, 1),
        floats(grad, batch.bins()),
        batch.frames.rows as u32,
        batch.layout(),
    );
}

/// Per segment of every row, the sum over bins of gradient times square, and of gradient times product,
/// `[rows, segments]`: the row's part in the gradients of the weights. 0 for rows that are not active.
pub fn weight_gradients(
    device: &GpuDevice,
    batch: &SegmentBatch<'_>,
    outputs: &ComplexRows,
    active: &Handle,
    grad: &SumGradients,
) -> Handle {
    let layout = batch.layout();
    let into = empty(&device.client, batch.segments());
    kernel::sum_bins::launch(
        &device.client,
        cubes(device, batch.segments().div_ceil(layout.cube_segments() as usize)),
        CubeDim::new_1d(CUBE_UNITS),
        outputs.buffers(batch.values()),
        buffer::<u32>(active, batch.frames.rows),
        grad.buffers(batch),
        floats(&into, batch.segments()),
        batch.frames.rows as u32,
        grad.products.is_some(),
        layout,
    );
    into
}

/// The signal's gradient, `[rows, frame]`, from `grad`, that of the windowed segments in the order of
/// [`window_segments`]. Samples of no segment get 0.
pub fn signal_gradient(
    device: &GpuDevice,
    batch: &SegmentBatch<'_>,
    window: &Handle,
    grad: &ComplexRows,
    into: &Handle,
) {
    let (client, layout, values) = (&device.client, batch.layout(), batch.values());
    let means = empty(client, batch.segments());
    if layout.detrend {
        kernel::segment_means::launch(
            client,
            cubes(device, batch.segments().div_ceil(layout.cube_segments() as usize)),
            CubeDim::new_1d(CUBE_UNITS),
            grad.buffers(values),
            floats(window, batch.options.n_fft),
            floats(&means, batch.segments()),
            batch.segments() as u32,
            layout,
        );
    }
    let (cubes, units) = elements(device, batch.samples());
    kernel::overlap_add::launch(
        client,
        cubes,
        units,
        grad.buffers(values),
        floats(window, batch.options.n_fft),
        floats(&means, batch.segments()),
        floats(into, batch.samples()),
        frame_shape(batch, batch.frames.len),
        layout,
    );
}

/// The window's gradient through the windowed samples, `[n]`, on top of the contents of `into` if `accumulate`; `means`
/// are those that detrending subtracted.
pub fn window_gradient(
    device: &GpuDevice,
    batch: &SegmentBatch<'_>,
    means: &Handle,
    grad: &ComplexRows,
    into: &Handle,
    accumulate: bool,
) {
    let (client, n) = (&device.client, batch.options.n_fft);
    let active = active_rows(device, [&grad.re, grad.imaginary()], batch.transforms(), n);
    let blocks = RowBlocks::of(batch.frames.rows, n, MAX_ROW_BLOCKS);
    let partial = empty(client, blocks.count * n);
    let (cubes, units) = elements(device, blocks.count * n);
    kernel::window_sums::launch(
        client,
        cubes,
        units,
        batch.frames.buffer(),
        grad.buffers(batch.values()),
        buffer::<u32>(&active, batch.transforms()),
        floats(means, batch.segments()),
        floats(&partial, blocks.count * n),
        frame_shape(batch, batch.frames.stride),
        RowBlockShapeLaunch::new(blocks.count as u32, blocks.length as u32),
        batch.layout(),
    );
    sum_rows(device, partial, blocks.count, n, into, accumulate);
}

/// The shape of frames that start `stride` samples from each other.
fn frame_shape(batch: &SegmentBatch<'_>, stride: usize) -> FrameShapeLaunch {
    FrameShapeLaunch::new(batch.frames.rows as u32, stride as u32, hop_in_32_bits(batch.options.hop))
}

fn divisor(options: &WelchOptions) -> (Divisor, f32) {
    match options.scaling {
        Scaling::Power => (Divisor::One, 1.0),
        Scaling::Spectrum => (Divisor::SquaredSum, 1.0),
        Scaling::Density { sample_rate } => (Divisor::Energy, sample_rate as f32),
    }
}

/// The factor that the scaling puts on |X|², one f32.
pub fn scaling_factor(device: &GpuDevice, window: &Handle, options: &WelchOptions) -> Handle {
    let (client, n) = (&device.client, options.n_fft);
    let into = empty(client, 1);
    let (divisor, rate) = divisor(options);
    kernel::find_scaling_factor::launch(
        client,
        CubeCount::new_single(),
        CubeDim::new_1d(SCALING_UNITS),
        floats(window, n),
        floats(&into, 1),
        rate,
        n as u32,
        divisor,
    );
    into
}

/// Adds to `grad`, the window's gradient through the windowed samples alone, its part through the scaling.
pub fn add_scaling_gradient(device: &GpuDevice, window: &Handle, grad: &Handle, options: &WelchOptions) {
    let (divisor, _) = divisor(options);
    if divisor == Divisor::One {
        return;
    }
    let n = options.n_fft;
    kernel::add_scaling_gradient::launch(
        &device.client,
        CubeCount::new_single(),
        CubeDim::new_1d(SCALING_UNITS),
        floats(window, n),
        floats(grad, n),
        n as u32,
        divisor,
    );
}
