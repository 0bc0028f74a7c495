//! Mel spectra: in one launch, or by frames, transforms and bands in turn.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::filters::filters;
use super::kernel::{
    self, BandShapeLaunch, FrameSamplesArgs, MelFrameShapeLaunch, PairBuffersLaunch, SampleBuffersLaunch,
};
use super::plan::{BandPlan, FusedMelPlan, rows_per_launch};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{
    ALIGNMENT, DeviceLimitError, GpuDevice, buffer, cubes, elements, empty, floats, from_row, hop_in_32_bits, launch,
    pairs,
};
use crate::gpu::segments::DeviceFrames;
use crate::gpu::transform::plan_cache::prepared;
use crate::gpu::transform::{StridedRows, TransformCall, TransformKind, TransformProblem, transform};
use crate::options::{LogGuard, Logarithm, MelOptions};

/// f32 of scratch memory that the frames of a launch take, at most.
const SCRATCH: usize = 64 << 20;

/// Mel spectra of rows.
#[derive(Debug, Clone)]
pub struct MelCall<'a> {
    /// The rows; longer than a frame.
    pub rows: DeviceFrames,
    /// `[n_fft]`.
    pub window: &'a Handle,
    /// Frames and bands.
    pub options: &'a MelOptions,
    /// The logarithm that is taken.
    pub logarithm: Option<&'a Logarithm>,
}

/// Bands of every frame, `[rows, bands, frames]`, or their logarithms.
///
/// # Errors
/// If the device can't transform a frame.
pub fn mel(device: &GpuDevice, call: &MelCall<'_>, into: &Handle) -> Result<(), DeviceLimitError> {
    let per_row = call.options.bands.count * call.frames();
    let step = call.rows_per_launch();
    for start in (0..call.rows.rows).step_by(step) {
        let rows = call.rows.slice(start..call.rows.rows.min(start + step));
        let part = MelCall { rows, ..call.clone() };
        let into = from_row(into, start, per_row);
        if !part.launch_fused(device, &into)? {
            part.launch_separately(device, &into)?;
        }
    }
    Ok(())
}

/// Samples of rows, and the factors of a frame, as an argument of a launch that transforms frames: in pairs, where rows
/// are pairs and every frame starts with one, `starts` samples after another or after the start of its row.
pub(super) fn frame_samples(
    rows: &DeviceFrames,
    window: &Handle,
    starts: &[usize],
    plan: FusedMelPlan,
) -> FrameSamplesArgs {
    let n = plan.bands.n as usize;
    let is_paired = plan.is_by_halves() && starts.iter().all(|start| start.is_multiple_of(2));
    let paired = if is_paired { rows.pairs().zip(pairs(window, n)) } else { None };
    match paired {
        Some((signal, window)) => FrameSamplesArgs::Pairs(PairBuffersLaunch::new(signal, window)),
        None => FrameSamplesArgs::Single(SampleBuffersLaunch::new(rows.buffer(), floats(window, n))),
    }
}

impl MelCall<'_> {
    /// Frames of a row.
    pub(super) fn frames(&self) -> usize {
        self.options.stft.frames(self.rows.len)
    }

    /// Rows whose samples and frames a launch counts.
    pub(super) fn rows_per_launch(&self) -> usize {
        rows_per_launch(self.rows.row_values().max(self.options.bands.count.max(1) * self.frames()))
    }

    pub(super) fn plan(&self) -> BandPlan {
        BandPlan::new(self.options, self.logarithm)
    }

    /// Frames `first` to `first + count` of all rows as a kernel argument.
    pub(super) fn frame_shape(&self, first: usize, count: usize) -> MelFrameShapeLaunch {
        let stft = &self.options.stft;
        MelFrameShapeLaunch::new(
            self.frames() as u32,
            self.rows.len as u32,
            self.rows.stride as u32,
            hop_in_32_bits(stft.hop),
            stft.padding() as u32,
            stft.pad.constant(),
            first as u32,
            count as u32,
        )
    }

    /// The bands as a kernel argument.
    pub(super) fn band_shape(&self) -> BandShapeLaunch {
        let is_power = self.options.is_power();
        let (guard, factor) = self.logarithm.map_or((0.0, 1.0), |logarithm| {
            let (LogGuard::Offset(guard) | LogGuard::Floor(guard)) = logarithm.guard;
            (guard, logarithm.factor(is_power))
        });
        BandShapeLaunch::new(self.options.bands.count as u32, guard as f32, factor as f32)
    }

    /// The transform of frames to their spectra, or back, which has the other sign of the exponent.
    fn problem(&self, kind: TransformKind) -> TransformProblem {
        let conjugates = kind == TransformKind::RealInverse;
        TransformProblem { points: self.options.stft.n_fft, kind, is_padded: false, conjugates }
    }

    /// Computes bands in one launch, if the transform of a frame takes one.
    fn launch_fused(&self, device: &GpuDevice, into: &Handle) -> Result<bool, DeviceLimitError> {
        let prepared = prepared(device, self.problem(TransformKind::RealForward))?;
        let Some(plan) = FusedMelPlan::of(&prepared.plan.launches, self.plan(), device.limits.shared) else {
            return Ok(false);
        };
        let (frames, bands) = (self.rows.rows * self.frames(), self.options.bands.count);
        let filters = filters(device, self.options);
        let table = plan.launch.table_len() as usize;
        let sequences = plan.launch.layout.sequences as usize;
        // SAFETY: frames past the last one read what the last one reads, and store nothing; samples that are read are
        // within the rows, whose extent was checked as the argument was made. Loops are bounded by the filters.
        unsafe {
            launch!(
                device,
                kernel::mel_frames(
                    &device.client,
                    cubes(device, frames.div_ceil(sequences)),
                    CubeDim::new_1d(plan.launch.layout.cube_units()),
                    kernel::FrameInputLaunch::new(
                        frame_samples(
                            &self.rows,
                            self.window,
                            &[self.options.stft.hop, self.options.stft.padding()],
                            plan
                        ),
                        buffer::<[f32; 2]>(&prepared.tables[0], table),
                    ),
                    filters.of_bands.argument(),
                    floats(into, frames * bands),
                    self.frame_shape(0, frames),
                    self.band_shape(),
                    plan,
                )
            );
        }
        Ok(true)
    }

    /// Computes bands in a launch per step, for any length.
    fn launch_separately(&self, device: &GpuDevice, into: &Handle) -> Result<(), DeviceLimitError> {
        let filters = filters(device, self.options);
        for (first, count) in self.chunks() {
            let spectra = self.spectra(device, first, count)?;
            let bands = self.options.bands.count;
            let (cubes, units) = elements(device, count * bands);
            kernel::frame_bands::launch(
                &device.client,
                cubes,
                units,
                spectra.buffers(count * self.options.stft.bins()),
                filters.of_bands.argument(),
                floats(into, self.rows.rows * self.frames() * bands),
                self.frame_shape(first, count),
                self.band_shape(),
                self.plan(),
            );
        }
        Ok(())
    }

    /// First frame and number of frames of the launches that take all frames.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let frames = self.rows.rows * self.frames();
        // A multiple of the rows after which engines bind memory anew.
        let step = (SCRATCH / (2 * self.options.stft.n_fft + 2) / ALIGNMENT * ALIGNMENT).max(ALIGNMENT);
        (0..frames).step_by(step).map(move |first| (first, step.min(frames - first)))
    }

    /// Windowed frames, and their spectra `[count, bins]`.
    pub(super) fn spectra(
        &self,
        device: &GpuDevice,
        first: usize,
        count: usize,
    ) -> Result<ComplexRows, DeviceLimitError> {
        let (n, bins) = (self.options.stft.n_fft, self.options.stft.bins());
        let samples = empty(&device.client, count * n);
        let (cubes, units) = elements(device, count * n);
        kernel::window_frames::launch(
            &device.client,
            cubes,
            units,
            self.rows.buffer(),
            floats(self.window, n),
            floats(&samples, count * n),
            self.frame_shape(first, count),
            self.plan(),
        );
        let spectra = ComplexRows::empty(&device.client, count * bins);
        let from = StridedRows { values: ComplexRows { re: samples, im: None }, stride: n, len: n };
        let into = StridedRows { values: spectra.clone(), stride: bins, len: bins };
        let call =
            TransformCall { problem: self.problem(TransformKind::RealForward), rows: count, scale: 1.0, interior: 1.0 };
        transform(device, &call, &from, &into)?;
        Ok(spectra)
    }

    /// The adjoint of the transforms: gradients of windowed frames `[count, n]` from those of their spectra.
    pub(super) fn adjoint(
        &self,
        device: &GpuDevice,
        spectra: ComplexRows,
        count: usize,
    ) -> Result<Handle, DeviceLimitError> {
        let (n, bins) = (self.options.stft.n_fft, self.options.stft.bins());
        let samples = empty(&device.client, count * n);
        let from = StridedRows { values: spectra, stride: bins, len: bins };
        let into = StridedRows { values: ComplexRows { re: samples.clone(), im: None }, stride: n, len: n };
        // The sum over one side of the spectrum counts an interior bin once; the Hermitian sum counts it twice.
        let call =
            TransformCall { problem: self.problem(TransformKind::RealInverse), rows: count, scale: 1.0, interior: 0.5 };
        transform(device, &call, &from, &into)?;
        Ok(samples)
    }
}
