//! The configuration of a run: its TOML file, checked key by key.

mod load;
mod optimizer_section;
pub mod reference;
mod sections;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use firefly_app::device_list::{DeviceList, DeviceListError};
use firefly_app::suggest;
use serde::{Deserialize, Deserializer, Serialize};
use toml::Value;

pub use load::{ConfigError, DataRoot, GENERATED, load, load_text, task_of, task_of_text};
pub(crate) use load::{locate, locate_frames, locate_own, locate_recordings};
pub use optimizer_section::{Optimizer, OptimizerSection, RateSchedule};
pub use sections::{HeldValues, Length, ModelChoice, NoKeys, Section, Sections, Training, TrainingSection};
pub(crate) use sections::{MAX_FRAMES, RATIOS_DB, choice, ensure, ensure_within, in_section, section};

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

choice! {
    /// Name of a task.
    #[derive(Default)]
    pub enum TaskName {
        #[default]
        Peaks = "peaks",
        Transform = "transform",
        Forecasting = "forecasting",
        Classification = "classification",
        Denoising = "denoising",
        Operator = "operator",
    }
}

impl TaskName {
    /// Description of what is trained, in a line.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Peaks => "strongest lines of Welch power spectra, learned with fewer segments or butterflies",
            Self::Transform => "a fast transform, learned from its matrix or from examples",
            Self::Forecasting => "the next rows of a series, from those before",
            Self::Classification => "the class of a recording, or of each of its parts",
            Self::Denoising => "a recording without the noise that was added to it",
            Self::Operator => "a map between fields on grids, such as the solution of a differential equation",
        }
    }
}

impl FromStr for TaskName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.iter().map(|task| task.as_str());
        Self::ALL.into_iter().find(|task| task.as_str() == text).ok_or_else(|| {
            let known = names().collect::<Vec<_>>().join(", ");
            format!("there is no task `{text}`{}; tasks are {known}", suggest::hint(text, names()))
        })
    }
}

/// A configuration with every key set, and the versions and the device it runs with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Resolved<T: Sections> {
    /// Version of Firefly.
    pub firefly: String,
    /// Version of Burn.
    pub burn: String,
    /// Names of the devices, separated by commas.
    pub device: String,
    /// The configuration.
    pub config: RunConfig<T>,
}

impl<T: Sections> Resolved<T> {
    /// The configuration of a run by this version on `devices`.
    pub fn new(config: RunConfig<T>, devices: &[impl Display]) -> Self {
        let (firefly, burn) = (env!("CARGO_PKG_VERSION").into(), env!("FIREFLY_BURN_VERSION").into());
        let devices: Vec<String> = devices.iter().map(ToString::to_string).collect();
        Self { firefly, burn, device: devices.join(", "), config }
    }

    /// The same configuration on the devices of another one. A run that continues on other devices is the same run.
    pub fn on_devices_of(&self, other: &Self) -> Self {
        let config = RunConfig { devices: other.config.devices.clone(), ..self.config.clone() };
        Self { device: other.device.clone(), config, ..self.clone() }
    }

    /// Whether this is the configuration of the same run, on whatever devices.
    pub fn is_same_run(&self, other: &Self) -> bool {
        self.on_devices_of(other) == *other
    }
}

/// The first key in which two configurations differ, with its values, as a part of a sentence.
pub(crate) fn difference<T: Sections>(started: &Resolved<T>, now: &Resolved<T>) -> Result<String, toml::ser::Error> {
    let keys = |resolved| -> Result<_, toml::ser::Error> {
        let mut keys = BTreeMap::new();
        flatten("", &Value::try_from(resolved)?, &mut keys);
        Ok(keys)
    };
    let (started, now) = (keys(started)?, keys(now)?);
    let differing = started.keys().chain(now.keys()).find(|key| started.get(*key) != now.get(*key));
    let value = |keys: &BTreeMap<String, String>, key: &String| keys.get(key).cloned().unwrap_or("not set".into());
    Ok(differing.map_or_else(String::new, |key| {
        format!("{} was {}, now it is {}", key.trim_start_matches("config."), value(&started, key), value(&now, key))
    }))
}

/// Every key of a configuration with its sections, and its value.
fn flatten(prefix: &str, value: &Value, keys: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            for (name, value) in table {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&key, value, keys);
            }
        }
        value => {
            keys.insert(prefix.to_string(), value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::peaks::PeaksConfig;
    use firefly_app::device::DeviceName;

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

    #[test]
    fn a_resolved_configuration_survives_its_file() {
        let resolved = Resolved::new(PeaksConfig::default(), &[DeviceName::CPU]);
        assert_eq!(toml::from_str::<Resolved<_>>(&toml::to_string(&resolved).unwrap()).unwrap(), resolved);
    }

    #[test]
    fn the_version_of_burn_is_that_of_the_lock_file() {
        let burn = Resolved::new(PeaksConfig::default(), &[DeviceName::CPU]).burn;
        let lock = include_str!("../../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"burn\"\nversion = \"{burn}\"\n")), "{burn}");
    }
}
