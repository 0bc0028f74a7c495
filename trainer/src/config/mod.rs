//! The configuration of a run: its TOML file, checked key by key.

mod load;
mod locate;
mod optimizer_section;
pub mod reference;
mod resolved;
mod sections;
mod task_name;
mod validate;

use firefly_app::device_list::{DeviceList, DeviceListError};
use serde::{Deserialize, Deserializer, Serialize};

pub use load::{ConfigError, load, load_text, task_of, task_of_text};
pub use locate::{DataRoot, GENERATED};
pub(crate) use locate::{locate, locate_frames, locate_own, locate_recordings};
pub use optimizer_section::{Optimizer, OptimizerSection, RateSchedule};
pub use resolved::Resolved;
pub(crate) use resolved::difference;
pub use sections::{HeldValues, Length, ModelChoice, NoKeys, Section, Sections, Training, TrainingSection};
pub use task_name::TaskName;
pub(crate) use validate::{MAX_FRAMES, RATIOS_DB, ensure, ensure_within, in_section};

pub(crate) use sections::{choice, section};

/// A training run of a task, as its TOML file states it. Every key has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, bound = "")]
#[allow(missing_docs, reason = "docs/guide/configuration.md describes the keys")]
pub struct RunConfig<T: Sections> {
    pub name: String,
    pub task: TaskName,
    pub seed: u64,
    #[serde(skip_serializing_if = "DeviceNames::is_empty")]
    pub devices: DeviceNames,
    pub model: T::ModelSection,
    pub data: T::DataSection,
    pub training: T::TrainingSection,
    pub optimizer: OptimizerSection,
    pub loss: T::LossSection,
    pub schedule: ScheduleSection,
}

impl<T: Sections> Default for RunConfig<T> {
    fn default() -> Self {
        Self {
            name: String::new(),
            task: T::NAME,
            seed: 0,
            devices: DeviceNames::default(),
            model: T::ModelSection::default(),
            data: T::DataSection::default(),
            training: T::TrainingSection::default(),
            optimizer: OptimizerSection::default(),
            loss: T::LossSection::default(),
            schedule: ScheduleSection::default(),
        }
    }
}

section! {
    /// Metrics, validation and checkpoints, in steps.
    pub struct ScheduleSection {
        pub log_every: usize = 20,
        pub validate_every: usize = 250,
        pub validation_frames: usize = 512,
        pub patience: usize = 0,
        pub checkpoint_every: usize = 500,
        pub keep_checkpoints: usize = 2,
    }
}

/// Names of devices, as a list or as one text with commas; none for the device of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DeviceNames(Vec<String>);

impl DeviceNames {
    /// Whether none is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The devices that are named; none if none is. An error for a name that is not a device's.
    pub fn list(&self) -> Result<Option<DeviceList>, DeviceListError> {
        if self.is_empty() { Ok(None) } else { DeviceList::of(self.0.iter().map(String::as_str)).map(Some) }
    }
}

impl<'de> Deserialize<'de> for DeviceNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected names of devices, such as \"cuda:*\" or [\"cuda:0\", \"cuda:1\"]")]
        enum Names {
            Text(String),
            List(Vec<String>),
        }

        Ok(Self(match Names::deserialize(deserializer)? {
            Names::Text(text) => text.split(',').map(|name| name.trim().to_string()).collect(),
            Names::List(names) => names,
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::tasks::peaks::PeaksConfig;

    fn parsed(text: &str) -> Result<PeaksConfig, String> {
        let config: PeaksConfig = toml::from_str(text).map_err(|error| error.to_string())?;
        config.validate().map_err(|error| error.to_string())?;
        Ok(config)
    }

    #[test]
    fn devices_are_a_list_or_a_text() {
        let list = parsed("devices = [\"cuda:0\", \"cuda:1\"]").unwrap().devices;
        assert_eq!(parsed("devices = \"cuda:0, cuda:1\"").unwrap().devices, list);
        assert_eq!(list.list().unwrap().unwrap().to_string(), "cuda,cuda:1");
        assert_eq!(parsed("devices = \"cuda:*\"").unwrap().devices.list().unwrap().unwrap().to_string(), "cuda:*");
        assert_eq!(parsed("").unwrap().devices.list(), Ok(None));
    }

    #[test]
    fn names_that_are_no_devices_are_refused() {
        assert!(parsed("devices = \"cdua\"").unwrap_err().contains("did you mean `cuda`?"));
        assert!(parsed("devices = 3").unwrap_err().contains("expected names of devices"));
        assert!(parsed("devices = [\"cpu\", 1]").unwrap_err().contains("expected names of devices"));
    }
}
