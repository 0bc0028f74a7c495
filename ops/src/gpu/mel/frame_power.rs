//! Power of rows that are one frame each, in one launch.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::{self, FrameInputLaunch, MelFrameShapeLaunch};
use super::launch::frame_samples;
use super::plan::{BandForm, BandPlan, FusedMelPlan, RowPadding};
use crate::gpu::device::{DeviceLimitError, GpuDevice, buffer, cubes, floats, launch};
use crate::gpu::segments::DeviceFrames;
use crate::gpu::transform::plan_cache::prepared;
use crate::gpu::transform::{TransformKind, TransformProblem};

/// One-sided power `[rows, n / 2 + 1]` of the first `n` samples of every row times `window`, times `factor` (one f32)
/// if there is one. Returns whether the transform takes one launch; nothing is computed otherwise.
///
/// # Errors
/// If the device can't transform `n` samples.
pub fn row_power(
    device: &GpuDevice,
    rows: &DeviceFrames,
    n: usize,
    window: &Handle,
    factor: Option<&Handle>,
    into: &Handle,
) -> Result<bool, DeviceLimitError> {
    let problem = TransformProblem { points: n, kind: TransformKind::RealForward, is_padded: false, conjugates: false };
    let prepared = prepared(device, problem)?;
    let bands = BandPlan { n: n as u32, padding: RowPadding::None, is_power: true, form: BandForm::Sum };
    let Some(plan) = FusedMelPlan::of(&prepared.plan.launches, bands, device.limits.shared) else { return Ok(false) };
    let table = plan.launch.table_len() as usize;
    let sequences = plan.launch.layout.sequences as usize;
    // SAFETY: rows past the last one read what the last one reads, and store nothing; every row has `n` samples within
    // the extent that was checked as the argument was made. Loops have constant bounds.
    unsafe {
        launch!(
            device,
            kernel::row_power(
                &device.client,
                cubes(device, rows.rows.div_ceil(sequences)),
                CubeDim::new_1d(plan.launch.layout.cube_units()),
                FrameInputLaunch::new(
                    frame_samples(rows, window, &[], plan),
                    buffer::<[f32; 2]>(&prepared.tables[0], table),
                ),
                floats(factor.unwrap_or(window), 1),
                floats(into, rows.rows * (n / 2 + 1)),
                MelFrameShapeLaunch::new(1, n as u32, rows.stride as u32, 0, 0, 0.0, 0, rows.rows as u32),
                factor.is_some(),
                plan,
            )
        );
    }
    Ok(true)
}
