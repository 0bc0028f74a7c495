//! Frames together with their reference spectrum and peaks.

use burn::tensor::{Device, IndexingUpdateOp, Tensor, TensorData};
use firefly_app::device::DeviceName;
use firefly_models::{ArgumentError, WelchPeaks};
use firefly_ops::top_k;

use crate::data::{DeviceCorpus, FrameSource};
use crate::task::BatchShare;

/// Added to a frame's mean power, so that a silent frame can be divided by it.
const MIN_LEVEL: f64 = 1e-30;

/// Frames as a tensor `[samples / frame, frame]` on a device.
pub fn frames_to_tensor(samples: Vec<f32>, frame: usize, device: &Device) -> Tensor<2> {
    let rows = samples.len() / frame;
    Tensor::from_data(TensorData::new(samples, [rows, frame]), device)
}

/// A batch of frames and their reference.
#[derive(Debug, Clone)]
pub struct PeaksBatch {
    /// `[batch, frame]`.
    pub signal: Tensor<2>,
    /// Mean reference power of each frame, `[batch, 1]`.
    pub reference_power: Tensor<2>,
    /// Reference power, `[batch, bins]`.
    pub power: Tensor<2>,
    /// 1 at the reference peaks, 0 elsewhere, `[batch, bins]`.
    pub peaks: Tensor<2>,
}

impl PeaksBatch {
    /// Frames and their reference; `signal` is `[batch, frame]`.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are too short for the reference.
    pub fn new(signal: Tensor<2>, reference: &WelchPeaks) -> Result<Self, ArgumentError> {
        let power = reference.try_psd(signal.clone())?;
        let bins = top_k(power.clone(), reference.k())?.bins;
        let reference_power = power.clone().mean_dim(1) + MIN_LEVEL;
        // A frame without finite power has no peaks: its bins are −1 and add 0 to bin 0.
        let is_peak = bins.clone().greater_equal_elem(0).float();
        let peaks = power.zeros_like().scatter(1, bins.clamp_min(0), is_peak, IndexingUpdateOp::Add);
        Ok(Self { signal, reference_power, power, peaks })
    }

    /// Frames in the batch.
    pub fn rows(&self) -> usize {
        self.signal.dims()[0]
    }
}

/// Training batches by their number: the same number always gives the same frames.
#[derive(Debug, Clone)]
pub struct Batches {
    source: FrameSource,
    /// The recordings on the device, unless the device is the host.
    corpus: Option<DeviceCorpus>,
    reference: WelchPeaks,
    rows: usize,
    device: Device,
}

impl Batches {
    /// Batches of `rows` frames from `source`, on `device`.
    pub fn new(source: FrameSource, reference: WelchPeaks, rows: usize, device: Device) -> Self {
        let corpus = match &source {
            FrameSource::Recordings(sampler) if !DeviceName::of(&device).kind().is_host() => {
                DeviceCorpus::new(sampler, &device)
            }
            _ => None,
        };
        Self { source, corpus, reference, rows, device }
    }

    /// The same batches on another device.
    pub fn on_device(&self, reference: WelchPeaks, device: &Device) -> Self {
        Self::new(self.source.clone(), reference, self.rows, device.clone())
    }

    /// Rows of a batch.
    ///
    /// # Errors
    /// As [`PeaksBatch::new`].
    pub fn at(&self, share: &BatchShare) -> Result<PeaksBatch, ArgumentError> {
        let (first, rows) = (share.first(self.rows), share.rows.len());
        let signal = match &self.corpus {
            Some(corpus) => corpus.batch(first, rows),
            None => {
                let frame = self.source.frame();
                let mut samples = vec![0.0; rows * frame];
                self.source.fill_batch(first, &mut samples);
                frames_to_tensor(samples, frame, &self.device)
            }
        };
        PeaksBatch::new(signal, &self.reference)
    }
}
