//! Checks of the values that configurations of every task have.

use std::path::Path;

use firefly_app::device::{DeviceChoice, DeviceName};
use firefly_app::device_list::DeviceList;

use super::{ConfigError, Length, RunConfig, Sections, Training};
use crate::checkpoint::LEAST_KEPT;

/// Upper limit of frames per batch and per synthetic data set.
pub(crate) const MAX_FRAMES: usize = 1 << 20;
/// Upper limit of steps.
const MAX_STEPS: u64 = 1_000_000_000_000;

impl<T: Sections> RunConfig<T> {
    /// Checks every value.
    ///
    /// # Errors
    /// [`ConfigError::Value`] naming the first key that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ensure(self.task == T::NAME, "task", self.task, T::NAME.as_str())?;
        let file_name = Path::new(&self.name).file_name().is_some_and(|name| name == self.name.as_str());
        let plain = !self.name.contains(char::is_control);
        ensure(plain && (file_name || self.name.is_empty()), "name", &self.name, "usable as a folder's name")?;
        self.devices.list()?;
        let schedule = &self.schedule;
        ensure(!self.training.is_ambiguous(), "training.epochs", "given", "left out where training.steps is given")?;
        let (key, length) = match self.training.length() {
            Length::Steps(steps) => ("training.steps", steps),
            Length::Epochs(epochs) => ("training.epochs", epochs),
        };
        ensure(length as u64 <= MAX_STEPS, key, length, "at most 1,000,000,000,000")?;
        let batch = self.training.batch();
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
            schedule.keep_checkpoints >= LEAST_KEPT,
            "schedule.keep_checkpoints",
            schedule.keep_checkpoints,
            "at least 2: the last, and the one before in case the last is damaged",
        )?;
        let rate = self.training.learning_rate();
        ensure(rate > 0.0 && rate <= 1.0, "training.learning_rate", rate, "above 0 and at most 1")?;
        self.optimizer.validate()?;
        T::validate(self)
    }

    /// The devices of the command line if there are any, or else those of the configuration, or else the CPU.
    ///
    /// # Errors
    /// For a name that is not a device's.
    pub fn device_list(&self, chosen: Option<&DeviceList>) -> Result<DeviceList, ConfigError> {
        let default = || DeviceList::single(DeviceChoice::Named(DeviceName::CPU));
        Ok(match chosen {
            Some(chosen) => chosen.clone(),
            None => self.devices.list()?.unwrap_or_else(default),
        })
    }

    /// Checks that a run fits into `available` bytes of memory, if that is known.
    ///
    /// # Errors
    /// [`ConfigError::Value`] naming the key that needs most of it.
    pub fn check_memory(&self, available: Option<u64>) -> Result<(), ConfigError> {
        available.map_or(Ok(()), |available| T::check_memory(self, available))
    }
}

/// Checks that a condition on the value of a key holds.
pub(crate) fn ensure(
    holds: bool,
    key: &str,
    got: impl std::fmt::Display,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if holds {
        Ok(())
    } else {
        Err(ConfigError::Value { key: key.into(), got: got.to_string(), expected: expected.into() })
    }
}
