//! Frames cut from recordings: in order for evaluation, at random for training.

use std::ops::Range;
use std::sync::Arc;

use firefly_recordings::{Recording, Samples};

use super::corpus::Corpus;
use super::draw::{Draw, Part, Purpose};
use super::{DataError, check_frame, ensure};
use crate::config::{choice, section};

/// Frames to evaluate on, in order. The samples are shared with the recordings they are frames of.
#[derive(Debug, Clone)]
pub struct Frames {
    frame: usize,
    runs: Arc<[FrameRun]>,
}

/// Consecutive frames without gaps from the start of some samples.
#[derive(Debug)]
struct FrameRun {
    samples: Samples,
    /// Frames of all runs up to and including this one.
    end: usize,
}

impl Frames {
    /// The whole frames of each of `recordings`, one after the other.
    pub(super) fn new(frame: usize, recordings: impl IntoIterator<Item = Samples>) -> Self {
        let mut end = 0;
        let run = |samples: Samples| {
            end += samples.len() / frame;
            FrameRun { samples, end }
        };
        Self { frame, runs: recordings.into_iter().map(run).collect() }
    }

    /// The frames of several sets, one set after the other.
    pub(super) fn joined(frame: usize, sets: &[Self]) -> Self {
        let runs = sets.iter().flat_map(|set| set.runs.iter().map(|run| run.samples.clone()));
        Self::new(frame, runs)
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Samples in one frame.
    pub fn frame(&self) -> usize {
        self.frame
    }

    /// The frame at `index`.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, index: usize) -> &[f32] {
        let run = self.runs.partition_point(|run| run.end <= index);
        let start = if run == 0 { 0 } else { self.runs[run - 1].end };
        let first = (index - start) * self.frame;
        &self.runs[run].samples[first..first + self.frame]
    }

    /// The frames in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f32]> + Clone {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Samples of the frames in `range`, as far as there are such, row-major `[frames, frame]`.
    pub fn rows(&self, range: Range<usize>) -> Vec<f32> {
        let range = range.start..range.end.min(self.len());
        let mut rows = Vec::with_capacity(range.len() * self.frame);
        range.for_each(|index| rows.extend_from_slice(self.get(index)));
        rows
    }

    /// `count` of the frames at even distances, or all of them if there are no more.
    #[must_use]
    pub fn evenly_spaced(&self, count: usize) -> Self {
        if self.len() <= count {
            return self.clone();
        }
        let chosen: Vec<f32> = (0..count).flat_map(|i| self.get(i * self.len() / count)).copied().collect();
        Self::new(self.frame, [chosen.into()])
    }
}

/// All whole frames of `frame` samples, without overlap, in the order of the corpus. Samples at the end of a recording
/// that do not fill a frame are dropped. An error if `frame` is 0 or longer than every recording.
pub fn frames_without_overlap(corpus: &Corpus, frame: usize) -> Result<Frames, DataError> {
    check_frame(frame)?;
    let frames = Frames::new(frame, corpus.recordings().iter().map(|recording| recording.samples.clone()));
    if frames.is_empty() {
        return Err(corpus.too_short(frame));
    }
    Ok(frames)
}

choice! {
    /// Choice of the file that a training frame is drawn from.
    pub enum FileChoice {
        ByLength = "by_length",
        ByFile = "by_file",
    }
}

section! {
    /// Sampling and augmentation of training frames.
    pub struct SamplingConfig {
        pub choice: FileChoice = FileChoice::ByLength,
        pub gain_db: f64 = 0.0,
        pub random_polarity: bool = false,
    }
}

impl SamplingConfig {
    /// Checks every setting. An error if `gain_db` is not within 0 to 120.
    pub fn validate(&self) -> Result<(), DataError> {
        ensure((0.0..=120.0).contains(&self.gain_db), "gain_db", self.gain_db, "within 0 to 120")
    }

    /// Largest factor of a frame's samples.
    pub(super) fn max_gain(&self) -> f64 {
        10f64.powf(self.gain_db / 20.0)
    }
}

/// Random draw of one training frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FrameDraw {
    /// Index of the recording in the corpus.
    pub recording: usize,
    /// First sample of the frame in the recording.
    pub offset: usize,
    /// Factor of the samples.
    pub gain: f32,
}

/// Sampler of training frames at random offsets in a corpus. Cloning shares everything.
#[derive(Debug, Clone)]
pub struct FrameSampler {
    corpus: Corpus,
    frame: usize,
    seed: u64,
    config: SamplingConfig,
    /// Possible frames of the recordings up to and including each.
    ends: Arc<[u64]>,
    /// First recording of each file, and one past the last.
    file_starts: Arc<[usize]>,
}

impl FrameSampler {
    /// A sampler of frames of `frame` samples. An error if `frame` is 0 or longer than a recording of the corpus (load
    /// the corpus with the same frame), or `gain_db` is not within 0 to 120.
    pub fn new(corpus: Corpus, frame: usize, config: SamplingConfig, seed: u64) -> Result<Self, DataError> {
        check_frame(frame)?;
        config.validate()?;
        let shortest = corpus.recordings().iter().map(|r| r.samples.len()).min().unwrap_or(0);
        let accepted = format_args!("at most {shortest}, the length of the shortest recording kept");
        ensure(frame <= shortest, "frame", frame, accepted)?;
        let mut total = 0;
        let end = |recording: &Recording| {
            total += (recording.samples.len() - frame + 1) as u64;
            total
        };
        let ends = corpus.recordings().iter().map(end).collect();
        let file_starts = std::iter::once(0).chain(corpus.file_ranges().into_iter().map(|file| file.end)).collect();
        Ok(Self { corpus, frame, seed, config, ends, file_starts })
    }

    /// Samples in one frame.
    pub fn frame(&self) -> usize {
        self.frame
    }

    /// Writes the frame of this index, a pure function of seed and index: a resumed run draws the frames of an
    /// uninterrupted one.
    ///
    /// # Panics
    /// If `frame` is not of length [`frame`](Self::frame).
    pub fn fill(&self, index: u64, frame: &mut [f32]) {
        assert_eq!(frame.len(), self.frame, "length of the frame to fill");
        let FrameDraw { recording, offset, gain } = self.draw(index);
        let samples = &self.corpus.recordings()[recording].samples;
        frame.copy_from_slice(&samples[offset..offset + self.frame]);
        if gain != 1.0 {
            for sample in frame {
                *sample *= gain;
            }
        }
    }

    /// Recording, offset and gain of the frame of this index.
    pub(super) fn draw(&self, index: u64) -> FrameDraw {
        let mut draw = Draw::at(self.seed, Part::Train, Purpose::Frames, index);
        let (recording, offset) = self.draw_offset(&mut draw);
        let gain_db = draw.uniform([-self.config.gain_db, self.config.gain_db]);
        let invert = draw.coin() && self.config.random_polarity;
        let gain = if gain_db == 0.0 { 1.0 } else { 10f64.powf(gain_db / 20.0) as f32 };
        FrameDraw { recording, offset, gain: if invert { -gain } else { gain } }
    }

    pub(super) fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// Recording and first sample of a frame.
    fn draw_offset(&self, draw: &mut Draw) -> (usize, usize) {
        let Self { ends, file_starts, .. } = self;
        match self.config.choice {
            FileChoice::ByLength => {
                let frame = draw.below(ends[ends.len() - 1]);
                let recording = ends.partition_point(|&end| end <= frame);
                let start = if recording == 0 { 0 } else { ends[recording - 1] };
                (recording, (frame - start) as usize)
            }
            FileChoice::ByFile => {
                let file = draw.below(file_starts.len() as u64 - 1) as usize;
                let recording = draw.count([file_starts[file], file_starts[file + 1] - 1]);
                let length = self.corpus.recordings()[recording].samples.len();
                let offset = draw.below((length - self.frame + 1) as u64);
                (recording, offset as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests;
