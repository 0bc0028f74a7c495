//! Launches of Welch power and peaks.

use std::f64::consts::TAU;
use std::ops::Range;

use cubecl::ir::AddressType;
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::exact_transform::ExactTransform;
use super::kernel::{self, LaunchShapeLaunch, WelchInputLaunch, WelchOutputArgs};
use super::layout::TransformLayout;
use super::plan::{Barrier, FusedWelchPlan, WelchProblem};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{
    DeviceLimitError, GpuDevice, cached, chunks, empty, floats, from_row, hop_in_32_bits, launch,
};
use crate::gpu::mel::row_power;
use crate::gpu::segments::{DeviceFrames, SegmentBatch, Skip, power, scaling_factor, window_segments};
use crate::gpu::top_k::{PeakBuffers, SearchedRows, top_k};
use crate::open_blocks::OpenBlocks;
use crate::options::{Detrend, Scaling, WelchOptions, has_butterflies};

/// One-sided Welch power of every row: `window` `[n_fft]` → `into` `[rows, bins]`, all f32 and contiguous.
///
/// # Errors
/// If the device can't transform `n_fft` samples.
pub fn welch_psd(
    device: &GpuDevice,
    frames: &DeviceFrames,
    window: &Handle,
    into: &Handle,
    options: &WelchOptions,
) -> Result<(), DeviceLimitError> {
    let bins = options.bins();
    let factor = factor_of(device, window, options);
    for chunk in chunks(device, frames.rows, 0, frames.row_values().max(bins)) {
        let frames = frames.slice(chunk.clone());
        let into = from_row(into, chunk.start, bins);
        let Some(plan) = fused_plan(device, options, frames.rows, 0, 0, OpenBlocks::ALL) else {
            separate_psd(device, &frames, window, &into, options)?;
            continue;
        };
        let output = WelchOutputArgs::Power(floats(&into, frames.rows * bins));
        Fused::of_welch(&frames, window, &factor, options, 0).launch(device, output, plan);
    }
    Ok(())
}

/// The `into.k` strongest bins of every row's Welch power. Ties go to the lower bin; what a row lacks is bin -1 with
/// power NaN.
///
/// # Errors
/// As [`welch_psd`].
pub fn welch_peaks(
    device: &GpuDevice,
    frames: &DeviceFrames,
    window: &Handle,
    into: &PeakBuffers,
    options: &WelchOptions,
) -> Result<(), DeviceLimitError> {
    let factor = factor_of(device, window, options);
    for chunk in chunks(device, frames.rows, 0, frames.row_values().max(options.bins())) {
        let frames = frames.slice(chunk.clone());
        let into = into.skip_rows(chunk.start);
        let Some(plan) = fused_plan(device, options, frames.rows, into.k, 0, OpenBlocks::ALL) else {
            let spectra = empty(&device.client, frames.rows * options.bins());
            separate_psd(device, &frames, window, &spectra, options)?;
            let searched = options.searched();
            let rows = SearchedRows { power: spectra, rows: frames.rows, stride: options.bins(), searched };
            top_k(device, &rows, &into);
            continue;
        };
        let output = WelchOutputArgs::Peaks(into.output(frames.rows));
        Fused::of_welch(&frames, window, &factor, options, into.k).launch(device, output, plan);
    }
    Ok(())
}

/// Whether every chunk of [`welch_peaks`] of these frames is one launch.
pub fn is_fused(device: &GpuDevice, frames: &DeviceFrames, options: &WelchOptions, k: usize) -> bool {
    let plan = |rows: usize| fused_plan(device, options, rows, k, 0, OpenBlocks::ALL);
    chunks(device, frames.rows, 0, frames.row_values().max(options.bins())).all(|chunk| plan(chunk.len()).is_some())
}

/// A Welch estimate of segments at even distances, with a gain of the bins.
#[derive(Debug, Clone, Copy)]
pub struct GainedEstimate<'a> {
    /// `[n_fft]`.
    pub window: &'a Handle,
    /// `[bins, taps]`.
    pub gain: &'a Handle,
    /// Factors of the gain per bin.
    pub taps: usize,
    /// The blocks of bins that are searched.
    pub open: OpenBlocks,
    /// Samples of a frame before the first segment.
    pub first: usize,
    /// The estimate from there on.
    pub options: WelchOptions,
}

/// The strongest bins of a gained estimate, as [`welch_peaks`], in one launch. Returns whether there is a plan for one;
/// nothing is computed otherwise.
pub fn gained_peaks(
    device: &GpuDevice,
    frames: &DeviceFrames,
    estimate: &GainedEstimate<'_>,
    into: &PeakBuffers,
) -> bool {
    let &GainedEstimate { window, gain, taps, open, first, options } = estimate;
    let chunks = || chunks(device, frames.rows, 0, frames.row_values().max(options.bins()));
    let plan = |rows: usize| fused_plan(device, &options, rows, into.k, taps, open);
    if !chunks().all(|chunk| plan(chunk.len()).is_some()) {
        return false;
    }
    let factor = factor_of(device, window, &options);
    for chunk in chunks() {
        let frames = frames.slice(chunk.clone());
        let into = into.skip_rows(chunk.start);
        let output = WelchOutputArgs::Peaks(into.output(frames.rows));
        let fused = Fused::of_welch(&frames, window, &factor, &options, into.k);
        if let Some(plan) = plan(frames.rows) {
            Fused { gain: Some(gain), first, ..fused }.launch(device, output, plan);
        }
    }
    true
}

/// [`welch_psd`] of lengths that [`FusedWelchPlan`] has no plan for: in one launch of the transform of any length where
/// there is one segment that fits a cube, else in a launch per step.
fn separate_psd(
    device: &GpuDevice,
    frames: &DeviceFrames,
    window: &Handle,
    into: &Handle,
    options: &WelchOptions,
) -> Result<(), DeviceLimitError> {
    let is_one = options.segments == 1 && options.detrend == Detrend::None && !has_butterflies(options.n_fft);
    let factor = is_scaled(options).then(|| scaling_factor(device, window, options));
    if is_one && row_power(device, frames, options.n_fft, window, factor.as_ref(), into)? {
        return Ok(());
    }
    segmented_psd(device, frames, window, into, options)
}

/// [`welch_psd`] in a launch per step, for any length and device.
fn segmented_psd(
    device: &GpuDevice,
    frames: &DeviceFrames,
    window: &Handle,
    into: &Handle,
    options: &WelchOptions,
) -> Result<(), DeviceLimitError> {
    let transforms = options.segments.div_ceil(2) * options.n_fft;
    let transform = ExactTransform::new(device, options.n_fft);
    let factor = scaling_factor(device, window, options);
    for chunk in chunks(device, frames.rows, 4 * transforms, frames.row_values().max(transforms)) {
        let batch = SegmentBatch { frames: frames.slice(chunk.clone()), options, paired: true };
        let windowed = window_segments(device, &batch, window, Skip::NONE);
        let outputs = ComplexRows::empty(&device.client, batch.values());
        transform.forward(device, &windowed.samples, &outputs, batch.transforms())?;
        let into = from_row(into, chunk.start, options.bins());
        power(device, &batch, &outputs, None, &factor, &into);
    }
    Ok(())
}

/// The factor of the scaling on the device; a factor of 1 is not read, so any buffer will do.
fn factor_of(device: &GpuDevice, window: &Handle, options: &WelchOptions) -> Handle {
    if is_scaled(options) { scaling_factor(device, window, options) } else { window.clone() }
}

/// Whether the scaling multiplies power by a factor other than 1.
fn is_scaled(options: &WelchOptions) -> bool {
    options.scaling != Scaling::Power
}

/// The plan of one launch, for a length that has butterflies.
fn fused_plan(
    device: &GpuDevice,
    options: &WelchOptions,
    rows: usize,
    k: usize,
    gain_taps: usize,
    open: OpenBlocks,
) -> Option<FusedWelchPlan> {
    if !has_butterflies(options.n_fft) {
        return None;
    }
    let call = WelchProblem {
        n: options.n_fft as u32,
        hop: hop_in_32_bits(options.hop),
        summed: 1 << options.halvings,
        segments: options.segments as u32,
        detrend: options.detrend == Detrend::Constant,
        scaled: is_scaled(options),
        gain_taps,
        rows: rows as u32,
        k: k as u32,
        searched: options.searched().len() as u32,
        open,
    };
    FusedWelchPlan::of(call, &device.limits)
}

/// The inputs of one fused launch.
struct Fused<'a> {
    frames: &'a DeviceFrames,
    window: &'a Handle,
    factor: &'a Handle,
    /// `[bins, taps]`, where the plan has a gain.
    gain: Option<&'a Handle>,
    /// Samples of a row before its first segment.
    first: usize,
    hop: usize,
    /// Peaks per row; 0 for the power of every bin.
    k: usize,
    /// The bins among which they are searched.
    searched: Range<usize>,
}

impl<'a> Fused<'a> {
    /// Welch's estimate of all segments.
    fn of_welch(
        frames: &'a DeviceFrames,
        window: &'a Handle,
        factor: &'a Handle,
        options: &WelchOptions,
        k: usize,
    ) -> Self {
        Self { frames, window, factor, gain: None, first: 0, hop: options.hop, k, searched: options.searched() }
    }

    fn launch(&self, device: &GpuDevice, output: WelchOutputArgs, plan: FusedWelchPlan) {
        let DeviceFrames { rows, stride, .. } = self.frames;
        let table = twiddle_table(device, plan.layout);
        let input = WelchInputLaunch::new(
            self.frames.buffer(),
            floats(self.window, plan.layout.n as usize),
            floats(&table, 2 * plan.layout.table_len()),
            floats(self.factor, 1),
            // A gain that is not read: any buffer will do.
            floats(self.gain.unwrap_or(self.factor), plan.gain_len().max(1)),
        );
        let (lowest, searched) = (self.searched.start, self.searched.len());
        let lengths = [*rows, *stride, self.first, self.hop, self.k, lowest, searched].map(|length| length as u32);
        let [rows, stride, first, hop, k, lowest, searched] = lengths;
        // An access adds a constant distance to an address of 64 bits at no cost, and to one of 32 bits by two instructions.
        // Rows of whole cubes keep short ones: nothing was gained there.
        let is_long = plan.barrier == Barrier::Plane && device.client.properties().supports_address(AddressType::U64);
        let addresses = if is_long { AddressType::U64 } else { AddressType::U32 };
        let shape = LaunchShapeLaunch::new(rows, stride, first, hop, k, lowest, searched, f32::NAN);
        // SAFETY: every index is within the lengths that were checked as the arguments were made, and every loop ends.
        unsafe {
            launch!(
                device,
                kernel::welch(
                    &device.client,
                    CubeCount::new_1d(plan.cubes(rows, &device.limits)),
                    CubeDim::new_1d(plan.team * plan.teams),
                    addresses,
                    input,
                    output,
                    shape,
                    plan,
                )
            );
        }
    }
}

/// The twiddles of a layout on the device: [`twiddles`].
fn twiddle_table(device: &GpuDevice, layout: TransformLayout) -> Handle {
    cached(device, "twiddles", [layout.n, layout.values], || twiddles(layout))
}

/// exp(-2πi·j·m / (before·radix)) of every pass but the first, for m below its radix and j below `before`, j fastest;
/// real and imaginary parts in turn.
fn twiddles(layout: TransformLayout) -> Vec<f32> {
    let mut table = Vec::new();
    for pass in 1..layout.passes() {
        let (radix, before) = (layout.radix(pass), layout.before(pass));
        for m in 0..radix {
            for j in 0..before {
                let angle = -TAU * f64::from(j * m) / f64::from(before * radix);
                table.extend([angle.cos() as f32, angle.sin() as f32]);
            }
        }
    }
    if table.is_empty() {
        // A buffer is never empty.
        table.extend([1.0, 0.0]);
    }
    table
}
