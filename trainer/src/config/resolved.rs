//! The configuration of a run as its folder records it.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::{Deserialize, Serialize};
use toml::Value;

use super::{RunConfig, Sections};

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
    use firefly_app::device::DeviceName;

    use super::*;
    use crate::tasks::peaks::PeaksConfig;

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
