//! Key `devices`: names of the devices to train on.

use firefly_app::device_list::{DeviceList, DeviceListError};
use serde::{Deserialize, Deserializer, Serialize};

/// Names of devices, as a list or as one text with commas; none for the device of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DeviceNames(Vec<String>);

impl DeviceNames {
    /// Whether none is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The devices that are named; none if none is.
    ///
    /// # Errors
    /// For a name that is not a device's.
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
