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
pub enum TaskError {
    /// The data can't be read, or their settings are out of range.
    #[error("can't open the data")]
    Data(#[from] DataError),
    /// A value of the configuration does not fit the data.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Data, configuration and model do not fit each other.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// A model of the zoo can't be made or run.
    #[error(transparent)]
    Model(#[from] ZooError),
    /// The work was stopped before it was done.
    #[error("interrupted")]
    Interrupted,
    /// The data have no validation frames.
    #[error("there are no validation frames")]
    NoValidationFrames,
    /// No validation frame has power.
    #[error("no validation frame has power: the samples are silent, or too small or too large to be squared in f32")]
    NoValidationPower,
    /// The data set of an evaluation is empty.
    #[error("{0}: there are no frames to evaluate")]
    NoFrames(String),
    /// No frame of an evaluation has power, so that there is nothing to estimate.
    #[error("{0}: no frame has power: the samples are silent, or too small or too large to be squared in f32")]
    NoPower(String),
    /// A solver of an equation does not converge, or its grid does not resolve the solution.
    #[error("the solver of {equation} does not converge on sample {sample}: in data.generated, give {remedy}")]
    NotConverged {
        /// Name of the equation.
        equation: &'static str,
        /// Number of the sample.
        sample: usize,
        /// Settings that help.
        remedy: &'static str,
    },
    /// A model can't be run on a test set.
    #[error("the model can't be evaluated on {0}: {1}")]
    TestSet(String, String),
    /// A model does not have the outputs that the task needs.
    #[error("the model {0} can't be trained for this task: {1}")]
    Unsuitable(String, String),
    /// A file can't be used, and why: with row and column of a table.
    #[error("{}: {}", .0.display(), .1)]
    Input(PathBuf, String),
    /// There are too few signals for a kind of noise.
    #[error(
        "data.noises has {0}, but there is none: babble needs two files with power in each part of the data, \
         recorded noise one"
    )]
    NoNoise(&'static str),
    /// The task has no data of this name.
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
pub enum ModelError {
    /// The file of a model of the zoo.
    #[error(transparent)]
    Zoo(#[from] ZooError),
    /// A file of a model can't be read or written.
    #[error("{}", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// Weights or description of a model are damaged, or do not belong together.
    #[error("{}: {}", .0.display(), .1)]
    Weights(PathBuf, String),
}
