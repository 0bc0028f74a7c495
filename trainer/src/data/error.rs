//! Errors of the settings of the data.

use std::path::PathBuf;

use firefly_recordings::RecordingError;
use thiserror::Error;

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
