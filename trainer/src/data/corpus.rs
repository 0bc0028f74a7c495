//! The recordings of a folder.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use firefly_recordings::{
    Recording, RecordingError, RecordingProblem, SampleMemory, find_recordings, read_recording_within,
};

use super::{DataError, check_frame};

/// Relative difference of rates that count as equal: times of a table and a rate that is typed have few digits.
const RATE_TOLERANCE: f64 = 5e-4;

/// Whether two sample rates are equal but for rounding.
pub(crate) fn is_same_rate(a: f64, b: f64) -> bool {
    (a - b).abs() <= RATE_TOLERANCE * b
}

/// Recordings in the order of their paths and channels, each at least one frame long; at least one. Cloning shares
/// them.
#[derive(Debug, Clone)]
pub struct Corpus {
    folder: PathBuf,
    recordings: Arc<[Recording]>,
}

impl Corpus {
    /// Reads every recording that [`find_recordings`] finds in `folder`, in the order of the paths relative to it, the
    /// same on every machine.
    ///
    /// Half of the available memory is for recordings; those that it does not hold are kept in temporary files.
    ///
    /// Recordings shorter than `frame` samples, and files without samples, are left out with a warning. An error if the
    /// folder is missing, holds no recording, or all of them are too short, and at the first file, in that order, that
    /// can't be read.
    pub fn load(folder: &Path, frame: usize) -> Result<Self, DataError> {
        check_frame(frame)?;
        let files = find_recordings(folder)?;
        if files.is_empty() {
            return Err(RecordingError::NoRecordings(folder.to_owned()).into());
        }
        let mut recordings = Vec::new();
        let mut empty = Vec::new();
        let mut memory = SampleMemory::default();
        for file in files {
            match read_recording_within(&folder.join(file), &mut memory) {
                Ok(channels) => recordings.extend(channels),
                Err(RecordingError::Recording { problem: RecordingProblem::NoSamples, path }) => empty.push(path),
                Err(error) => return Err(error.into()),
            }
        }
        Self::with_min_length(folder.to_owned(), recordings, empty, frame)
    }

    /// A corpus of recordings in memory, sorted by path and channel. Recordings of one path count as one file. An error
    /// if there are none, or all are shorter than `frame`.
    pub fn from_recordings(mut recordings: Vec<Recording>, frame: usize) -> Result<Self, DataError> {
        check_frame(frame)?;
        if recordings.is_empty() {
            return Err(RecordingError::NoRecordings(PathBuf::new()).into());
        }
        recordings.sort_by(|a, b| (&a.path, a.channel).cmp(&(&b.path, b.channel)));
        // Those of one file have its name in errors.
        let (first, last) = (&recordings[0].path, &recordings[recordings.len() - 1].path);
        let folder = if first == last { first.to_path_buf() } else { PathBuf::new() };
        Self::with_min_length(folder, recordings, Vec::new(), frame)
    }

    fn with_min_length(
        folder: PathBuf,
        recordings: Vec<Recording>,
        mut left_out: Vec<PathBuf>,
        frame: usize,
    ) -> Result<Self, DataError> {
        let seen = recordings.len() + left_out.len();
        let longest = recordings.iter().map(|r| r.samples.len()).max().unwrap_or(0);
        let (kept, short): (Vec<_>, Vec<_>) = recordings.into_iter().partition(|r| r.samples.len() >= frame);
        if kept.is_empty() {
            return Err(DataError::AllTooShort { folder, recordings: seen, frame, longest });
        }
        left_out.extend(short.iter().map(|recording| recording.path.to_path_buf()));
        if let Some(first) = left_out.first() {
            let (folder, first, count) = (folder.display(), first.display(), left_out.len());
            tracing::warn!(
                "{folder}: {count} of {seen} recordings are left out: {first} has less than {frame} samples"
            );
        }
        Ok(Self { folder, recordings: kept.into() })
    }

    /// The folder it was read from.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The recordings, in the order of their paths and channels.
    pub fn recordings(&self) -> &[Recording] {
        &self.recordings
    }

    /// Number of files with at least one recording kept.
    pub fn files(&self) -> usize {
        self.file_ranges().len()
    }

    /// Number of the file of each recording, counted from 0: channels of one file have one number.
    pub fn file_numbers(&self) -> Vec<usize> {
        let files = self.file_ranges().into_iter().enumerate();
        files.flat_map(|(number, channels)| channels.map(move |_| number)).collect()
    }

    /// Number of samples of all recordings.
    pub fn samples(&self) -> u64 {
        self.recordings.iter().map(|r| r.samples.len() as u64).sum()
    }

    /// Distinct sample rates, ascending.
    pub fn sample_rates(&self) -> Vec<f64> {
        let mut rates: Vec<f64> = self.recordings.iter().filter_map(|r| r.sample_rate).collect();
        rates.sort_unstable_by(f64::total_cmp);
        rates.dedup();
        rates
    }

    /// Checks that recordings have one sample rate, here and in other corpora. Those that do not say theirs fit any.
    /// The error names the first recording of another rate.
    pub fn check_one_rate<'a>(corpora: impl IntoIterator<Item = &'a Self>) -> Result<(), DataError> {
        let recordings = corpora.into_iter().flat_map(Self::recordings);
        let mut rates = recordings.filter_map(|recording| Some((&recording.path, recording.sample_rate?)));
        let Some((_, expected)) = rates.next() else { return Ok(()) };
        match rates.find(|(_, rate)| !is_same_rate(*rate, expected)) {
            None => Ok(()),
            Some((path, found)) => {
                let problem = RecordingProblem::OtherRate { found, expected };
                Err(RecordingError::Recording { path: path.to_path_buf(), problem }.into())
            }
        }
    }

    /// The error of recordings of which none has `frame` samples.
    pub(super) fn too_short(&self, frame: usize) -> DataError {
        let longest = self.recordings.iter().map(|recording| recording.samples.len()).max().unwrap_or(0);
        DataError::AllTooShort { folder: self.folder.clone(), recordings: self.recordings.len(), frame, longest }
    }

    /// Checks that no frame of `frame` samples, multiplied by up to `gain`, has power that overflows f32: a frame's
    /// spectrum is at most its length times its largest sample. The error names the first sample that is too large.
    pub(super) fn check_power(&self, frame: usize, gain: f64) -> Result<(), DataError> {
        // Twice the square of the spectrum is the one-sided power.
        let limit = (f64::from(f32::MAX / 2.0).sqrt() / frame as f64 / gain) as f32;
        for Recording { path, channel, samples, .. } in self.recordings.iter() {
            if let Some(index) = samples.iter().position(|sample| sample.abs() > limit) {
                let problem = RecordingProblem::Overflow { channel: *channel, index, value: samples[index], limit };
                return Err(RecordingError::Recording { path: path.to_path_buf(), problem }.into());
            }
        }
        Ok(())
    }

    pub(super) fn file_ranges(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        self.recordings
            .chunk_by(|a, b| a.path == b.path)
            .map(|channels| {
                let range = start..start + channels.len();
                start = range.end;
                range
            })
            .collect()
    }

    /// A file's path relative to the folder, with `/` between its parts on every system.
    pub(super) fn key(&self, recording: &Recording) -> String {
        let relative = recording.path.strip_prefix(&self.folder).unwrap_or(&recording.path);
        let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        parts.join("/")
    }

    /// The recordings of the given files, in the order of this corpus.
    pub(super) fn part(&self, files: &[Range<usize>]) -> Self {
        Self {
            folder: self.folder.clone(),
            recordings: files.iter().flat_map(|file| self.recordings[file.clone()].iter().cloned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
