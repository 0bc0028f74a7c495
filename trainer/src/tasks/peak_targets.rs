//! Peaks of an exact estimate as targets of a learned one.

use burn::tensor::{IndexingUpdateOp, Tensor};
use firefly_models::ArgumentError;
use firefly_ops::{PeakTargets, top_k};

/// Added to a frame's mean power, so that a silent frame can be divided by it.
pub(super) const MIN_LEVEL: f64 = 1e-30;
/// Added to power relative to a frame's mean before its logarithm is taken, so that the logarithm is bounded.
pub(super) const RELATIVE_POWER_OFFSET: f64 = 1e-9;

/// The `k` strongest bins of each row of `power` `[rows, bins]` as targets; the unit of power is the row's mean.
///
/// # Errors
/// [`ArgumentError`] if the rows have fewer bins.
pub(super) fn peak_targets(power: Tensor<2>, k: usize) -> Result<PeakTargets<2>, ArgumentError> {
    let bins = top_k(power.clone(), k)?.bins;
    let mean = power.clone().mean_dim(1) + MIN_LEVEL;
    // A frame without finite power has no peaks: its bins are −1 and add 0 to bin 0.
    let is_peak = bins.clone().greater_equal_elem(0).float();
    let peaks = power.zeros_like().scatter(1, bins.clamp_min(0), is_peak, IndexingUpdateOp::Add);
    Ok(PeakTargets::new(peaks, power, mean))
}
