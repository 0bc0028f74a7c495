//! Signals to train and evaluate on: [recordings](firefly_recordings) or synthetic signals generated from a seed.
//!
//! Recordings are split by file, never by frame. Every training frame is a pure function of the seed and its index, so
//! that a run can stop and resume anywhere.

mod corpus;
mod draw;
mod excerpts;
mod frames;
mod source;
mod split;
mod synthetic;

use std::fmt::Display;
use std::path::PathBuf;

use firefly_recordings::RecordingError;
use sha2::{Digest, Sha256};
use thiserror::Error;

pub use corpus::Corpus;
pub(crate) use corpus::is_same_rate;
pub use draw::{EpochOrder, Part, normal, normal_rows, uniform};
pub use excerpts::{AddedNoise, Excerpts, NoiseKind, add_noise};
pub use frames::{FileChoice, FrameSampler, Frames, SamplingConfig, frames_without_overlap};
pub use source::{DeviceCorpus, FrameBatches, FrameSource, Mixture, MixtureSource, frames_to_tensor};
pub use split::{Corpora, RecordingsConfig, split, split_by_suffix};
pub use synthetic::{SignalFamily, Synthetic, SyntheticConfig, UnknownSignalFamily};

use crate::config::section;

/// Frames of either kind that the fingerprint of recordings is taken of.
const FINGERPRINT_FRAMES: usize = 256;

section! {
    /// Signals to train and evaluate on: a mixture if there are sources, recordings if a folder is named, synthetic
    /// signals otherwise.
    pub struct DataConfig {
        pub recordings: Option<RecordingsConfig> = None,
        pub sampling: SamplingConfig = SamplingConfig::default(),
        pub synthetic: SyntheticConfig = SyntheticConfig::default(),
        pub synthetic_frames: usize = 1024,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub sources: Vec<MixtureSource> = Vec::new(),
    }
}

/// Signals ready for a run.
#[derive(Debug, Clone)]
pub struct DataSets {
    /// Frames to fit on, unlimited in number.
    pub train: FrameSource,
    /// Frames to choose a checkpoint by.
    pub validation: Frames,
    /// Frames to report on, of each source.
    pub evaluation: Vec<EvaluationSet>,
}

/// Frames to report on: test frames, or else validation frames.
#[derive(Debug, Clone)]
pub struct EvaluationSet {
    /// Name of the frames.
    pub name: String,
    /// The frames.
    pub frames: Frames,
}

/// Fingerprint of values in the order in which they are added: the first eight bytes of their SHA-256.
#[derive(Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Adds a number.
    pub fn number(&mut self, number: usize) {
        self.0.update((number as u64).to_le_bytes());
    }

    /// Adds values.
    pub fn values<'a>(&mut self, values: impl IntoIterator<Item = &'a f32>) {
        values.into_iter().for_each(|value| self.0.update(value.to_le_bytes()));
    }

    /// The fingerprint.
    pub fn finish(self) -> u64 {
        self.0.finalize().iter().take(size_of::<u64>()).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

fn mean_square(samples: &[f32]) -> f64 {
    samples.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>() / samples.len().max(1) as f64
}

impl DataSets {
    /// The rows of every evaluation set, in order; `of_set` takes its name and its frames. The error is the first of
    /// `of_set`.
    pub fn evaluated<R, E>(&self, of_set: impl Fn(&str, &Frames) -> Result<Vec<R>, E>) -> Result<Vec<R>, E> {
        let rows = self.evaluation.iter().map(|set| of_set(&set.name, &set.frames));
        Ok(rows.collect::<Result<Vec<_>, E>>()?.into_iter().flatten().collect())
    }

    /// Number that follows from the samples of recordings: of training frames as they are drawn, which changes with
    /// every file that is added or removed, and of validation frames. 0 for synthetic signals, which a seed determines.
    pub fn fingerprint(&self) -> u64 {
        if self.train.is_synthetic() {
            return 0;
        }
        let mut drawn = vec![0.0f32; FINGERPRINT_FRAMES * self.train.frame()];
        self.train.fill_batch(0, &mut drawn);
        let validation = self.validation.evenly_spaced(FINGERPRINT_FRAMES);
        let mut fingerprint = Fingerprint::default();
        fingerprint.values(drawn.iter().chain(validation.iter().flatten()));
        fingerprint.finish()
    }
}

impl DataConfig {
    /// Reads the recordings or prepares the synthetic signals; `frame` is in samples. An error of
    /// [`RecordingsConfig::load`], [`FrameSampler::new`] or [`Synthetic::new`]; for several rates in one source, for a
    /// weight of a source that is out of range, and for recordings beside sources.
    pub fn open(&self, frame: usize, seed: u64) -> Result<DataSets, DataError> {
        let is_mixture = !self.sources.is_empty();
        match &self.recordings {
            Some(recordings) => {
                let train = recordings.train.display();
                ensure(!is_mixture, "recordings.train", train, "that of a source where there are sources")?;
                self.open_recordings(recordings, frame, seed)
            }
            None if is_mixture => source::open_mixture(self, frame, seed),
            None => self.open_synthetic(frame, seed),
        }
    }

    fn open_synthetic(&self, frame: usize, seed: u64) -> Result<DataSets, DataError> {
        ensure(self.synthetic_frames > 0, "synthetic_frames", 0, "at least 1")?;
        let train = Synthetic::new(self.synthetic.clone(), frame, seed)?;
        let held_out = |part| train.for_part(part).frames(self.synthetic_frames);
        Ok(DataSets {
            validation: held_out(Part::Validation),
            evaluation: vec![EvaluationSet { name: self.synthetic.name(), frames: held_out(Part::Test) }],
            train: FrameSource::Synthetic(train),
        })
    }

    fn open_recordings(&self, recordings: &RecordingsConfig, frame: usize, seed: u64) -> Result<DataSets, DataError> {
        let corpora = recordings.load(frame, seed)?;
        Corpus::check_one_rate([&corpora.train, &corpora.validation].into_iter().chain(&corpora.test))?;
        corpora.train.check_power(frame, self.sampling.max_gain())?;
        corpora.validation.check_power(frame, 1.0)?;
        let validation = frames_without_overlap(&corpora.validation, frame)?;
        let (train, test) = (recordings.train.display(), corpora.test.as_ref());
        let test = test.map(|corpus| frames_without_overlap(corpus, frame)).transpose()?;
        let (name, frames) = match (&recordings.test, test) {
            (Some(folder), Some(test)) => (folder.display().to_string(), test),
            (None, Some(test)) => (format!("{train} (test files)"), test),
            (_, None) => (format!("{train} (validation files)"), validation.clone()),
        };
        Ok(DataSets {
            validation,
            evaluation: vec![EvaluationSet { name, frames }],
            train: FrameSource::Recordings(FrameSampler::new(corpora.train, frame, self.sampling.clone(), seed)?),
        })
    }
}

/// Error in recordings or in the settings of the data.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum DataError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(
        "{}: none of the {recordings} recordings has the length of a frame, {frame} samples (the longest has \
         {longest})",
        folder.display()
    )]
    AllTooShort { folder: PathBuf, recordings: usize, frame: usize, longest: usize },
    #[error("{}: a split by file needs at least two files, there is {files}", folder.display())]
    TooFewFiles { folder: PathBuf, files: usize },
    #[error(
        "{}: {key} {names:?} match {matched} of {files} files, whose names are compared without their extensions; \
         both sides need at least one",
        folder.display()
    )]
    Names { folder: PathBuf, key: &'static str, names: Vec<String>, matched: usize, files: usize },
    #[error(
        "the test folder {} and the training folder {} overlap; a model may not train on its test files",
        test.display(),
        train.display()
    )]
    Overlap { train: PathBuf, test: PathBuf },
    #[error("{key} is {got}; it must be {accepts}")]
    Setting { key: &'static str, got: String, accepts: String },
}

/// Checks that a condition on a setting holds.
fn ensure(holds: bool, key: &'static str, got: impl Display, accepts: impl Display) -> Result<(), DataError> {
    if holds { Ok(()) } else { Err(DataError::Setting { key, got: got.to_string(), accepts: accepts.to_string() }) }
}

/// Checks that a frame has at least one sample.
fn check_frame(frame: usize) -> Result<(), DataError> {
    ensure(frame > 0, "frame", frame, "at least 1 sample")
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    #[test]
    fn a_fingerprint_changes_with_every_value_and_their_order() {
        let of = |values: &[f32]| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.values(values);
            fingerprint.finish()
        };
        assert_eq!(of(&[1.0, 2.0]), of(&[1.0, 2.0]));
        assert_ne!(of(&[1.0, 2.0]), of(&[2.0, 1.0]));
        assert_ne!(of(&[1.0, 2.0]), of(&[1.0]));
    }
}
