//! The check before dispatch: whether a device can run an operation's kernels at all.

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use burn_cubecl::CubeDevice;

use super::butterfly::{self, Propagation};
use super::device::{ALIGNMENT, DeviceLimit, DeviceLimitError, Limits, MAX_ELEMENTS, Result};
use super::transform::plan::{TransformKind, TransformProblem};
use super::transform::plan_cache::planned;
use super::{long_conv, mel, spectral_conv};
use crate::spectral_shape::SpectralShape;

/// Units of the largest cube whose size does not follow from the device's limits.
const FIXED_UNITS: usize = 256;

/// The shapes of a call, as far as they decide whether a device can run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    pub n: usize,
    /// Of butterflies whether they have gates; `None` for Fourier transforms of segments, and their adjoints.
    pub gated: Option<bool>,
    pub rows: usize,
    pub row_len: usize,
    pub transforms: usize,
}

/// Whether the device can run the kernels of an operation, forward and backward.
pub fn check(device: &CubeDevice, requirement: &Requirement) -> Result<()> {
    check_limits(&limits(device), requirement)
}

/// Whether the device can run transforms of `points` points over `rows` rows of `row_len` values, and their adjoints.
pub fn check_fft(device: &CubeDevice, points: usize, rows: usize, row_len: usize) -> Result<()> {
    let limits = limits(device);
    let mut largest = row_len.max(points);
    for kind in [TransformKind::Complex, TransformKind::RealForward] {
        let prepared = planned(&limits, TransformProblem::new(points, kind))?;
        largest = largest.max(prepared.scratch().0);
    }
    DeviceLimitError::unless(DeviceLimit::LaunchElements, rows.min(ALIGNMENT).saturating_mul(largest), MAX_ELEMENTS)
}

/// Whether the device can compute `bands` bands of `frames` frames of `n_fft` samples of `rows` rows of `samples`
/// samples, and their gradients.
pub fn check_mel(device: &CubeDevice, [rows, samples]: [usize; 2], [n_fft, frames, bands]: [usize; 3]) -> Result<()> {
    check_fft(device, n_fft, 1, n_fft)?;
    let largest = ALIGNMENT.saturating_mul(samples.max(frames));
    DeviceLimitError::unless(DeviceLimit::LaunchElements, largest, MAX_ELEMENTS)?;
    mel::check_bands(rows, frames, bands)
}

/// Whether the device can compute spectral convolutions of a shape, and their gradients.
pub fn check_spectral_conv(device: &CubeDevice, shape: &SpectralShape) -> Result<()> {
    let samples = shape.samples();
    for &points in &shape.points {
        check_fft(device, points, shape.batch * shape.inputs * (samples / points), points)?;
    }
    // Rows of tensors that are further apart than this are copied where launches don't count their values.
    spectral_conv::BatchPlan::of(shape, &[shape.points[shape.last()]]).map(|_| ())
}

/// Whether the device can convolve rows `[batch, channels, n]` with kernels of `taps` taps, and their gradients.
pub fn check_long_conv(device: &CubeDevice, [batch, channels, n]: [usize; 3], taps: usize) -> Result<()> {
    let plan = long_conv::LongConvPlan::of(n, taps.min(n), &limits(device))?;
    let values = batch.saturating_mul(n).max(2 * plan.points as usize).max(taps);
    DeviceLimitError::unless(DeviceLimit::LaunchElements, channels.saturating_mul(values), MAX_ELEMENTS)
}

/// The limits of a device, kept from the first call on: loading its client takes the lock of threads that launch kernels.
fn limits(device: &CubeDevice) -> Limits {
    static LIMITS: LazyLock<RwLock<HashMap<CubeDevice, Limits>>> = LazyLock::new(RwLock::default);
    if let Some(known) = LIMITS.read().unwrap_or_else(PoisonError::into_inner).get(device) {
        return *known;
    }
    let limits = Limits::of(&device.client());
    LIMITS.write().unwrap_or_else(PoisonError::into_inner).insert(device.clone(), limits);
    limits
}

pub(super) fn check_limits(limits: &Limits, requirement: &Requirement) -> Result<()> {
    let Requirement { n, gated, rows, row_len, transforms } = *requirement;
    DeviceLimitError::unless(DeviceLimit::UnitsPerCube, FIXED_UNITS, limits.units as usize)?;
    // Sums over the units of a cube exchange one value per unit.
    DeviceLimitError::unless(DeviceLimit::SharedMemory, FIXED_UNITS * size_of::<f32>(), limits.shared)?;
    match gated {
        None => {
            for kind in [TransformKind::RealForward, TransformKind::RealInverse] {
                let conjugates = kind == TransformKind::RealInverse;
                planned(limits, TransformProblem { conjugates, ..TransformProblem::new(n, kind) })?;
            }
        }
        Some(gated) => {
            for propagation in [Propagation::Forward, Propagation::Backward] {
                butterfly::launches(n.ilog2(), gated, limits, propagation)?;
            }
        }
    }
    // Batches are split, but never below `ALIGNMENT` rows, whose inputs and transforms a launch counts.
    let largest = row_len.max(transforms.saturating_mul(n));
    DeviceLimitError::unless(DeviceLimit::LaunchElements, rows.min(ALIGNMENT).saturating_mul(largest), MAX_ELEMENTS)
}
