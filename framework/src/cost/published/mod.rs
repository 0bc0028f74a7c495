//! The published estimates of Welch peaks, which decide where a device was not calibrated.
//!
//! Each way to compute peaks has an estimate of its own: the [host path](host), the [block path](block), whose
//! spectrum the host searches, and the [fused] operation. A [`Breakdown`] has all of them for one problem, with
//! the decision of the fusion gate and the path that is picked.

mod breakdown;
mod graphs;

pub use breakdown::{Breakdown, Path, PathEstimate, breakdown};
pub use graphs::{fused_graph, movements, spectrum_graph};

use super::{FusionDecision, LearnedSize, PeaksSize, Prediction};
use crate::movement::DataMovement;
use crate::profile::{DeviceProfile, Preset};

/// Share of the predicted time that the block path takes on a GPU.
const BLOCK_SHARE: f64 = 0.72;
/// Nanoseconds per peak that the host searches for on the block path of a GPU.
const BLOCK_SEARCH: f64 = 80.0;
/// Below this batch, a fused operation on a GPU takes at least [`LEAST_TIME`].
const LEAST_TIME_BATCH: usize = 512;
/// Least time of a fused operation of a small batch on a GPU, in nanoseconds.
const LEAST_TIME: f64 = 400_000.0;
/// Least estimate of a learned model, as a share of the fused time.
const LEAST_LEARNED_SCALE: f64 = 0.25;
/// From this batch on, host paths that are compared with a GPU grow by the logarithm of the batch.
const GROWTH_BATCH: f64 = 512.0;
/// From this batch on, they grow by the binary logarithm of the batch, too.
const STEEP_GROWTH_BATCH: f64 = 2048.0;
/// Beyond this batch, a single segment is no candidate on a GPU.
pub const MAX_ULTRA_BATCH: usize = 128;

/// Nanoseconds of a host that transforms every segment on its own and then searches each frame's spectrum.
///
/// Compared with a GPU (`device`), the estimate of a host path is increased with the batch.
pub fn host(size: &PeaksSize, device: &DeviceProfile) -> f64 {
    let io = Prediction::new(&size.host_movement(), &Preset::Cpu.profile()).total();
    let [gentle, steep] = device.peaks.host_growth;
    let batch = size.batch as f64;
    let mut growth = 1.0;
    if batch >= GROWTH_BATCH {
        growth *= 1.0 + gentle * (batch / GROWTH_BATCH).ln();
    }
    if batch > STEEP_GROWTH_BATCH {
        growth *= 1.0 + steep * (batch / STEEP_GROWTH_BATCH).log2();
    }
    io * growth
}

/// Nanoseconds of spectra on the device and peaks on the host.
pub fn block(size: &PeaksSize, device: &DeviceProfile) -> f64 {
    let io = Prediction::new(&movements(size, device)[0], device).total();
    if device.peaks.gpu { io * BLOCK_SHARE + BLOCK_SEARCH * (size.batch * size.k) as f64 } else { io }
}

/// Nanoseconds of the fused operation; `learned` is the share of its time that a learned model takes, 1 for the exact
/// operation.
pub fn fused(size: &PeaksSize, device: &DeviceProfile, learned: f64) -> f64 {
    let io = Prediction::new(&movements(size, device)[1], device).total();
    let scale = device.compute_factor * learned.clamp(LEAST_LEARNED_SCALE, 1.0);
    let least = if device.peaks.gpu && size.batch < LEAST_TIME_BATCH { LEAST_TIME } else { 0.0 };
    if scale >= 1.0 { (io * scale).max(io + least) } else { (io * scale).max(least) }
}

/// Share of the fused time that a learned model takes.
pub fn learned_scale(learned: &LearnedSize) -> f64 {
    0.30 + 0.70 * learned.open as f64 / learned.all as f64
}

/// Decision of the fusion gate between the two graphs, whose limit on slowdowns is on these estimates.
pub fn decide(size: &PeaksSize, device: &DeviceProfile) -> FusionDecision {
    let [spectrum, peaks] = movements(size, device);
    let decision = FusionDecision::new(device, spectrum, peaks, size.batch as u64);
    if is_viable(device) {
        decision.with_times(block(size, device), fused(size, device, 1.0))
    } else {
        FusionDecision { slowdown: None, ..decision }
    }
}

/// Whether fusing is considered on a device at all: on every GPU.
pub const fn is_viable(device: &DeviceProfile) -> bool {
    device.peaks.gpu
}

/// Data movement without the synchronisation of a host tail, which native kernels do not have.
const fn without_host_tail(movement: DataMovement) -> DataMovement {
    DataMovement { syncs: movement.syncs.saturating_sub(1), ..movement }
}

#[cfg(test)]
mod tests;
