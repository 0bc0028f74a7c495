//! Launches of windowed segments, of their transforms, and of the gradients of both; the factor of a scaling; and power of
//! rows that are one frame each, in one launch.

use std::ops::Range;

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::frames::{self, FrameInputLaunch, FramePlan, FusedFramePlan};
use super::kernel::{self, Divisor, SCALING_UNITS, SegmentGradientLaunch, SegmentShapeLaunch};
use super::{CUBE_UNITS, DeviceFrames, RowPadding, SegmentPlan};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{
    GpuDevice, Result, buffer, elements, empty, floats, grid, hop_in_32_bits, launch, launch_checked, pairs,
};
use crate::gpu::reduce::{MAX_ROW_BLOCKS, RowBlocks, sum_rows};
use crate::gpu::signal::SignalArgs;
use crate::gpu::transform::plan_cache::prepared;
use crate::gpu::transform::{StridedRows, TransformCall, TransformKind, TransformProblem, transform};
use crate::options::{Scaling, WelchOptions};

/// Segments of rows in device memory, numbered over all rows.
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    pub rows: DeviceFrames,
    /// `[n]`.
    pub window: &'a Handle,
    /// Samples of a segment.
    pub n: usize,
    pub hop: usize,
    pub per_row: usize,
    /// Samples before a row that its first segment starts with.
    pub before: usize,
    /// What these are, and those behind a row.
    pub padding: RowPadding,
    pub constant: f32,
    pub detrend: bool,
}

#[derive(Debug, Clone)]
pub struct SegmentSpectra {
    /// `[count, bins]`.
    pub values: ComplexRows,
    /// The means that detrending subtracted, `[count]`.
    means: Option<Handle>,
}

impl Segments<'_> {
    pub fn count(&self) -> usize {
        self.rows.rows * self.per_row
    }

    const fn bins(&self) -> usize {
        self.n / 2 + 1
    }

    fn plan(&self) -> SegmentPlan {
        SegmentPlan { n: self.n as u32, padding: self.padding, detrend: self.detrend }
    }

    /// The segments `taken` as a kernel argument.
    pub fn shape(&self, taken: &Range<usize>) -> SegmentShapeLaunch {
        SegmentShapeLaunch::new(
            self.per_row as u32,
            self.rows.len as u32,
            self.rows.stride as u32,
            hop_in_32_bits(self.hop),
            self.before as u32,
            self.constant,
            taken.start as u32,
            taken.len() as u32,
        )
    }

    /// Means as a kernel argument; without detrending they are not read, and any buffer will do.
    fn means_argument(&self, means: Option<&Handle>, count: usize) -> BufferArg {
        means.map_or_else(|| floats(self.window, 1), |means| floats(means, count))
    }

    /// The means of `count` segments of `signal`, times the window if they are `is_weighted`; none without detrending.
    fn means(
        &self,
        device: &GpuDevice,
        signal: BufferArg,
        shape: SegmentShapeLaunch,
        count: usize,
        is_weighted: bool,
    ) -> Option<Handle> {
        let plan = self.plan();
        let cube_segments = plan.cube_segments() as usize;
        self.detrend.then(|| {
            let means = empty(&device.client, count);
            launch_checked!(kernel::segment_means(
                device,
                grid(device, count.div_ceil(cube_segments), CUBE_UNITS),
                signal,
                floats(self.window, self.n),
                floats(&means, count),
                shape,
                is_weighted,
                SegmentPlan { padding: if is_weighted { RowPadding::None } else { plan.padding }, ..plan },
            ));
            means
        })
    }

    /// Spectra of the segments `taken` times the window.
    pub fn spectra(&self, device: &GpuDevice, taken: &Range<usize>) -> Result<SegmentSpectra> {
        let (n, count) = (self.n, taken.len());
        let means = self.means(device, self.rows.buffer(), self.shape(taken), count, false);
        let samples = empty(&device.client, count * n);
        launch_checked!(kernel::window_segments(
            device,
            elements(device, count * n),
            self.rows.buffer(),
            floats(self.window, n),
            self.means_argument(means.as_ref(), count),
            floats(&samples, count * n),
            self.shape(taken),
            self.plan(),
        ));
        let values = ComplexRows::empty(&device.client, count * self.bins());
        let from = StridedRows::contiguous(ComplexRows::real(samples), n);
        let into = StridedRows::contiguous(values.clone(), self.bins());
        transform(device, &self.call(TransformKind::RealForward, count, 1.0), &from, &into)?;
        Ok(SegmentSpectra { values, means })
    }

    /// The adjoint of the transforms: gradients of windowed segments `[count, n]` from those of their spectra, whose
    /// interior bins are multiplied by `interior`.
    pub fn adjoint(&self, device: &GpuDevice, spectra: ComplexRows, count: usize, interior: f32) -> Result<Handle> {
        let samples = empty(&device.client, count * self.n);
        let from = StridedRows::contiguous(spectra, self.bins());
        let into = StridedRows::contiguous(ComplexRows::real(samples.clone()), self.n);
        // The Hermitian sum counts an interior bin twice, the sum over one side of the spectrum once.
        transform(device, &self.call(TransformKind::RealInverse, count, 0.5 * interior), &from, &into)?;
        Ok(samples)
    }

    /// The transform of segments to their spectra, or back, which has the other sign of the exponent.
    fn call(&self, kind: TransformKind, rows: usize, interior: f32) -> TransformCall {
        let conjugates = kind == TransformKind::RealInverse;
        let problem = TransformProblem { conjugates, ..TransformProblem::new(self.n, kind) };
        TransformCall { interior, ..TransformCall::new(problem, rows) }
    }

    /// The signal's gradient `[rows, samples]` from those of the windowed segments `taken`, on top of the contents of
    /// `into` if it `is_added`. Samples of no segment get 0.
    pub fn signal_gradient(
        &self,
        device: &GpuDevice,
        grad: &Handle,
        taken: &Range<usize>,
        into: &Handle,
        is_added: bool,
    ) {
        let (n, count, len) = (self.n, taken.len(), self.rows.len);
        let shape = SegmentShapeLaunch::new(1, n as u32, n as u32, 0, 0, 0.0, 0, count as u32);
        let means = self.means(device, floats(grad, count * n), shape, count, true);
        let row = taken.start / self.per_row;
        let rows = taken.end.div_ceil(self.per_row) - row;
        launch_checked!(kernel::add_segments(
            device,
            elements(device, rows * len),
            SegmentGradientLaunch::new(
                floats(grad, count * n),
                floats(self.window, n),
                self.means_argument(means.as_ref(), count),
            ),
            floats(into, self.rows.rows * len),
            self.shape(taken),
            row as u32,
            rows as u32,
            is_added,
            self.plan(),
        ));
    }

    /// The window's gradient `[n]` through the segments `taken`, on top of the contents of `into` if it `is_added`.
    pub fn window_gradient(
        &self,
        device: &GpuDevice,
        grad: &Handle,
        spectra: &SegmentSpectra,
        taken: &Range<usize>,
        into: &Handle,
        is_added: bool,
    ) {
        let (n, count) = (self.n, taken.len());
        let blocks = RowBlocks::of(count, n, MAX_ROW_BLOCKS);
        let partial = empty(&device.client, blocks.count * n);
        launch_checked!(kernel::window_sums(
            device,
            elements(device, blocks.count * n),
            self.rows.buffer(),
            floats(grad, count * n),
            self.means_argument(spectra.means.as_ref(), count),
            floats(&partial, blocks.count * n),
            self.shape(taken),
            blocks.argument(),
            self.plan(),
        ));
        sum_rows(device, partial, blocks.count, n, into, is_added);
    }
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
    launch_checked!(kernel::find_scaling_factor(
        device,
        (CubeCount::new_single(), CubeDim::new_1d(SCALING_UNITS)),
        floats(window, n),
        floats(&into, 1),
        rate,
        n as u32,
        divisor,
    ));
    into
}

/// Adds to `grad`, the window's gradient through the windowed samples alone, its part through the scaling.
pub fn add_scaling_gradient(device: &GpuDevice, window: &Handle, grad: &Handle, options: &WelchOptions) {
    let (divisor, _) = divisor(options);
    if divisor == Divisor::One {
        return;
    }
    let n = options.n_fft;
    launch_checked!(kernel::add_scaling_gradient(
        device,
        (CubeCount::new_single(), CubeDim::new_1d(SCALING_UNITS)),
        floats(window, n),
        floats(grad, n),
        n as u32,
        divisor,
    ));
}

/// Samples of rows, the factors of a frame, and a table as the argument of a launch that transforms frames: in pairs, where
/// rows are pairs and every frame starts with one, `starts` samples after another or after the start of its row.
pub fn frame_input(
    device: &GpuDevice,
    rows: &DeviceFrames,
    window: &Handle,
    starts: &[usize],
    table: &Handle,
    plan: FusedFramePlan,
) -> FrameInputLaunch {
    let n = plan.frame.n as usize;
    let is_paired = plan.is_by_halves() && starts.iter().all(|start| start.is_multiple_of(2));
    let (signal, window) = match if is_paired { rows.pairs().zip(pairs(window, n)) } else { None } {
        Some((signal, window)) => (SignalArgs::Pairs(signal), SignalArgs::Pairs(window)),
        None => (rows.signal(device), SignalArgs::Single(floats(window, n))),
    };
    FrameInputLaunch::new(signal, window, buffer::<[f32; 2]>(table, plan.launch.table_len() as usize))
}

/// One-sided power `[rows, n / 2 + 1]` of the first `n` samples of every row times `window`, times `factor` (one f32)
/// if there is one. Returns whether the transform takes one launch; nothing is computed otherwise.
pub fn row_power(
    device: &GpuDevice,
    rows: &DeviceFrames,
    n: usize,
    window: &Handle,
    factor: Option<&Handle>,
    into: &Handle,
) -> Result<bool> {
    let prepared = prepared(device, TransformProblem::new(n, TransformKind::RealForward))?;
    let frame = FramePlan { n: n as u32, padding: RowPadding::None, is_power: true };
    let Some(plan) = FusedFramePlan::of(&prepared.plan.launches, frame, rows.samples, device.limits.shared) else {
        return Ok(false);
    };
    let sequences = plan.launch.layout.sequences as usize;
    // SAFETY: rows past the last one read what the last one reads, and store nothing; every row has `n` samples within
    // the extent that was checked as the argument was made. Loops have constant bounds.
    unsafe {
        launch!(frames::row_power(
            device,
            grid(device, rows.rows.div_ceil(sequences), plan.launch.layout.cube_units()),
            frame_input(device, rows, window, &[], &prepared.tables[0], plan),
            floats(factor.unwrap_or(window), 1),
            floats(into, rows.rows * (n / 2 + 1)),
            SegmentShapeLaunch::new(1, n as u32, rows.stride as u32, 0, 0, 0.0, 0, rows.rows as u32),
            factor.is_some(),
            plan,
        ));
    }
    Ok(true)
}
