//! Signals to train and evaluate on: recordings in WAV files, or synthetic ones made from a seed.
//!
//! Recordings are split by file, never by frame. Every training frame is a pure function of
//! the seed and a global sample index, so a run can stop and resume anywhere.

mod corpus;
mod draw;
mod error;
mod frames;
mod recording;
mod resident;
mod split;
mod synthetic;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use corpus::Corpus;
pub use draw::Part;
pub use error::{DataError, RecordingProblem};
pub use frames::{Choice, FrameSampler, Frames, SamplingConfig, frames_without_overlap};
pub use recording::{Recording, read_wav};
pub use resident::Resident;
pub use split::{Corpora, RecordingsConfig, split, split_by_suffix};
pub use synthetic::{Family, Synthetic, SyntheticConfig, UnknownFamily};

/// Training frames, from whichever origin. Cheap to clone and usable from any thread.
#[derive(Debug, Clone)]
pub enum Source {
    /// Cut from recordings.
    Recordings(FrameSampler),
    /// Made from the seed.
    Synthetic(Synthetic),
}

impl Source {
    /// Samples in one frame.
    pub fn frame(&self) -> usize {
        match self {
            Self::Recordings(sampler) => sampler.frame(),
            Self::Synthetic(synthetic) => synthetic.frame_len(),
        }
    }

    /// Writes the frame of the global sample index `index`, a pure function of seed and
    /// index.
    ///
    /// # Panics
    /// When `frame` is not of length [`frame`](Self::frame).
    pub fn fill(&self, index: u64, frame: &mut [f32]) {
        match self {
            Self::Recordings(sampler) => sampler.fill(index, frame),
            Self::Synthetic(synthetic) => synthetic.frame(index, frame),
        }
    }

    /// Writes the frames `first`, `first + 1`, … into `rows`, row-major [count, frame].
    ///
    /// # Panics
    /// When `rows` is not a whole number of frames.
    pub fn fill_batch(&self, first: u64, rows: &mut [f32]) {
        let frame = self.frame();
        assert_eq!(rows.len() % frame, 0, "length of a batch of whole frames");
        match self {
            // Copying is cheaper than handing the work out.
            Self::Recordings(_) => {
                for (index, row) in (first..).zip(rows.chunks_exact_mut(frame)) {
                    self.fill(index, row);
                }
            }
            Self::Synthetic(_) => {
                rows.par_chunks_exact_mut(frame).enumerate().for_each(|(row, out)| self.fill(first + row as u64, out))
            }
        }
    }
}

/// What to train and evaluate on: recordings when a folder is named, synthetic signals
/// otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// Folders of recordings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recordings: Option<RecordingsConfig>,
    /// How training frames are drawn from recordings.
    pub sampling: SamplingConfig,
    /// Synthetic signals, when there are no recordings.
    pub synthetic: SyntheticConfig,
    /// Synthetic frames to validate on, and as many to test on.
    pub synthetic_frames: usize,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            recordings: None,
            sampling: SamplingConfig::default(),
            synthetic: SyntheticConfig::default(),
            synthetic_frames: 1024,
        }
    }
}

/// Signals ready for a run.
#[derive(Debug, Clone)]
pub struct DataSets {
    /// Frames to fit on, without end.
    pub train: Source,
    /// Frames to choose a checkpoint by.
    pub validation: Frames,
    /// Frames to report on, when there are some.
    pub test: Option<Frames>,
    /// Recordings left out because they are shorter than a frame.
    pub skipped: usize,
}

impl DataConfig {
    /// Reads the recordings, or prepares the synthetic signals; `frame` in samples.
    ///
    /// # Errors
    /// Those of [`RecordingsConfig::load`], [`FrameSampler::new`] and [`Synthetic::new`].
    pub fn open(&self, frame: usize, seed: u64) -> Result<DataSets, DataError> {
        let Some(recordings) = &self.recordings else {
            if self.synthetic_frames == 0 {
                return Err(DataError::setting("synthetic_frames", 0, "at least 1"));
            }
            let train = Synthetic::new(self.synthetic.clone(), frame, seed)?;
            let held_out = |part| train.for_part(part).frames(self.synthetic_frames);
            return Ok(DataSets {
                validation: held_out(Part::Validation),
                test: Some(held_out(Part::Test)),
                train: Source::Synthetic(train),
                skipped: 0,
            });
        };
        let corpora = recordings.load(frame, seed)?;
        let test = corpora.test.as_ref();
        Ok(DataSets {
            skipped: corpora.skipped,
            validation: frames_without_overlap(&corpora.validation, frame)?,
            test: test.map(|corpus| frames_without_overlap(corpus, frame)).transpose()?,
            train: Source::Recordings(FrameSampler::new(corpora.train, frame, self.sampling.clone(), seed)?),
        })
    }
}

#[cfg(test)]
mod tests;
