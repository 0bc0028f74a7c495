//! Training frames as batches on a device. Those of recordings are cut in an accelerator's memory, so that only offsets
//! and gains are uploaded per step.

use burn::tensor::{Device, Int, Tensor, TensorData};
use firefly_app::device::DeviceName;
use rayon::prelude::*;

use super::frames::{FrameDraw, FrameSampler};
use super::source::FrameSource;

/// Upper limit of a corpus in samples: 128 MiB, which fits a buffer of every device.
const MAX_SAMPLES: usize = (128 << 20) / size_of::<f32>();

/// Least number of rows for which drawing them in parallel saves time.
const MANY_ROWS: usize = 2048;

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

/// A corpus in a device's memory, with the sampler of its frames.
#[derive(Debug, Clone)]
pub struct DeviceCorpus {
    sampler: FrameSampler,
    /// Samples of all recordings, one recording after the other.
    samples: Tensor<1>,
    /// First sample of each recording.
    starts: Vec<usize>,
}

impl DeviceCorpus {
    /// Uploads the sampler's corpus to `device`; none if it is larger than 128 MiB.
    pub fn new(sampler: &FrameSampler, device: &Device) -> Option<Self> {
        let recordings = sampler.corpus().recordings();
        let all = usize::try_from(sampler.corpus().samples()).ok().filter(|all| *all <= MAX_SAMPLES)?;
        let mut samples = Vec::with_capacity(all);
        let mut starts = Vec::with_capacity(recordings.len());
        for recording in recordings {
            starts.push(samples.len());
            samples.extend_from_slice(&recording.samples);
        }
        let samples = Tensor::from_data(TensorData::new(samples, [all]), device);
        Some(Self { sampler: sampler.clone(), samples, starts })
    }

    /// The frames `first`, `first + 1`, … as a tensor `[rows, frame]`, bit for bit as
    /// [`FrameSource::fill_batch`](super::FrameSource::fill_batch) writes them.
    pub fn batch(&self, first: u64, rows: usize) -> Tensor<2> {
        let device = self.samples.device();
        let draw = |row: usize| {
            let FrameDraw { recording, offset, gain } = self.sampler.draw(first + row as u64);
            ((self.starts[recording] + offset) as i32, gain)
        };
        let (offsets, gains): (Vec<i32>, Vec<f32>) =
            if rows < MANY_ROWS { (0..rows).map(draw).unzip() } else { (0..rows).into_par_iter().map(draw).unzip() };
        let frame = self.sampler.frame();
        let offsets = Tensor::<2, Int>::from_data(TensorData::new(offsets, [rows, 1]), &device);
        let within = Tensor::<1, Int>::arange(0..frame as i64, &device).reshape([1, frame]);
        let samples = self.samples.clone().select(0, (offsets + within).reshape([rows * frame])).reshape([rows, frame]);
        samples * Tensor::from_data(TensorData::new(gains, [rows, 1]), &device)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{Corpus, FileChoice, FrameSource, SamplingConfig};
    use super::*;
    use firefly_recordings::Recording;

    fn recording(length: usize) -> Recording {
        let samples: Vec<f32> = (0..length).map(|i| ((i * i) as f32).sin()).collect();
        Recording {
            path: PathBuf::from(format!("{length}.wav")).into(),
            channel: 0,
            sample_rate: Some(100.0),
            samples: samples.into(),
        }
    }

    #[test]
    fn a_batch_cut_on_a_device_has_the_bits_of_one_cut_on_the_host() {
        let corpus = Corpus::from_recordings([40, 9, 100].map(recording).to_vec(), 8).unwrap();
        for gain_db in [0.0, 6.0] {
            let config = SamplingConfig { choice: FileChoice::ByFile, gain_db, random_polarity: true };
            let sampler = FrameSampler::new(corpus.clone(), 8, config, 3).unwrap();
            let on_device = DeviceCorpus::new(&sampler, &Device::flex()).unwrap();
            let mut expected = vec![0.0; 50 * 8];
            FrameSource::Recordings(sampler).fill_batch(20, &mut expected);
            let cut = on_device.batch(20, 50).into_data().try_to_vec::<f32>().unwrap();
            assert!(expected.iter().zip(&cut).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}
