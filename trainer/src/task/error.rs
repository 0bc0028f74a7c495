//! Errors of tasks.

use std::io;
use std::path::PathBuf;

use firefly_models::zoo::ZooError;
use firefly_models::{ArgumentError, StoreError};
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
    #[error("{data_set}: there are no frames to evaluate")]
    NoFrames {
        /// Name of the data set.
        data_set: String,
    },
    /// No frame of an evaluation has power, so that there is nothing to estimate.
    #[error("{data_set}: no frame has power: the samples are silent, or too small or too large to be squared in f32")]
    NoPower {
        /// Name of the data set.
        data_set: String,
    },
    /// A table of data can't be used.
    #[error("{}: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The fault, with row and column.
        reason: String,
    },
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
    #[error("the model can't be evaluated on {data_set}: {reason}")]
    TestSet {
        /// Name of the test set.
        data_set: String,
        /// The mismatch.
        reason: String,
    },
    /// A model does not have the outputs that the task needs.
    #[error("the model {model} can't be trained for this task: {reason}")]
    Unsuitable {
        /// Name of the model.
        model: String,
        /// The missing output.
        reason: String,
    },
    /// A file of inputs can't be predicted from.
    #[error("{}: {reason}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// There are too few signals for a kind of noise.
    #[error(
        "data.noises has {kind}, but there is none: babble needs two files with power in each part of the data, \
         recorded noise one"
    )]
    NoNoise {
        /// Kind of the noise.
        kind: &'static str,
    },
    /// The task has no data of this name.
    #[error("`{name}` {expected}")]
    UnknownData {
        /// The name given.
        name: String,
        /// Accepted values.
        expected: &'static str,
    },
}

/// Failure to write or read a model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The files of a learned Welch model.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file of a model of the zoo.
    #[error(transparent)]
    Zoo(#[from] ZooError),
    /// A file of a model can't be read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Weights or description of a model are damaged, or do not belong together.
    #[error("{}: {reason}", path.display())]
    Weights {
        /// The file or the folder.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
}
