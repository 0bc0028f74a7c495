//! Errors of the settings of the data.

use std::path::PathBuf;

use firefly_recordings::RecordingError;
use thiserror::Error;

/// Error in recordings or in the settings of the data.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// A recording or a folder can't be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
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
