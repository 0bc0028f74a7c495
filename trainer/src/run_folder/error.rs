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
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum FolderError {
    #[error("{} holds no run", .0.display())]
    NoRun(PathBuf, #[source] io::Error),
    #[error("{} is the folder of a sweep: give that of one of its runs, {}", .0.display(), .1.join(", "))]
    Sweep(PathBuf, Vec<String>),
    #[error("{} holds no run to resume", .0.display())]
    NothingToResume(PathBuf, #[source] io::Error),
    #[error("{} holds a run of the task {task}, not of {expected}", folder.display())]
    OtherTask { folder: PathBuf, task: TaskName, expected: TaskName },
    #[error("{} has no model yet: finish the run with --resume", .0.display())]
    NoModel(PathBuf),
    #[error("{} already holds a run: continue it with --resume, or choose another --out", .0.display())]
    HoldsRun(PathBuf),
    #[error("{} is not empty: choose another --out", .0.display())]
    NotEmpty(PathBuf),
    #[error("another process is training in {}", .0.display())]
    InUse(PathBuf),
    #[error("{} was started differently, and a resumed run must be the same: {}", .0.display(), .1)]
    Different(PathBuf, String),
    #[error("reading {}{version}", path.display())]
    ReadConfig { path: PathBuf, version: String, source: Box<toml::de::Error> },
    #[error("{}", .0.display())]
    Config(PathBuf, #[source] Box<ConfigError>),
    #[error(
        "{} is not the model of this run: {}. Put the run's own model back, or train it again",
        .0.display(), .1
    )]
    OtherModel(PathBuf, String),
    #[error("the configuration can't be written as TOML")]
    Toml(#[from] toml::ser::Error),
    #[error("opening {}", .0.display())]
    Open(PathBuf, #[source] io::Error),
    #[error("writing {}", .0.display())]
    Write(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Store(#[from] ModelError),
}
