//! Frames together with the peaks of their reference.

use burn::tensor::{Device, Tensor};
use firefly_models::{ArgumentError, WelchPeaks};
use firefly_ops::PeakTargets;

use crate::data::{FrameBatches, FrameSource};
use crate::task::BatchShare;
use crate::tasks::peak_targets::peak_targets;

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
    pub fn on_device(&self, reference: WelchPeaks, device: &Device) -> Self {
        Self { frames: self.frames.on_device(device), reference, rows: self.rows }
    }

    /// Rows of a batch.
    ///
    /// # Errors
    /// As [`PeaksBatch::new`].
    pub fn at(&self, share: &BatchShare) -> Result<PeaksBatch, ArgumentError> {
        PeaksBatch::new(self.frames.rows(share.first(self.rows), share.rows.len()), &self.reference)
    }
}
