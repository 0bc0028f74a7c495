//! Errors of tasks.

use std::io;
use std::path::PathBuf;

use firefly_models::ArgumentError;
use firefly_models::zoo::ZooError;
use firefly_recordings::RecordingError;
use thiserror::Error;

use crate::config::ConfigError;
use crate::data::DataError;

/// Failure of a task: its data, its model or its evaluation.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum TaskError {
    #[error("can't open the data")]
    Data(#[from] DataError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error(transparent)]
    Model(#[from] ZooError),
    #[error("interrupted")]
    Interrupted,
    #[error("there are no validation frames")]
    NoValidationFrames,
    #[error("no validation frame has power: the samples are silent, or too small or too large to be squared in f32")]
    NoValidationPower,
    #[error("{0}: there are no frames to evaluate")]
    NoFrames(String),
    #[error("{0}: no frame has power: the samples are silent, or too small or too large to be squared in f32")]
    NoPower(String),
    #[error("the solver of {equation} does not converge on sample {sample}: in data.generated, give {remedy}")]
    NotConverged { equation: &'static str, sample: usize, remedy: &'static str },
    #[error("the model can't be evaluated on {0}: {1}")]
    TestSet(String, String),
    #[error("the model {0} can't be trained for this task: {1}")]
    Unsuitable(String, String),
    #[error("{}: {}", .0.display(), .1)]
    Input(PathBuf, String),
    #[error(
        "data.noises has {0}, but there is none: babble needs two files with power in each part of the data, \
         recorded noise one"
    )]
    NoNoise(&'static str),
    #[error("`{0}` {1}")]
    UnknownData(String, &'static str),
}

impl From<RecordingError> for TaskError {
    fn from(error: RecordingError) -> Self {
        Self::Data(error.into())
    }
}

/// Failure to write or read a model.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum ModelError {
    #[error(transparent)]
    Zoo(#[from] ZooError),
    #[error("{}", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error("{}: {}", .0.display(), .1)]
    Weights(PathBuf, String),
}
