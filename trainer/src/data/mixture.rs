//! Mixtures of recordings and synthetic signals.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::draw::{Draw, Part, Purpose};
use super::error::DataError;
use super::frames::Frames;
use super::source::FrameSource;
use super::{DataConfig, DataSets, RecordingsConfig, SamplingConfig, SyntheticConfig};

/// Largest weight of a source.
const MAX_WEIGHT: f64 = 1e6;

/// A source of a mixture: recordings if a folder is named, synthetic signals otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MixtureSource {
    /// Share of the frames, in proportion to the other sources' weights.
    pub weight: f64,
    /// Folders of recordings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recordings: Option<RecordingsConfig>,
    /// Sampling of training frames from recordings.
    pub sampling: SamplingConfig,
    /// Synthetic signals, used without recordings.
    pub synthetic: SyntheticConfig,
}

impl Default for MixtureSource {
    fn default() -> Self {
        Self {
            weight: 1.0,
            recordings: None,
            sampling: SamplingConfig::default(),
            synthetic: SyntheticConfig::default(),
        }
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
    /// Samples in one frame.
    pub fn frame(&self) -> usize {
        self.sources[0].1.frame()
    }

    /// Whether all sources are synthetic.
    pub fn is_synthetic(&self) -> bool {
        self.sources.iter().all(|(_, source)| source.is_synthetic())
    }

    /// The source of the training frame of this index, a pure function of seed and index.
    pub fn source(&self, index: u64) -> &FrameSource {
        let last = self.sources.len() - 1;
        let drawn = Draw::at(self.seed, Part::Train, Purpose::Source, index).uniform([0.0, self.sources[last].0]);
        &self.sources[self.sources.partition_point(|(end, _)| *end <= drawn).min(last)].1
    }
}

/// Opens a mixture. Its sources have shares of `synthetic_frames` to validate on, in proportion to their weights.
///
/// # Errors
/// If a weight is out of range, and those of [`DataConfig::open`].
pub(super) fn open(config: &DataConfig, frame: usize, seed: u64) -> Result<DataSets, DataError> {
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
mod tests {
    use super::*;
    use crate::data::SignalFamily;

    fn source(weight: f64, family: SignalFamily) -> MixtureSource {
        let synthetic = SyntheticConfig { families: vec![family], ..SyntheticConfig::default() };
        MixtureSource { weight, synthetic, ..MixtureSource::default() }
    }

    fn config(sources: Vec<MixtureSource>) -> DataConfig {
        DataConfig { sources, synthetic_frames: 8, ..DataConfig::default() }
    }

    #[test]
    fn frames_are_drawn_from_the_sources_by_weight_and_are_those_of_their_source() {
        let sources = vec![source(3.0, SignalFamily::Tones), source(1.0, SignalFamily::Noise)];
        let sets = config(sources.clone()).open(32, 7).unwrap();
        let alone: Vec<FrameSource> =
            sources.into_iter().map(|source| config(vec![source]).open(32, 7).unwrap().train).collect();
        let frame = |source: &FrameSource, index: u64| {
            let mut frame = vec![0.0; 32];
            source.fill(index, &mut frame);
            frame
        };
        let mut of_first = 0;
        for index in 0..4000 {
            let drawn = frame(&sets.train, index);
            let [first, second] = [0, 1].map(|source: usize| frame(&alone[source], index) == drawn);
            assert!(first != second, "frame {index} is that of one source");
            of_first += usize::from(first);
        }
        assert!((2850..3150).contains(&of_first), "{of_first} of 4,000 frames with weight 3 of 4");
        let mut batch = vec![0.0; 50 * 32];
        sets.train.fill_batch(100, &mut batch);
        assert!(batch.chunks_exact(32).enumerate().all(|(row, got)| frame(&sets.train, 100 + row as u64) == got));
    }

    #[test]
    fn validation_frames_are_shared_by_weight_and_every_source_is_evaluated() {
        let sets = config(vec![source(3.0, SignalFamily::Tones), source(1.0, SignalFamily::Noise)]).open(32, 7);
        let sets = sets.unwrap();
        assert_eq!((sets.validation.len(), sets.train.frame(), sets.fingerprint()), (8, 32, 0));
        let tones = config(vec![source(1.0, SignalFamily::Tones)]).open(32, 7).unwrap();
        assert_eq!(sets.validation.rows(0..6), tones.validation.rows(0..6));
        let names: Vec<_> = sets.evaluation.iter().map(|set| (set.name.as_str(), set.frames.len())).collect();
        assert_eq!(names, [("tones", 6), ("noise", 2)]);
    }

    #[test]
    fn weights_out_of_range_and_recordings_beside_sources_are_refused() {
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = config(vec![source(weight, SignalFamily::Am)]).open(32, 7).unwrap_err().to_string();
            assert!(error.contains("sources.weight"), "{error}");
        }
        let both =
            DataConfig { recordings: Some(RecordingsConfig::new("x")), ..config(vec![source(1.0, SignalFamily::Am)]) };
        assert!(both.open(32, 7).unwrap_err().to_string().contains("sources"));
    }
}
