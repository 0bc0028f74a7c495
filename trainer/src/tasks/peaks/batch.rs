//! Frames together with the peaks of their reference.

use burn::module::Module;
use burn::tensor::{Device, IndexingUpdateOp, Tensor};
use firefly_models::{ArgumentError, WelchPeaks};
use firefly_ops::top_k;
use firefly_ops::training::PeakTargets;

use crate::data::{FrameBatches, FrameSource};
use crate::task::BatchShare;

/// Added to a frame's mean power, so that a silent frame can be divided by it.
const MIN_LEVEL: f64 = 1e-30;

/// A batch of frames and their reference.
#[derive(Debug, Clone)]
pub struct PeaksBatch {
    /// `[batch, frame]`.
    pub signal: Tensor<2>,
    /// Peaks and power of the reference.
    pub targets: PeakTargets<2>,
}

impl PeaksBatch {
    /// Frames and their reference; `signal` is `[batch, frame]`.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are too short for the reference.
    pub fn new(signal: Tensor<2>, reference: &WelchPeaks) -> Result<Self, ArgumentError> {
        let targets = peak_targets(reference.try_psd(signal.clone())?, reference.k())?;
        Ok(Self { signal, targets })
    }

    /// Frames in the batch.
    pub fn rows(&self) -> usize {
        self.signal.dims()[0]
    }
}

/// Training batches by their number: the same number always gives the same frames.
#[derive(Debug, Clone)]
pub struct Batches {
    frames: FrameBatches,
    reference: WelchPeaks,
    rows: usize,
}

impl Batches {
    /// Batches of `rows` frames from `source`, on `device`.
    pub fn new(source: FrameSource, reference: WelchPeaks, rows: usize, device: Device) -> Self {
        Self { frames: FrameBatches::new(source, device), reference, rows }
    }

    /// The same batches on another device.
    pub fn on_device(&self, device: &Device) -> Self {
        let (frames, reference) = (self.frames.on_device(device), self.reference.clone().to_device(device));
        Self { frames, reference, rows: self.rows }
    }

    /// Rows of a batch.
    ///
    /// # Errors
    /// As [`PeaksBatch::new`].
    pub fn at(&self, share: &BatchShare) -> Result<PeaksBatch, ArgumentError> {
        PeaksBatch::new(self.frames.rows(share.first(self.rows), share.rows.len()), &self.reference)
    }
}

/// The `k` strongest bins of each row of `power` `[rows, bins]` as targets; the unit of power is the row's mean.
///
/// # Errors
/// [`ArgumentError`] if the rows have fewer bins.
fn peak_targets(power: Tensor<2>, k: usize) -> Result<PeakTargets<2>, ArgumentError> {
    let bins = top_k(power.clone(), k)?.bins;
    let mean = power.clone().mean_dim(1) + MIN_LEVEL;
    // A frame without finite power has no peaks: its bins are −1 and add 0 to bin 0.
    let is_peak = bins.clone().greater_equal_elem(0).float();
    let peaks = power.zeros_like().scatter(1, bins.clamp_min(0), is_peak, IndexingUpdateOp::Add);
    Ok(PeakTargets::new(peaks, power, mean))
}
