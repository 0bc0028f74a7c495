//! Checks of the values that configurations of every task have.

use std::fmt::Display;
use std::path::Path;

use firefly_app::device::{DeviceChoice, DeviceName};
use firefly_app::device_list::DeviceList;
use firefly_app::number::bytes;

use super::{ConfigError, HeldValues, Length, ModelChoice, RunConfig, Sections, Training, TrainingSection};
use crate::checkpoint::MIN_KEPT;
use crate::data::DataError;

/// Upper limit of frames per batch and per synthetic data set.
pub(crate) const MAX_FRAMES: usize = 1 << 20;
/// Upper limit of steps.
const MAX_STEPS: u64 = 1_000_000_000_000;

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
        ensure(length as u64 <= MAX_STEPS, key, length, "at most 1,000,000,000,000")?;
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
        ensure(
            schedule.keep_checkpoints >= MIN_KEPT,
            "schedule.keep_checkpoints",
            schedule.keep_checkpoints,
            "at least 2: the last, and the one before in case the last is damaged",
        )?;
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
