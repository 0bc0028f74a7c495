//! Sections of a task's configuration, and their checks.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{ConfigError, DataRoot, RunConfig, TaskName};

/// Epochs where neither steps nor epochs are given.
const DEFAULT_EPOCHS: usize = 10;

/// A section of a configuration: every key has a default.
pub trait Section: Debug + Clone + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync {}

impl<T: Debug + Clone + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync> Section for T {}

/// A section of a configuration, each key with its default beside it; `docs/guide/configuration.md` says what it means.
macro_rules! section {
    (
        $(#[$of_section:meta])*
        pub struct $name:ident {
            $($(#[$of_key:meta])* pub $key:ident: $kind:ty = $default:expr,)*
        }
    ) => {
        $(#[$of_section])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[allow(missing_docs, reason = "docs/guide/configuration.md describes the keys")]
        pub struct $name {
            $($(#[$of_key])* pub $key: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }
    };
}
pub(crate) use section;

/// A choice among names in a configuration; the guide says what each stands for where its documentation does not.
macro_rules! choice {
    (
        $(#[$of_choice:meta])*
        pub enum $choice:ident {
            $($(#[$of_value:meta])* $value:ident = $name:literal,)+
        }
    ) => {
        $(#[$of_choice])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ::serde::Serialize, ::serde::Deserialize)]
        #[allow(missing_docs, reason = "docs/guide/configuration.md describes the values")]
        pub enum $choice {
            $($(#[$of_value])* #[serde(rename = $name)] $value,)+
        }

        impl $choice {
            /// Every value.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// The name, as in a configuration.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}
pub(crate) use choice;

/// Section without keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoKeys {}

/// Section `[model]`: the choice among the models that a task trains.
pub trait ModelChoice: Section {
    /// Checks the model's name and its settings as far as they are the task's.
    ///
    /// # Errors
    /// [`ConfigError::Value`] naming the key.
    fn validate(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Names of the models.
    fn models() -> Vec<&'static str>;

    /// Takes the model of this name.
    ///
    /// # Errors
    /// If the task does not train such a model.
    fn choose(&mut self, name: &str) -> Result<(), ConfigError>;

    /// Statistics of the whole batch that the loss depends on, so that a batch can't be divided among devices; none
    /// where the loss is a mean over examples.
    fn batch_statistics(&self) -> Option<&'static str> {
        None
    }
}

/// Length of a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Steps of the optimizer.
    Steps(usize),
    /// Passes over the training data.
    Epochs(usize),
}

/// Settings that the section `[training]` of every task has.
pub trait Training {
    /// These settings, as a section without further keys.
    fn common(&self) -> TrainingSection;

    /// Length of the training: steps if they are given, or else epochs.
    fn length(&self) -> Length {
        let TrainingSection { steps, epochs, .. } = self.common();
        steps.map_or_else(|| Length::Epochs(epochs.unwrap_or(DEFAULT_EPOCHS)), Length::Steps)
    }
}

section! {
    /// Section `[training]` of the tasks that have no further keys in it.
    pub struct TrainingSection {
        pub steps: Option<usize> = None,
        pub epochs: Option<usize> = None,
        pub batch: usize = 32,
        pub learning_rate: f64 = 1e-3,
    }
}

impl Training for TrainingSection {
    fn common(&self) -> TrainingSection {
        self.clone()
    }
}

/// Values that a run holds in memory at the same time: those that it generates, and those of a batch.
#[derive(Debug, Clone, Copy)]
pub struct HeldValues {
    /// Key that sets their number.
    pub key: &'static str,
    /// Value of the key.
    pub got: usize,
    /// Number of values in f32.
    pub values: u128,
}

impl HeldValues {
    /// `got` items, as the key says, of `size` values each.
    pub fn new(key: &'static str, got: usize, size: usize) -> Self {
        Self { key, got, values: got as u128 * size as u128 }
    }
}

/// Sections of a task's configuration, with what can be checked of them before any data are opened.
pub trait Sections: Debug + Clone + PartialEq + Sized {
    /// Name of the task.
    const NAME: TaskName;

    /// Section `[model]` of the configuration.
    type ModelSection: ModelChoice;
    /// Section `[data]`.
    type DataSection: Section;
    /// Section `[training]`.
    type TrainingSection: Section + Training;
    /// Section `[loss]`.
    type LossSection: Section;

    /// Sets the model of a configuration, and what the data have to be for it.
    ///
    /// # Errors
    /// If the task does not train a model of this name.
    fn choose_model(config: &mut RunConfig<Self>, name: &str) -> Result<(), ConfigError> {
        config.model.choose(name)
    }

    /// Checks the task's own sections.
    ///
    /// # Errors
    /// [`ConfigError::Value`] naming the first key that is out of range.
    fn validate(config: &RunConfig<Self>) -> Result<(), ConfigError>;

    /// Values that are generated, and those of a batch. Values of files are counted while they are read.
    fn held_values(config: &RunConfig<Self>) -> Vec<HeldValues>;

    /// Fills in values that are measured on this machine, so that a run that was started has them.
    ///
    /// # Errors
    /// [`ConfigError::Value`] naming the key whose value can't be had.
    fn complete(_config: &mut RunConfig<Self>) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Makes the paths of data files absolute, or removes them where generated data replace them.
    ///
    /// # Errors
    /// If a path is missing in the working folder, or not text.
    fn locate_data(_config: &mut RunConfig<Self>, _root: DataRoot<'_>) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Whether runs of two configurations can be compared: they have the same data and the same target.
    fn are_comparable(a: &RunConfig<Self>, b: &RunConfig<Self>) -> bool {
        a.data == b.data && a.seed == b.seed
    }
}
