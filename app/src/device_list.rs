//! Lists of devices as users name them: `cuda:0,cuda:1`, or `cuda:*` for every device of a kind.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;
use thiserror::Error;

use crate::device::{DeviceChoice, DeviceError, DeviceName};

/// Suffix of a kind that stands for all its devices.
const EVERY: &str = ":*";
/// Devices of a kind that are looked for at most.
const MAX_DEVICES: usize = 64;

/// Error of a list of devices.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum DeviceListError {
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("no device is named")]
    Empty,
    #[error("device `{0}` is named twice")]
    Repeated(DeviceName),
    #[error("devices `{0}` and `{1}` are of different kinds: a run takes devices of one kind")]
    Mixed(DeviceName, DeviceName),
    #[error("device `{0}`: the index must be a whole number, or * for every device of the kind")]
    Index(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum DeviceEntry {
    One(DeviceChoice),
    /// Every device of a kind, or of a server, by its first.
    Every(DeviceName),
}

/// One device or several of one kind. Of the processor, of which there is one, indices name replicas: `cpu:0,cpu:1` are
/// two on the same cores, as a configuration for several devices is tried without them.
///
/// ```
/// use firefly_app::device_list::DeviceList;
///
/// let devices: DeviceList = "cpu:0,cpu:1".parse().unwrap();
/// assert_eq!(devices.open().unwrap().len(), 2);
/// assert_eq!(devices.to_string(), "cpu,cpu:1");
/// assert!("cpu,cpu:0".parse::<DeviceList>().unwrap().open().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceList(Vec<DeviceEntry>);

impl DeviceList {
    /// A single device.
    pub fn single(device: DeviceChoice) -> Self {
        Self(vec![DeviceEntry::One(device)])
    }

    /// The list of these names, each as in [`FromStr`].
    ///
    /// # Errors
    /// For a name that is not a device's, and for no names.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, DeviceListError> {
        let names: Vec<&str> = names.into_iter().map(str::trim).collect();
        let several = names.len() > 1;
        let entries = names.into_iter().map(|name| entry(name, several)).collect::<Result<Vec<_>, _>>()?;
        if entries.is_empty() { Err(DeviceListError::Empty) } else { Ok(Self(entries)) }
    }

    /// The devices by name. Those of a kind are looked for.
    ///
    /// # Errors
    /// For a device that is named twice, devices of different kinds, and a kind without devices.
    pub fn names(&self) -> Result<Vec<DeviceName>, DeviceListError> {
        let mut names: Vec<DeviceName> = Vec::new();
        for entry in &self.0 {
            let found = match entry {
                DeviceEntry::One(choice) => vec![choice.name()],
                DeviceEntry::Every(first) => present(*first)?,
            };
            for name in found {
                if names.contains(&name) {
                    return Err(DeviceListError::Repeated(name));
                }
                if let Some(first) = names.first().filter(|first| first.kind() != name.kind()) {
                    return Err(DeviceListError::Mixed(*first, name));
                }
                names.push(name);
            }
        }
        Ok(names)
    }

    /// The devices, opened.
    ///
    /// # Errors
    /// As [`names`](Self::names), and for a device that this build or machine lacks.
    pub fn open(&self) -> Result<Vec<Device>, DeviceListError> {
        Ok(self.names()?.into_iter().map(DeviceName::open).collect::<Result<Vec<_>, _>>()?)
    }

    /// Whether which device it is was left open.
    pub fn is_auto(&self) -> bool {
        self.0 == [DeviceEntry::One(DeviceChoice::Auto)]
    }
}

/// The entry of a name, one of `several` or alone.
fn entry(name: &str, several: bool) -> Result<DeviceEntry, DeviceListError> {
    if let Some(kind) = name.strip_suffix(EVERY) {
        let named: DeviceName = kind.parse()?;
        return Ok(DeviceEntry::Every(named.id().with_index(0).into()));
    }
    // Replicas on the processor, which has no second device.
    if several
        && let Some((kind, index)) = name.split_once(':')
        && let Ok(kind) = kind.parse::<DeviceName>()
        && kind.kind().is_host()
    {
        let index = index.parse().map_err(|_| DeviceListError::Index(name.to_string()))?;
        return Ok(DeviceEntry::One(DeviceChoice::Named(kind.id().with_index(index).into())));
    }
    Ok(DeviceEntry::One(name.parse()?))
}

/// Every device of the kind or the server of `first`.
fn present(first: DeviceName) -> Result<Vec<DeviceName>, DeviceError> {
    first.open()?;
    if first.kind().is_host() {
        return Ok(vec![first]);
    }
    let others = (1..MAX_DEVICES).map(|index| DeviceName::from(first.id().with_index(index)));
    Ok(std::iter::once(first).chain(others.take_while(|name| name.open().is_ok())).collect())
}

impl FromStr for DeviceList {
    type Err = DeviceListError;

    /// Names separated by commas: those of [`DeviceChoice`], and `KIND:*`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::of(text.split(','))
    }
}

impl fmt::Display for DeviceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match entry {
                DeviceEntry::One(choice) => write!(f, "{separator}{choice}")?,
                DeviceEntry::Every(first) => write!(f, "{separator}{first}{EVERY}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        text.parse::<DeviceList>().and_then(|devices| devices.open()).unwrap_err().to_string()
    }

    #[test]
    fn lists_parse_and_print() {
        for text in ["cpu", "auto", "cuda,cuda:1", "cuda:*", "cpu,cpu:1,cpu:2", "remote:gpu:7700:*"] {
            assert_eq!(text.parse::<DeviceList>().unwrap().to_string(), text);
        }
        assert_eq!("cuda:1:*".parse::<DeviceList>().unwrap().to_string(), "cuda:*");
        assert_eq!("remote:gpu:7700:1:*".parse::<DeviceList>().unwrap().to_string(), "remote:gpu:7700:*");
        assert_eq!("cpu:0, cpu:1".parse::<DeviceList>().unwrap().to_string(), "cpu,cpu:1");
        assert_eq!("cpu:*".parse::<DeviceList>().unwrap().open().unwrap(), [Device::flex()]);
        assert_eq!("cpu,cpu:1".parse::<DeviceList>().unwrap().open().unwrap().len(), 2);
    }

    #[test]
    fn repeated_unknown_and_mixed_devices_are_refused() {
        assert_eq!(error("cpu:1,cpu:1"), "device `cpu:1` is named twice");
        assert_eq!(error("cpu,cpu:0"), "device `cpu` is named twice");
        assert!(error("cpu,cdua:1").contains("did you mean `cuda`?"));
        assert!(error("gpu:*").contains("unknown device `gpu`"));
        assert!(error("cpu,cpu:x").contains("whole number"), "{}", error("cpu,cpu:x"));
        assert!(error("cpu:1").contains("there is one CPU"));
        assert!(error("cpu,").contains("unknown device ``"));
        assert_eq!(DeviceList::of([]).unwrap_err(), DeviceListError::Empty);
        assert!(error("cpu,cuda").contains("of different kinds"));
    }
}
