//! Frames with what the reference makes of them.

use burn::tensor::{Device, IndexingUpdateOp, Tensor, TensorData};
use firefly_app::device::DeviceName;
use firefly_models::{ArgumentError, WelchPeaks};

use crate::data::{Resident, Source};

/// Power below this share of a frame's mean counts as this much, so that its logarithm is bounded.
pub const FLOOR: f64 = 1e-9;
/// Keeps the level of a silent frame above zero.
const TINY: f64 = 1e-30;

/// Frames `[samples / frame, frame]` on a device.
pub fn tensor(samples: Vec<f32>, frame: usize, device: &Device) -> Tensor<2> {
    let rows = samples.len() / frame;
    Tensor::from_data(TensorData::new(samples, [rows, frame]), device)
}

/// A batch of frames and their reference.
#[derive(Debug, Clone)]
pub struct Batch {
    /// `[batch, frame]`.
    pub signal: Tensor<2>,
    /// Mean reference power of each frame, `[batch, 1]`.
    pub level: Tensor<2>,
    /// Natural logarithm of reference power relative to the level, `[batch, bins]`.
    pub log_reference: Tensor<2>,
    /// 1 at the reference peaks, 0 elsewhere, `[batch, bins]`.
    pub peaks: Tensor<2>,
}

impl Batch {
    /// Frames and their reference; `signal` is `[batch, frame]`.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are too short for the reference.
    pub fn new(signal: Tensor<2>, reference: &WelchPeaks) -> Result<Self, ArgumentError> {
        let power = reference.try_psd(signal.clone())?;
        let bins = reference.try_forward(signal.clone())?.bins;
        let level = power.clone().mean_dim(1) + TINY;
        // A frame without finite power has no peaks: its bins of -1 add nothing.
        let found = bins.clone().greater_equal_elem(0).float();
        let peaks = power.zeros_like().scatter(1, bins.clamp_min(0), found, IndexingUpdateOp::Add);
        Ok(Self { log_reference: (power / level.clone() + FLOOR).log(), signal, level, peaks })
    }

    /// Frames in the batch.
    pub fn rows(&self) -> usize {
        self.signal.dims()[0]
    }
}

/// Training batches by step: the same step always gives the same frames.
#[derive(Debug, Clone)]
pub struct Batches {
    source: Source,
    /// The source's recordings where the device is not the host, whose memory they are in anyway.
    resident: Option<Resident>,
    reference: WelchPeaks,
    rows: usize,
    device: Device,
}

impl Batches {
    /// Batches of `rows` frames from `source`, on `device`.
    pub fn new(source: Source, reference: WelchPeaks, rows: usize, device: Device) -> Self {
        let resident = match &source {
            Source::Recordings(sampler) if !DeviceName::of(&device).kind().is_host() => Resident::new(sampler, &device),
            _ => None,
        };
        Self { source, resident, reference, rows, device }
    }

    /// The batch of a step.
    ///
    /// # Errors
    /// As [`Batch::new`].
    pub fn at(&self, step: usize) -> Result<Batch, ArgumentError> {
        let first = (step * self.rows) as u64;
        let signal = match &self.resident {
            Some(resident) => resident.batch(first, self.rows),
            None => {
                let frame = self.source.frame();
                let mut samples = vec![0.0; self.rows * frame];
                self.source.fill_batch(first, &mut samples);
                tensor(samples, frame, &self.device)
            }
        };
        Batch::new(signal, &self.reference)
    }
}
