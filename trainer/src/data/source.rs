//! Source of training frames, recordings, synthetic signals or a mixture of sources, and its frames as batches on a device.
//! Those of recordings are cut in an accelerator's memory, so that only offsets and gains are uploaded per step.

use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor, TensorData};
use firefly_app::device::DeviceName;
use rayon::prelude::*;

use super::draw::{Draw, Part, Purpose};
use super::frames::{FrameDraw, FrameSampler, Frames};
use super::synthetic::Synthetic;
use super::{DataConfig, DataError, DataSets, RecordingsConfig, SamplingConfig, SyntheticConfig, ensure};
use crate::config::section;

/// Source of training frames. Cheap to clone and usable from any thread.
#[derive(Debug, Clone)]
pub enum FrameSource {
    /// Frames of recordings.
    Recordings(FrameSampler),
    /// Synthetic frames.
    Synthetic(Synthetic),
    /// Frames of several sources.
    Mixture(Mixture),
}

impl FrameSource {
    /// Samples in one frame.
    pub fn frame(&self) -> usize {
        match self {
            Self::Recordings(sampler) => sampler.frame(),
            Self::Synthetic(synthetic) => synthetic.frame_len(),
            Self::Mixture(mixture) => mixture.sources[0].1.frame(),
        }
    }

    /// Whether no frame is of a recording.
    pub fn is_synthetic(&self) -> bool {
        match self {
            Self::Recordings(_) => false,
            Self::Synthetic(_) => true,
            Self::Mixture(mixture) => mixture.sources.iter().all(|(_, source)| source.is_synthetic()),
        }
    }

    /// Writes the frame of this index, a pure function of seed and index.
    ///
    /// # Panics
    /// If `frame` is not of length [`frame`](Self::frame).
    pub fn fill(&self, index: u64, frame: &mut [f32]) {
        match self {
            Self::Recordings(sampler) => sampler.fill(index, frame),
            Self::Synthetic(synthetic) => synthetic.frame(index, frame),
            Self::Mixture(mixture) => mixture.source(index).fill(index, frame),
        }
    }

    /// Writes the frames `first`, `first + 1`, … into `rows`, row-major `[count, frame]`.
    ///
    /// # Panics
    /// If `rows` is not a whole number of frames.
    pub fn fill_batch(&self, first: u64, rows: &mut [f32]) {
        let frame = self.frame();
        assert_eq!(rows.len() % frame, 0, "length of a batch of whole frames");
        match self {
            // Serial: starting parallel tasks takes longer than the copies.
            Self::Recordings(_) => {
                for (index, row) in (first..).zip(rows.chunks_exact_mut(frame)) {
                    self.fill(index, row);
                }
            }
            Self::Synthetic(_) | Self::Mixture(_) => {
                rows.par_chunks_exact_mut(frame).enumerate().for_each(|(row, out)| self.fill(first + row as u64, out))
            }
        }
    }
}

section! {
    /// A source of a mixture: recordings if a folder is named, synthetic signals otherwise.
    pub struct MixtureSource {
        pub weight: f64 = 1.0,
        pub recordings: Option<RecordingsConfig> = None,
        pub sampling: SamplingConfig = SamplingConfig::default(),
        pub synthetic: SyntheticConfig = SyntheticConfig::default(),
    }
}

/// Sources that each frame is drawn from one of. Cloning shares them.
#[derive(Debug, Clone)]
pub struct Mixture {
    /// Sources, each with the sum of the weights up to and including its own; at least one.
    sources: Arc<[(f64, FrameSource)]>,
    seed: u64,
}

impl Mixture {
    /// The source of the training frame of this index, a pure function of seed and index.
    fn source(&self, index: u64) -> &FrameSource {
        let last = self.sources.len() - 1;
        let drawn = Draw::at(self.seed, Part::Train, Purpose::Source, index).uniform([0.0, self.sources[last].0]);
        &self.sources[self.sources.partition_point(|(end, _)| *end <= drawn).min(last)].1
    }
}

/// Opens a mixture. Its sources have shares of `synthetic_frames` to validate on, in proportion to their weights.
pub(super) fn open_mixture(config: &DataConfig, frame: usize, seed: u64) -> Result<DataSets, DataError> {
    for MixtureSource { weight, .. } in &config.sources {
        ensure(*weight > 0.0 && *weight <= 1e6, "sources.weight", weight, "above 0 and at most 1e6")?;
    }
    let total: f64 = config.sources.iter().map(|source| source.weight).sum();
    let (mut end, mut sources, mut validation, mut evaluation) = (0.0, vec![], vec![], vec![]);
    for MixtureSource { weight, recordings, sampling, synthetic } in config.sources.clone() {
        let count = (config.synthetic_frames as f64 * weight / total).ceil() as usize;
        let alone = DataConfig { recordings, sampling, synthetic, synthetic_frames: count, sources: Vec::new() };
        let sets = alone.open(frame, seed)?;
        end += weight;
        sources.push((end, sets.train));
        validation.push(sets.validation.evenly_spaced(count));
        evaluation.extend(sets.evaluation);
    }
    let train = FrameSource::Mixture(Mixture { sources: sources.into(), seed });
    Ok(DataSets { train, validation: Frames::joined(frame, &validation), evaluation })
}

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
mod tests;
