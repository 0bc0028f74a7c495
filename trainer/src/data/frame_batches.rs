//! Training frames as batches on a device.

use burn::tensor::{Device, Tensor, TensorData};
use firefly_app::device::DeviceName;

use super::device_corpus::DeviceCorpus;
use super::source::FrameSource;

/// Frames as a tensor `[samples / frame, frame]` on a device.
pub fn frames_to_tensor(samples: Vec<f32>, frame: usize, device: &Device) -> Tensor<2> {
    let rows = samples.len() / frame;
    Tensor::from_data(TensorData::new(samples, [rows, frame]), device)
}

/// Training frames on a device by their number: the same number always gives the same frame.
#[derive(Debug, Clone)]
pub struct FrameBatches {
    source: FrameSource,
    /// The recordings on the device, unless the device is the host.
    corpus: Option<DeviceCorpus>,
    device: Device,
}

impl FrameBatches {
    /// Batches of frames from `source`, on `device`.
    pub fn new(source: FrameSource, device: Device) -> Self {
        let corpus = match &source {
            FrameSource::Recordings(sampler) if !DeviceName::of(&device).kind().is_host() => {
                DeviceCorpus::new(sampler, &device)
            }
            _ => None,
        };
        Self { source, corpus, device }
    }

    /// The same batches on another device.
    pub fn on_device(&self, device: &Device) -> Self {
        Self::new(self.source.clone(), device.clone())
    }

    /// The frames `first`, `first + 1`, … as a tensor `[rows, frame]`.
    pub fn rows(&self, first: u64, rows: usize) -> Tensor<2> {
        if let Some(corpus) = &self.corpus {
            return corpus.batch(first, rows);
        }
        let frame = self.source.frame();
        let mut samples = vec![0.0; rows * frame];
        self.source.fill_batch(first, &mut samples);
        frames_to_tensor(samples, frame, &self.device)
    }
}
