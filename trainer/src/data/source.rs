//! Source of training frames: recordings, synthetic signals, or a mixture of sources.

use std::sync::Arc;

use rayon::prelude::*;

use super::draw::{Draw, Part, Purpose};
use super::error::DataError;
use super::frames::{FrameSampler, Frames};
use super::synthetic::Synthetic;
use super::{DataConfig, DataSets, RecordingsConfig, SamplingConfig, SyntheticConfig};
use crate::config::section;

/// Largest weight of a source.
const MAX_WEIGHT: f64 = 1e6;

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
    if let Some(wrong) = config.sources.iter().find(|source| !(source.weight > 0.0 && source.weight <= MAX_WEIGHT)) {
        return Err(DataError::setting("sources.weight", wrong.weight, "above 0 and at most 1e6"));
    }
    let total: f64 = config.sources.iter().map(|source| source.weight).sum();
    let (mut end, mut sources, mut validation, mut evaluation, mut skipped) = (0.0, vec![], vec![], vec![], 0);
    for MixtureSource { weight, recordings, sampling, synthetic } in config.sources.clone() {
        let count = (config.synthetic_frames as f64 * weight / total).ceil() as usize;
        let alone = DataConfig { recordings, sampling, synthetic, synthetic_frames: count, sources: Vec::new() };
        let sets = alone.open(frame, seed)?;
        end += weight;
        sources.push((end, sets.train));
        validation.push(sets.validation.evenly_spaced(count));
        evaluation.extend(sets.evaluation);
        skipped += sets.skipped;
    }
    let train = FrameSource::Mixture(Mixture { sources: sources.into(), seed });
    Ok(DataSets { train, validation: Frames::joined(frame, &validation), evaluation, skipped })
}

#[cfg(test)]
mod tests;
