//! Sections of a task's configuration, and the checks of values that configurations of every task have.

use std::fmt::{Debug, Display};
use std::path::Path;

use firefly_app::device::{DeviceChoice, DeviceName};
use firefly_app::device_list::DeviceList;
use firefly_app::number::bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{ConfigError, DataRoot, RunConfig, TaskName};
use crate::checkpoint::MIN_KEPT;
use crate::data::DataError;

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

        impl ::std::fmt::Display for $choice {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
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
    /// Checks the model's name and its settings as far as they are the task's. The error is a [`ConfigError::Value`]
    /// naming the key.
    fn validate(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Names of the models.
    fn models() -> Vec<&'static str>;

    /// Takes the model of this name. An error if the task does not train such a model.
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
        Self::product(key, got, [got as u128, size as u128])
    }

    /// As many values as the product of these factors.
    pub fn product(key: &'static str, got: usize, factors: impl IntoIterator<Item = u128>) -> Self {
        Self { key, got, values: factors.into_iter().fold(1, u128::saturating_mul) }
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

    /// Sets the model of a configuration, and what the data have to be for it. An error if the task does not train a
    /// model of this name.
    fn choose_model(config: &mut RunConfig<Self>, name: &str) -> Result<(), ConfigError> {
        config.model.choose(name)
    }

    /// Checks the task's own sections. The error is a [`ConfigError::Value`] naming the first key that is out of range.
    fn validate(config: &RunConfig<Self>) -> Result<(), ConfigError>;

    /// Values that are generated, and those of a batch. Values of files are counted while they are read.
    fn held_values(config: &RunConfig<Self>) -> Vec<HeldValues>;

    /// Fills in values that are measured on this machine, so that a run that was started has them. The error is
    /// a [`ConfigError::Value`] naming the key whose value can't be had.
    fn complete(_config: &mut RunConfig<Self>) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Makes the paths of data files absolute, or removes them where generated data replace them. An error if a path is
    /// missing in the working folder, or not text.
    fn locate_data(_config: &mut RunConfig<Self>, _root: DataRoot<'_>) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Whether runs of two configurations can be compared: they have the same data and the same target.
    fn are_comparable(a: &RunConfig<Self>, b: &RunConfig<Self>) -> bool {
        a.data == b.data && a.seed == b.seed
    }
}

/// Upper limit of frames per batch and per synthetic data set.
pub(crate) const MAX_FRAMES: usize = 1 << 20;

impl<T: Sections> RunConfig<T> {
    /// Checks every value. The error names the first key that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ensure(self.task == T::NAME, "task", self.task, T::NAME.as_str())?;
        let file_name = Path::new(&self.name).file_name().is_some_and(|name| name == self.name.as_str());
        let plain = !self.name.contains(char::is_control);
        ensure(plain && (file_name || self.name.is_empty()), "name", &self.name, "usable as a folder's name")?;
        self.devices.list()?;
        let schedule = &self.schedule;
        let TrainingSection { steps, epochs, batch, learning_rate: rate } = self.training.common();
        let is_ambiguous = steps.is_some() && epochs.is_some();
        ensure(!is_ambiguous, "training.epochs", "given", "left out where training.steps is given")?;
        let (key, length) = match self.training.length() {
            Length::Steps(steps) => ("training.steps", steps),
            Length::Epochs(epochs) => ("training.epochs", epochs),
        };
        ensure(length as u64 <= 1_000_000_000_000, key, length, "at most 1,000,000,000,000")?;
        ensure(batch <= MAX_FRAMES, "training.batch", batch, "at most 1,048,576")?;
        for (key, value) in [
            (key, length),
            ("training.batch", batch),
            ("schedule.log_every", schedule.log_every),
            ("schedule.validate_every", schedule.validate_every),
            ("schedule.validation_frames", schedule.validation_frames),
            ("schedule.checkpoint_every", schedule.checkpoint_every),
        ] {
            ensure(value >= 1, key, value, "at least 1")?;
        }
        let kept = schedule.keep_checkpoints;
        let expected = "at least 2: the last, and the one before in case the last is damaged";
        ensure(kept >= MIN_KEPT, "schedule.keep_checkpoints", kept, expected)?;
        ensure(rate > 0.0 && rate <= 1.0, "training.learning_rate", rate, "above 0 and at most 1")?;
        self.optimizer.validate()?;
        self.model.validate()?;
        T::validate(self)
    }

    /// The devices of the command line if there are any, or else those of the configuration, or else the CPU. An error
    /// for a name that is not a device's.
    pub fn device_list(&self, chosen: Option<&DeviceList>) -> Result<DeviceList, ConfigError> {
        let default = || DeviceList::single(DeviceChoice::Named(DeviceName::CPU));
        Ok(match chosen {
            Some(chosen) => chosen.clone(),
            None => self.devices.list()?.unwrap_or_else(default),
        })
    }

    /// Checks that generated data and a batch fit into `available` bytes of memory, if that is known. What a step
    /// allocates besides is not forecast. The error names the key of the most values.
    pub fn check_memory(&self, available: Option<u64>) -> Result<(), ConfigError> {
        let (Some(available), held) = (available, T::held_values(self)) else { return Ok(()) };
        let taken = |values: u128| u64::try_from(values.saturating_mul(size_of::<f32>() as u128)).unwrap_or(u64::MAX);
        let total = taken(held.iter().fold(0, |sum, held| sum.saturating_add(held.values)));
        match held.iter().max_by_key(|held| held.values) {
            Some(HeldValues { key, got, values }) if total > available => {
                let [available, total, largest] = [available, total, taken(*values)].map(bytes);
                let expected = format!(
                    "small enough for {available} of memory: data and a batch take {total}, of which this takes {largest}"
                );
                Err(ConfigError::Value { key: (*key).into(), got: got.to_string(), expected })
            }
            _ => Ok(()),
        }
    }
}

/// The error of a setting of the data, by the section that has it.
pub(crate) fn in_section(section: &str, error: DataError) -> ConfigError {
    match error {
        DataError::Setting { key, got, accepts } => {
            ConfigError::Value { key: format!("{section}.{key}"), got, expected: accepts }
        }
        other => ConfigError::Value { key: section.into(), got: "wrong".into(), expected: other.to_string() },
    }
}

/// Checks that a condition on the value of a key holds.
pub(crate) fn ensure(holds: bool, key: &str, got: impl Display, expected: impl Display) -> Result<(), ConfigError> {
    if holds {
        Ok(())
    } else {
        Err(ConfigError::Value { key: key.into(), got: got.to_string(), expected: expected.to_string() })
    }
}

/// Ratios that noise can have to a signal, in decibels.
pub(crate) const RATIOS_DB: [f64; 2] = [-60.0, 200.0];

/// Checks that a condition on a list of numbers holds, and that each of them is in a range.
pub(crate) fn ensure_within(
    holds: bool,
    key: &str,
    numbers: &[f64],
    [least, greatest]: [f64; 2],
    expected: &str,
) -> Result<(), ConfigError> {
    let holds = holds && numbers.iter().all(|number| (least..=greatest).contains(number));
    ensure(holds, key, format_args!("{numbers:?}"), format_args!("{expected} within {least} to {greatest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::TaskName;
    use crate::with_task;

    #[test]
    fn data_and_batches_that_do_not_fit_into_memory_are_named() {
        for task in TaskName::ALL {
            with_task!(task, T => {
                let config = RunConfig::<T>::default();
                let held = T::held_values(&config);
                let total = 4 * held.iter().map(|held| held.values).sum::<u128>() as u64;
                assert!(config.check_memory(Some(total)).is_ok() && config.check_memory(None).is_ok(), "{task}");
                let largest = held.iter().max_by_key(|held| held.values).unwrap();
                let error = config.check_memory(Some(total - 1)).unwrap_err().to_string();
                let expected = format!("{} is {}, but must be small enough for ", largest.key, largest.got);
                assert!(error.starts_with(&expected), "{task}: {error}");
                assert!(total < 1 << 30, "{task}: the default configuration takes {total} bytes");
            });
        }
    }
}
