//! Errors in the use of a run's folder.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::config::ConfigError;
use crate::task::ModelError;
use crate::tasks::TaskName;

/// Error in the use of a run's folder.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The folder holds no run.
    #[error("{} holds no run", .0.display())]
    NoRun(PathBuf, #[source] io::Error),
    /// The folder is a sweep's, whose runs are in folders inside it.
    #[error("{} is the folder of a sweep: give that of one of its runs, {}", .0.display(), .1.join(", "))]
    Sweep(PathBuf, Vec<String>),
    /// There is no run to resume.
    #[error("{} holds no run to resume", .0.display())]
    NothingToResume(PathBuf, #[source] io::Error),
    /// The run is of another task.
    #[error("{} holds a run of the task {task}, not of {expected}", folder.display())]
    OtherTask {
        /// The folder.
        folder: PathBuf,
        /// The run's task.
        task: TaskName,
        /// The expected task.
        expected: TaskName,
    },
    /// The run has no finished model yet.
    #[error("{} has no model yet: finish the run with --resume", .0.display())]
    NoModel(PathBuf),
    /// The folder already holds a run.
    #[error("{} already holds a run: continue it with --resume, or choose another --out", .0.display())]
    HoldsRun(PathBuf),
    /// The folder holds files of another origin.
    #[error("{} is not empty: choose another --out", .0.display())]
    NotEmpty(PathBuf),
    /// Another process has locked the folder.
    #[error("another process is training in {}", .0.display())]
    InUse(PathBuf),
    /// The run was started with another configuration.
    #[error("{} was started differently, and a resumed run must be the same: {}", .0.display(), .1)]
    Different(PathBuf, String),
    /// The configuration is not one that a run wrote.
    #[error("reading {}{version}", path.display())]
    ReadConfig {
        /// The file.
        path: PathBuf,
        /// The version that wrote it, if it is another one.
        version: String,
        /// The cause.
        source: Box<toml::de::Error>,
    },
    /// The configuration has a value that no run is started with.
    #[error("{}", .0.display())]
    Config(PathBuf, #[source] Box<ConfigError>),
    /// The model is of another configuration than the run.
    #[error(
        "{} is not the model of this run: {}. Put the run's own model back, or train it again",
        .0.display(), .1
    )]
    OtherModel(PathBuf, String),
    /// The configuration can't be written as TOML: a path is not text.
    #[error("the configuration can't be written as TOML")]
    Toml(#[from] toml::ser::Error),
    /// The folder can't be listed, made or locked.
    #[error("opening {}", .0.display())]
    Open(PathBuf, #[source] io::Error),
    /// A file can't be written.
    #[error("writing {}", .0.display())]
    Write(PathBuf, #[source] io::Error),
    /// The model's files are damaged.
    #[error(transparent)]
    Store(#[from] ModelError),
}
