//! Launches of Welch power and peaks, and of the gradients of power.
//!
//! With respect to a segment's windowed samples the gradient is the Hermitian sum Σ_k G\[k\]·e^(2πi jk/n) over all k, with
//! G\[k\] = 2·factor·grad\[k\]·X\[k\] and the neighbours' parts where the gain takes products.

use std::ops::Range;

use cubecl::ir::AddressType;
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::{self, LaunchShapeLaunch, WelchInputLaunch, WelchOutputArgs};
use super::plan::{FusedWelchPlan, WelchProblem};
use super::row_spectra::{RowGain, RowSpectra, SumGradients, UngainedPower};
use crate::gpu::device::{GpuDevice, Result, buffer, chunks, empty, floats, from_row, hop_in_32_bits, launch};
use crate::gpu::segments::{DeviceFrames, add_scaling_gradient, row_power, scaling_factor};
use crate::gpu::top_k::{PeakBuffers, SearchedRows, top_k};
use crate::gpu::transform::launch_plan::Barrier;
use crate::gpu::transform::plan_cache::table_of;
use crate::options::{Detrend, Scaling, WelchOptions, has_butterflies};

/// A Welch estimate in device memory: all segments that its options name, which are evenly spaced.
#[derive(Debug, Clone, Copy)]
pub struct DeviceEstimate<'a> {
    /// `[n_fft]`.
    pub window: &'a Handle,
    /// Gain of the bins, if they have one.
    pub gain: Option<&'a RowGain>,
    /// Samples of a frame before the first segment; not 0 only where there is a [`fused_plan`].
    pub first: usize,
    /// The segments from there on, scaling, detrending and band.
    pub options: &'a WelchOptions,
}

/// One-sided power of every row → `into` `[rows, bins]`, contiguous f32: by its [`fused_plan`], or by steps without one.
pub fn welch_psd(
    device: &GpuDevice,
    frames: &DeviceFrames,
    estimate: &DeviceEstimate<'_>,
    plan: Option<FusedWelchPlan>,
    into: &Handle,
) -> Result<()> {
    let bins = estimate.options.bins();
    let fused = plan.map(|plan| Fused::new(device, estimate, plan, 0));
    for chunk in row_chunks(device, frames, estimate.options) {
        let (frames, into) = (frames.slice(chunk.clone()), from_row(into, chunk.start, bins));
        match &fused {
            Some(fused) => fused.launch(device, &frames, WelchOutputArgs::Power(floats(&into, frames.rows * bins))),
            None => separate_psd(device, &frames, estimate, &into)?,
        }
    }
    Ok(())
}

/// The `into.k` strongest bins of every row, by the [`fused_plan`] for them, or by steps without one. Ties go to the lower
/// bin; what a row lacks is bin -1 with power NaN.
pub fn welch_peaks(
    device: &GpuDevice,
    frames: &DeviceFrames,
    estimate: &DeviceEstimate<'_>,
    plan: Option<FusedWelchPlan>,
    into: &PeakBuffers,
) -> Result<()> {
    let options = estimate.options;
    let fused = plan.map(|plan| Fused::new(device, estimate, plan, into.k));
    for chunk in row_chunks(device, frames, options) {
        let (frames, into) = (frames.slice(chunk.clone()), into.skip_rows(chunk.start));
        if let Some(fused) = &fused {
            fused.launch(device, &frames, WelchOutputArgs::Peaks(into.output(frames.rows)));
            continue;
        }
        let power = empty(&device.client, frames.rows * options.bins());
        separate_psd(device, &frames, estimate, &power)?;
        let searched = options.searched();
        top_k(device, &SearchedRows { power, rows: frames.rows, stride: options.bins(), searched }, &into);
    }
    Ok(())
}

fn row_chunks(
    device: &GpuDevice,
    frames: &DeviceFrames,
    options: &WelchOptions,
) -> impl Iterator<Item = Range<usize>> + use<> {
    chunks(device, frames.rows, 0, frames.row_values().max(options.bins()))
}

/// The plan of one launch for all frames, or for as many as a launch takes, if segments of that length have one: for `k`
/// peaks, or for power where `k` is 0, with a gain of `taps` factors per bin, or none where it is 0.
pub fn fused_plan(
    device: &GpuDevice,
    frames: &DeviceFrames,
    options: &WelchOptions,
    k: usize,
    gain_taps: usize,
) -> Option<FusedWelchPlan> {
    if !has_butterflies(options.n_fft) {
        return None;
    }
    let rows = row_chunks(device, frames, options).next()?.len();
    let call = WelchProblem {
        samples: frames.samples,
        n: options.n_fft as u32,
        hop: hop_in_32_bits(options.hop),
        segments: options.segments as u32,
        detrend: options.detrend == Detrend::Constant,
        scaled: is_scaled(options),
        gain_taps,
        rows: rows as u32,
        k: k as u32,
        searched: options.searched().len() as u32,
    };
    FusedWelchPlan::of(call, &device.limits)
}

/// [`welch_psd`] without a [`fused_plan`]: in one launch of the transform of any length where there is one
/// segment that fits a cube, else in a launch per step.
fn separate_psd(device: &GpuDevice, frames: &DeviceFrames, estimate: &DeviceEstimate<'_>, into: &Handle) -> Result<()> {
    let &DeviceEstimate { window, gain, options, .. } = estimate;
    if options.segments == 1 && options.detrend == Detrend::None && gain.is_none() {
        let factor = is_scaled(options).then(|| scaling_factor(device, window, options));
        if row_power(device, frames, options.n_fft, window, factor.as_ref(), into)? {
            return Ok(());
        }
    }
    let (samples, bins) = (options.segments * options.n_fft, options.bins());
    let factor = scaling_factor(device, window, options);
    // Windowed samples, their spectra, and power and products before a gain.
    let scratch = 2 * samples + 2 * options.segments + if gain.is_some() { 2 * bins } else { 0 };
    for chunk in chunks(device, frames.rows, scratch, frames.row_values().max(samples)) {
        let into = from_row(into, chunk.start, bins);
        let spectra = RowSpectra::new(device, frames.slice(chunk), estimate, &factor)?;
        match gain {
            Some(gain) => UngainedPower::new(device, &spectra, gain).apply(gain, &into),
            None => spectra.power(&into),
        }
    }
    Ok(())
}

/// Whether the scaling multiplies power by a factor other than 1.
fn is_scaled(options: &WelchOptions) -> bool {
    options.scaling != Scaling::Power
}

/// An estimate in one launch per chunk of rows.
struct Fused<'a> {
    estimate: &'a DeviceEstimate<'a>,
    plan: FusedWelchPlan,
    table: Handle,
    factor: Handle,
    /// Peaks per row; 0 for the power of every bin.
    k: usize,
}

impl<'a> Fused<'a> {
    fn new(device: &GpuDevice, estimate: &'a DeviceEstimate<'a>, plan: FusedWelchPlan, k: usize) -> Self {
        let &DeviceEstimate { window, options, .. } = estimate;
        // A factor of 1 is not read, so any buffer will do.
        let factor = if is_scaled(options) { scaling_factor(device, window, options) } else { window.clone() };
        Self { estimate, plan, table: table_of(device, &plan.launch), factor, k }
    }

    fn launch(&self, device: &GpuDevice, frames: &DeviceFrames, output: WelchOutputArgs) {
        let &Self { estimate, plan, k, .. } = self;
        let &DeviceEstimate { window, gain, first, options } = estimate;
        let input = WelchInputLaunch::new(
            frames.signal(device),
            floats(window, plan.n() as usize),
            buffer::<[f32; 2]>(&self.table, plan.launch.table_len() as usize),
            floats(&self.factor, 1),
            // A gain that is not read: any buffer will do.
            floats(gain.map_or(&self.factor, |gain| &gain.factors), plan.gain_len().max(1)),
        );
        let (lowest, searched) = (options.searched().start, options.searched().len());
        let lengths = [frames.rows, frames.stride, frames.skipped + first, options.hop, k, lowest, searched];
        let [rows, stride, first, hop, k, lowest, searched] = lengths.map(|length| length as u32);
        // An access adds a constant distance to an address of 64 bits at no cost, and to one of 32 bits by two instructions.
        // Rows of whole cubes keep short ones: nothing was gained there.
        let is_long =
            plan.launch.barrier == Barrier::Plane && device.client.properties().supports_address(AddressType::U64);
        let addresses = if is_long { AddressType::U64 } else { AddressType::U32 };
        let shape = LaunchShapeLaunch::new(rows, stride, first, hop, k, lowest, searched, f32::NAN);
        // SAFETY: every index is within the lengths that were checked as the arguments were made, and every loop ends.
        unsafe {
            launch!(kernel::welch(
                device,
                (CubeCount::new_1d(plan.cubes(rows, &device.limits)), CubeDim::new_1d(plan.team * plan.teams)),
                addresses,
                input,
                output,
                shape,
                plan,
            ));
        }
    }
}

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
pub fn welch_psd_backward(
    device: &GpuDevice,
    frames: &DeviceFrames,
    estimate: &DeviceEstimate<'_>,
    grad: &Handle,
    into: &WelchGradients,
) -> Result<()> {
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
