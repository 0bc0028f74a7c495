//! Errors of recordings and of the settings of the data.

use std::io;
use std::path::PathBuf;

use firefly_app::number::bytes;
use thiserror::Error;

use super::format::Format;

/// Error in one file of a recording.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingProblem {
    /// The file can't be opened or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The path names a folder, a pipe or a device.
    #[error("it is a folder, a pipe or a device, but a recording must be a file")]
    NotAFile,
    /// The first bytes are not those of a RIFF/WAVE file.
    #[error("not a WAV file (it does not begin with a RIFF/WAVE header)")]
    NotWav,
    /// The file ends inside its header.
    #[error("truncated: the file ends inside its header")]
    TruncatedHeader,
    /// The file ends before the samples that its header announces.
    #[error("truncated: the header announces {expected} samples per channel, the file holds {found}")]
    Truncated {
        /// Samples per channel that the header announces.
        expected: usize,
        /// Whole samples per channel in the file.
        found: usize,
    },
    /// A valid header followed by no samples.
    #[error("it holds no samples")]
    NoSamples,
    /// The file's extension names no format of recordings.
    #[error("its extension names no format of recordings (accepted: {})", Format::EXTENSIONS)]
    UnknownFormat,
    /// The file is damaged, or holds what is not read.
    #[error("{format} file: {reason}")]
    Content {
        /// Format of the file.
        format: Format,
        /// The reason.
        reason: String,
    },
    /// A float sample is NaN or infinite.
    #[error("sample {index} of channel {channel} is {value}, not a finite number of 32 bits")]
    NonFinite {
        /// Channel, counted from 0.
        channel: usize,
        /// Index within the channel, counted from 0.
        index: usize,
        /// The sample found.
        value: f32,
    },
    /// A sample is so large that the power of its frame is not finite.
    #[error(
        "sample {index} of channel {channel} is {value:e}, and the power of a frame with samples beyond {limit:.1e} \
         overflows: divide the recording by a number"
    )]
    Overflow {
        /// Channel, counted from 0.
        channel: usize,
        /// Index within the channel, counted from 0.
        index: usize,
        /// The sample found.
        value: f32,
        /// Largest magnitude accepted.
        limit: f32,
    },
    /// A temporary file for samples that do not fit into memory can't be written or mapped.
    #[error(
        "it does not fit into memory, and a temporary file for its samples failed; the variable TMPDIR names the \
         folder of such files"
    )]
    TemporaryFile(#[source] io::Error),
    /// There are more samples than the header announces, of a recording that does not fit into memory.
    #[error("it holds more than the {announced} samples that its header announces")]
    LongerThanAnnounced {
        /// Samples per channel by the header.
        announced: u64,
    },
    /// The samples do not fit into memory.
    #[error("its values take more than {}, what the available memory has for them: give a smaller table", bytes(*available))]
    Memory {
        /// Bytes that they may take.
        available: u64,
    },
}

impl Format {
    /// Error of a file of this format, with the reason.
    pub(super) fn problem(self, reason: impl Into<String>) -> RecordingProblem {
        RecordingProblem::Content { format: self, reason: reason.into() }
    }
}

/// Error in recordings or in the settings of the data.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// One file can't be used.
    #[error("reading {}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        problem: RecordingProblem,
    },
    /// An array can't be read.
    #[error("{}: {reason}", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The folder does not exist.
    #[error("{}: no such folder", .0.display())]
    FolderMissing(PathBuf),
    /// The path names a file.
    #[error("{}: not a folder (give the folder that holds the recordings)", .0.display())]
    NotAFolder(PathBuf),
    /// The folder, or one inside it, can't be listed.
    #[error("listing {}", path.display())]
    Folder {
        /// The folder that could not be listed.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The folder holds no recording.
    #[error("{}: no recording in this folder or below it (accepted: {})", .0.display(), Format::EXTENSIONS)]
    NoRecordings(PathBuf),
    /// Every recording is shorter than one frame.
    #[error(
        "{}: none of the {recordings} recordings has the length of a frame, {frame} samples (the longest has \
         {longest})",
        folder.display()
    )]
    AllTooShort {
        /// The folder.
        folder: PathBuf,
        /// Recordings in the folder, one per channel.
        recordings: usize,
        /// Samples in one frame.
        frame: usize,
        /// Samples of the longest recording.
        longest: usize,
    },
    /// Too few files to put one on each side of a split.
    #[error("{}: a split by file needs at least two files, there is {files}", folder.display())]
    TooFewFiles {
        /// The folder.
        folder: PathBuf,
        /// Files in it.
        files: usize,
    },
    /// The names pick no file, or every file.
    #[error(
        "{}: {key} {names:?} match {matched} of {files} files, whose names are compared without their extensions; \
         both sides need at least one",
        folder.display()
    )]
    Names {
        /// The folder.
        folder: PathBuf,
        /// Name of the setting.
        key: &'static str,
        /// The configured names.
        names: Vec<String>,
        /// Files that match.
        matched: usize,
        /// Files in all.
        files: usize,
    },
    /// Train and test share files because one folder lies inside the other.
    #[error(
        "the test folder {} and the training folder {} overlap; a model may not train on its test files",
        test.display(),
        train.display()
    )]
    Overlap {
        /// Training folder.
        train: PathBuf,
        /// Test folder.
        test: PathBuf,
    },
    /// A setting is out of its range.
    #[error("{key} is {got}; it must be {accepts}")]
    Setting {
        /// Name of the setting, as in the configuration.
        key: &'static str,
        /// The value given.
        got: String,
        /// The values accepted.
        accepts: String,
    },
}

impl DataError {
    pub(super) fn setting(key: &'static str, got: impl std::fmt::Display, accepts: impl Into<String>) -> Self {
        Self::Setting { key, got: got.to_string(), accepts: accepts.into() }
    }
}

/// Checks that a frame has at least one sample.
pub(super) fn check_frame(frame: usize) -> Result<(), DataError> {
    if frame == 0 {
        return Err(DataError::setting("frame", frame, "at least 1 sample"));
    }
    Ok(())
}
