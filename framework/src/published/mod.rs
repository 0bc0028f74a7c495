//! The published system: constants per kind of device, estimates of Welch peaks, rules and names. They decide where a
//! device was not calibrated.
//!
//! A [`Preset`] has the constants. Each way to compute peaks has an estimate of its own: the host path, the block path,
//! whose spectrum the host searches, and the fused operation. A [`Breakdown`] has all of them for one problem, with the
//! decision of the fusion gate and the path that is picked. [`PublishedStrategy`] are the names that strategies have; one
//! of them stands for thresholds on the batch, which decided before there were estimates.

mod names;
mod preset;
mod rules;

pub use names::{PUBLISHED_STRATEGIES, PublishedStrategy, SEGMENT_NAMES, segments_label};
pub use preset::Preset;
pub use rules::{Breakdown, PATHS, PathEstimate, breakdown};
pub(crate) use rules::{by_thresholds, select};

use crate::cost::{FusionDecision, Prediction};
use crate::movement::DataMovement;
use crate::picker::{LearnedSize, PeaksSize, SAMPLE_BYTES, Strategy};
use crate::profile::DeviceProfile;

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
pub(crate) const MAX_ULTRA_BATCH: usize = 128;

/// Data movement of the two published graphs: of segments that are windowed, completed to complex values and transformed,
/// and of the same with peaks found in the spectrum, in a tail that the host runs.
pub(crate) const fn movements(size: &PeaksSize) -> [DataMovement; 2] {
    let (samples, peaks) = (size.segment_samples() * SAMPLE_BYTES, size.peaks_bytes());
    let spectrum = DataMovement { launches: 3, syncs: 0, host_output: 2 * samples, traffic: 11 * samples };
    [spectrum, DataMovement { launches: 4, syncs: 1, host_output: peaks, traffic: 13 * samples + peaks }]
}

/// Nanoseconds of a host that transforms every segment on its own and then searches each frame's spectrum.
///
/// Compared with a GPU (`device`), the estimate of a host path is increased with the batch.
pub(crate) fn host(size: &PeaksSize, device: &DeviceProfile) -> f64 {
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
pub(crate) fn block(size: &PeaksSize, device: &DeviceProfile) -> f64 {
    let io = Prediction::new(&movements(size)[0], device).total();
    if device.peaks.gpu { io * BLOCK_SHARE + BLOCK_SEARCH * (size.batch * size.k) as f64 } else { io }
}

/// Nanoseconds of the fused operation; `learned` is the share of its time that a learned model takes, 1 for the exact
/// operation.
pub(crate) fn fused(size: &PeaksSize, device: &DeviceProfile, learned: f64) -> f64 {
    let io = Prediction::new(&movements(size)[1], device).total();
    let scale = device.compute_factor * learned.clamp(LEAST_LEARNED_SCALE, 1.0);
    let least = if device.peaks.gpu && size.batch < LEAST_TIME_BATCH { LEAST_TIME } else { 0.0 };
    if scale >= 1.0 { (io * scale).max(io + least) } else { (io * scale).max(least) }
}

/// Share of the fused time that a learned model takes.
pub(crate) fn learned_scale(learned: &LearnedSize) -> f64 {
    0.30 + 0.70 * learned.open as f64 / learned.all as f64
}

/// Nanoseconds of a strategy for frames in host memory or on a device; of a learned model with every gate open.
pub(crate) fn estimate(strategy: Strategy, size: &PeaksSize, on_host: bool, device: &DeviceProfile) -> f64 {
    match strategy {
        Strategy::Host => host(size, device),
        // The operation runs on the host, as the host path does.
        Strategy::Fused | Strategy::Learned if on_host => host(size, device),
        Strategy::Fused | Strategy::Learned => fused(size, device, 1.0),
        // The same with spectra in memory, which are searched in a second pass.
        Strategy::Spectrum if on_host => {
            let power = size.batch as u64 * size.options.bins() as u64 * SAMPLE_BYTES;
            host(size, device) + power as f64 / device.scan_bandwidth
        }
        Strategy::Spectrum => block(size, device),
    }
}

/// Decision of the fusion gate between the two graphs, whose limit on slowdowns is on these estimates. Where the device
/// has a native kernel for the batch, the synchronisation of the host's tail counts as no cost of fusing.
pub(crate) fn decide(size: &PeaksSize, device: &DeviceProfile) -> FusionDecision {
    let [spectrum, peaks] = movements(size);
    let native = device.peaks.native_from.is_some_and(|batch| size.batch as u64 >= batch);
    let peaks = if native { DataMovement { syncs: peaks.syncs.saturating_sub(1), ..peaks } } else { peaks };
    let decision = FusionDecision::new(device, spectrum, peaks, size.batch as u64);
    if is_viable(device) {
        decision.with_times(block(size, device), fused(size, device, 1.0))
    } else {
        FusionDecision { slowdown: None, ..decision }
    }
}

/// Whether fusing is considered on a device at all: on every GPU.
pub(crate) const fn is_viable(device: &DeviceProfile) -> bool {
    device.peaks.gpu
}

#[cfg(test)]
mod tests;
