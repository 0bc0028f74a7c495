//! Sections of a task's configuration, and their checks.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ConfigError, RunConfig, TaskName, Training};

/// A section of a configuration: every key has a default.
pub trait Section: Debug + Clone + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync {}

impl<T: Debug + Clone + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync> Section for T {}

/// Sections of a task's configuration, with what can be checked of them before any data are opened.
pub trait Sections: Debug + Clone + PartialEq + Sized {
    /// Name of the task.
    const NAME: TaskName;

    /// Section `[model]` of the configuration.
    type ModelSection: Section;
    /// Section `[data]`.
    type DataSection: Section;
    /// Section `[training]`.
    type TrainingSection: Section + Training;
    /// Section `[loss]`.
    type LossSection: Section;
    /// Names of the models that the task trains.
    fn models() -> Vec<&'static str>;

    /// Sets the model of a configuration.
    ///
    /// # Errors
    /// If the task does not train a model of this name.
    fn choose_model(config: &mut RunConfig<Self>, name: &str) -> Result<(), ConfigError>;

    /// Checks the task's own sections.
    ///
    /// # Errors
    /// [`ConfigError::Value`] naming the first key that is out of range.
    fn validate(config: &RunConfig<Self>) -> Result<(), ConfigError>;

    /// Checks that a run fits into `available` bytes of memory.
    ///
    /// # Errors
    /// [`ConfigError::Value`] naming the key that needs most of it.
    fn check_memory(_config: &RunConfig<Self>, _available: u64) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Fills in values that are measured on this machine, so that a run that was started has them.
    ///
    /// # Errors
    /// [`ConfigError::Value`] naming the key whose value can't be had.
    fn complete(_config: &mut RunConfig<Self>) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Makes the paths of data files absolute, relative to `root`. Without a root, data in relative paths are replaced
    /// by generated ones. Returns one that is missing.
    ///
    /// # Errors
    /// If a path is not text.
    fn locate_data(_config: &mut RunConfig<Self>, _root: Option<&Path>) -> Result<Option<PathBuf>, ConfigError> {
        Ok(None)
    }

    /// Whether runs of two configurations can be compared: they have the same data and the same target.
    fn are_comparable(a: &RunConfig<Self>, b: &RunConfig<Self>) -> bool {
        a.data == b.data && a.seed == b.seed
    }
}
