//! Devices by the names that users type: `cpu`, `ndarray`, `wgpu`, `vulkan`, `metal`, `cuda`, `rocm`, each with an
//! optional index, `remote:HOST:PORT` for the devices of a server, and `auto`.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

#[cfg(any(feature = "wgpu", feature = "vulkan"))]
use burn::backend::{CubeDevice, DispatchDevice, WgpuDevice, WgpuDeviceKind};
use burn::tensor::Device;
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
use burn::tensor::DeviceKind as GraphicsKind;
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda", feature = "rocm"))]
use burn::tensor::DeviceType;
pub use firefly_framework::device::{DeviceId, DeviceKind};
use thiserror::Error;

#[cfg(all(feature = "cacheable", feature = "kernel-cache"))]
use crate::kernel_cache;
#[cfg(feature = "remote")]
use crate::remote;
use crate::remote::address::{self, AddressError};
use crate::suggest;

const AUTO: &str = "auto";

/// Name of a device: a kind, an index where a machine may have several (`cuda:1`), and the address of the server for a
/// device of a server (`remote:gpu:7700:1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceName(DeviceId);

/// Error of naming or opening a device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum DeviceError {
    #[error(
        "unknown device `{name}`{hint}; devices are auto, cpu, ndarray, wgpu, vulkan, metal, cuda and rocm, with an \
         index as in cuda:1, and remote:HOST:PORT"
    )]
    Unknown { name: String, hint: String },
    #[error("device `{name}`: {reason}")]
    Index { name: String, reason: &'static str },
    #[error("device `{name}`: {reason}")]
    Address { name: String, reason: AddressError },
    #[cfg(feature = "remote")]
    #[error(transparent)]
    Remote(#[from] remote::RemoteError),
    #[error("device `{0}` is not in this build: build again with `--features {0}`")]
    NotBuilt(&'static str),
    #[error("device `{name}` is not on this machine: its driver offers {found} of the kind")]
    Absent { name: String, found: usize },
}

/// Device as an option takes it: by its name, or `auto`, which is a GPU where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DeviceChoice {
    /// The first GPU that is built in and present, or else the CPU.
    #[default]
    Auto,
    /// This device.
    Named(DeviceName),
}

impl DeviceChoice {
    /// The device. GPUs are looked for once per process.
    pub fn name(self) -> DeviceName {
        static FOUND: OnceLock<DeviceName> = OnceLock::new();
        match self {
            Self::Auto => *FOUND.get_or_init(|| gpus().next().unwrap_or(DeviceName::CPU)),
            Self::Named(name) => name,
        }
    }

    /// The device, and why it is this one if that was left open.
    pub fn explained(self) -> String {
        let name = self.name();
        let built: Vec<&str> = built_in().map(DeviceKind::name).collect();
        match self {
            Self::Named(_) => name.to_string(),
            Self::Auto if !name.kind().is_host() => {
                format!("{name} (auto: the first GPU that is built in and present)")
            }
            Self::Auto if built.is_empty() => format!("{name} (auto: this build has no GPU)"),
            Self::Auto => format!("{name} (auto: there is no GPU for {})", built.join(", ")),
        }
    }
}

/// Kinds of GPU that are in this build, the preferred first.
fn built_in() -> impl Iterator<Item = DeviceKind> {
    let kinds = [
        (DeviceKind::Cuda, cfg!(feature = "cuda")),
        (DeviceKind::Rocm, cfg!(feature = "rocm")),
        (DeviceKind::Metal, cfg!(feature = "metal")),
        (DeviceKind::Vulkan, cfg!(feature = "vulkan")),
        (DeviceKind::Wgpu, cfg!(feature = "wgpu")),
    ];
    kinds.into_iter().filter(|(_, is_built)| *is_built).map(|(kind, _)| kind)
}

/// The first device of each kind of GPU that is in this build and on this machine. A processor that emulates one is not
/// a GPU.
fn gpus() -> impl Iterator<Item = DeviceName> {
    let first = |kind| DeviceName(DeviceId::new(kind, 0));
    built_in().map(first).filter(|name| name.open().is_ok() && name.is_hardware())
}

impl FromStr for DeviceChoice {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == AUTO { Ok(Self::Auto) } else { text.parse().map(Self::Named) }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str(AUTO),
            Self::Named(name) => name.fmt(f),
        }
    }
}

impl DeviceName {
    /// The CPU.
    pub const CPU: Self = Self(DeviceId::CPU);

    /// The name of an open device, as [`DeviceId::of`] identifies it.
    pub fn of(device: &Device) -> Self {
        Self(DeviceId::of(device))
    }

    /// The device's identity, which calibrated profiles are keyed by.
    pub const fn id(self) -> DeviceId {
        self.0
    }

    /// The kind of device.
    pub const fn kind(self) -> DeviceKind {
        self.0.kind()
    }

    /// The index among the devices of the kind.
    pub const fn index(self) -> usize {
        self.0.index()
    }

    /// Opens the device. Index 0 of a kind behind wgpu is the device that wgpu prefers; other indices count its
    /// discrete GPUs.
    ///
    /// # Errors
    /// [`DeviceError::NotBuilt`] without the device's feature, [`DeviceError::Absent`] where the machine has no such
    /// device, `DeviceError::Remote` where a server can't be used.
    pub fn open(self) -> Result<Device, DeviceError> {
        #[cfg(all(feature = "cacheable", feature = "kernel-cache"))]
        if !self.kind().is_host() {
            kernel_cache::keep_kernels();
        }
        match self.kind() {
            DeviceKind::Cpu => Ok(Device::flex()),
            #[cfg(feature = "ndarray")]
            #[expect(deprecated, reason = "Burn retires the backend after 0.22; until then its users are served")]
            DeviceKind::NdArray => Ok(Device::ndarray()),
            #[cfg(feature = "wgpu")]
            DeviceKind::Wgpu => self.present(DeviceType::Wgpu, Device::wgpu(self.graphics())),
            #[cfg(feature = "vulkan")]
            DeviceKind::Vulkan => self.present(DeviceType::Vulkan, Device::vulkan(self.graphics())),
            #[cfg(feature = "metal")]
            DeviceKind::Metal => self.present(DeviceType::Metal, Device::metal(self.graphics())),
            #[cfg(feature = "cuda")]
            DeviceKind::Cuda => self.present(DeviceType::Cuda, Device::cuda(self.index())),
            #[cfg(feature = "rocm")]
            DeviceKind::Rocm => self.present(DeviceType::Rocm, Device::rocm(self.index())),
            #[cfg(feature = "remote")]
            DeviceKind::Remote => Ok(remote::open(self.0)?),
            #[allow(unreachable_patterns, reason = "which kinds are left depends on the features")]
            kind => Err(DeviceError::NotBuilt(kind.name())),
        }
    }

    /// The device, if it is among those that Burn enumerates.
    #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda", feature = "rocm"))]
    fn present(self, kind: DeviceType, device: Device) -> Result<Device, DeviceError> {
        let found = Device::enumerate(kind);
        let first = self.index() == 0 && !found.is_empty();
        if first || found.contains(&device) {
            Ok(device)
        } else {
            Err(DeviceError::Absent { name: self.to_string(), found: found.len() })
        }
    }

    /// Whether the kind has a device that is not the processor: a graphics API may offer one that emulates a GPU.
    #[allow(clippy::match_single_binding, reason = "which kinds are left depends on the features")]
    fn is_hardware(self) -> bool {
        match self.kind() {
            #[cfg(feature = "wgpu")]
            DeviceKind::Wgpu => offers_hardware(DeviceType::Wgpu),
            #[cfg(feature = "vulkan")]
            DeviceKind::Vulkan => offers_hardware(DeviceType::Vulkan),
            kind => !kind.is_host(),
        }
    }

    #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
    fn graphics(self) -> GraphicsKind {
        if self.index() == 0 { GraphicsKind::DefaultDevice } else { GraphicsKind::DiscreteGpu(self.index()) }
    }
}

/// Whether a graphics API offers an adapter that is not a processor.
#[cfg(any(feature = "wgpu", feature = "vulkan"))]
fn offers_hardware(kind: DeviceType) -> bool {
    // The default device stands for whichever adapter the API prefers, a GPU before a processor.
    let is_adapter = |device: &Device| {
        matches!(
            device.as_dispatch(),
            DispatchDevice::Cube(CubeDevice::Wgpu(WgpuDevice { kind, .. }))
                if !matches!(kind, WgpuDeviceKind::Cpu | WgpuDeviceKind::DefaultDevice)
        )
    };
    Device::enumerate(kind).iter().any(is_adapter)
}

impl From<DeviceId> for DeviceName {
    fn from(id: DeviceId) -> Self {
        Self(id)
    }
}

impl FromStr for DeviceName {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(place) = address::of_name(text) {
            let (server, index) = place.map_err(|reason| DeviceError::Address { name: text.to_string(), reason })?;
            return Ok(Self(DeviceId::remote(&server, index)));
        }
        let (name, index) = text.split_once(':').map_or((text, None), |(name, index)| (name, Some(index)));
        let kind =
            DeviceKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| DeviceError::Unknown {
                name: text.to_string(),
                hint: match name {
                    "gpu" => format!(" (did you mean `{AUTO}`?)"),
                    _ => suggest::hint(
                        name,
                        DeviceKind::ALL.map(DeviceKind::name).into_iter().chain([AUTO, DeviceKind::Remote.name()]),
                    ),
                },
            })?;
        let wrong = |reason| DeviceError::Index { name: text.to_string(), reason };
        let index = match index {
            None => 0,
            Some(index) if kind.is_host() && index != "0" => {
                return Err(wrong("there is one CPU, of index 0"));
            }
            Some(index) => index.parse().map_err(|_| wrong("the index must be a whole number"))?,
        };
        Ok(Self(DeviceId::new(kind, index)))
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_and_print() {
        for text in ["cpu", "ndarray", "wgpu", "vulkan", "metal", "cuda", "rocm", "cuda:1", "wgpu:2"] {
            assert_eq!(text.parse::<DeviceName>().unwrap().to_string(), text);
        }
        assert_eq!("cuda:0".parse::<DeviceName>().unwrap().to_string(), "cuda");
        for text in ["remote:gpu:7700", "remote:[::1]:7700:2", "remote:wss://gpu:443"] {
            assert_eq!(text.parse::<DeviceName>().unwrap().to_string(), text);
        }
        let error = "remote:gpu".parse::<DeviceName>().unwrap_err().to_string();
        assert!(error.starts_with("device `remote:gpu`: the port"), "{error}");
        assert!("remot:gpu:1".parse::<DeviceName>().unwrap_err().to_string().contains("did you mean `remote`?"));
    }

    #[test]
    fn a_choice_is_a_name_or_left_open() {
        assert_eq!("cuda:1".parse::<DeviceChoice>().unwrap().to_string(), "cuda:1");
        let auto: DeviceChoice = "auto".parse().unwrap();
        assert_eq!((auto, auto.to_string().as_str()), (DeviceChoice::Auto, "auto"));
        assert!(auto.name().open().is_ok());
        assert!(auto.explained().starts_with(&format!("{} (auto: ", auto.name())));
        if built_in().next().is_none() {
            assert_eq!(auto.explained(), "cpu (auto: this build has no GPU)");
        }
        assert!("gpu".parse::<DeviceChoice>().unwrap_err().to_string().contains("did you mean `auto`?"));
        assert_eq!(DeviceChoice::Named(DeviceName::CPU).explained(), "cpu");
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion() {
        let error = "cdua".parse::<DeviceName>().unwrap_err().to_string();
        assert!(error.contains("did you mean `cuda`?"), "{error}");
        let error = "gpu9".parse::<DeviceName>().unwrap_err().to_string();
        assert!(error.contains("cpu, ndarray, wgpu, vulkan, metal, cuda and rocm"), "{error}");
        assert!("cpu:1".parse::<DeviceName>().unwrap_err().to_string().contains("there is one CPU"));
        assert_eq!("cpu:0".parse(), Ok(DeviceName::CPU));
        assert!("cuda:x".parse::<DeviceName>().unwrap_err().to_string().contains("whole number"));
    }

    #[test]
    fn an_open_device_has_the_name_it_was_opened_by() {
        assert_eq!(DeviceName::of(&Device::flex()), DeviceName::CPU);
        assert_eq!(DeviceName::of(&Device::flex().autodiff()), DeviceName::CPU);
        for kind in DeviceKind::ALL {
            let name: DeviceName = kind.name().parse().unwrap();
            if let Ok(device) = name.open() {
                assert_eq!(DeviceName::of(&device), name);
                assert_eq!(DeviceName::of(&device.autodiff()), name);
            }
        }
    }

    #[test]
    fn the_cpu_opens_and_missing_devices_are_errors() {
        assert_eq!(DeviceName::CPU.open().unwrap(), Device::flex());
        #[cfg(not(feature = "cuda"))]
        assert_eq!("cuda".parse::<DeviceName>().unwrap().open(), Err(DeviceError::NotBuilt("cuda")));
        for name in ["wgpu:977", "vulkan:977", "metal:977", "cuda:977", "rocm:977"] {
            let error = name.parse::<DeviceName>().unwrap().open().unwrap_err();
            assert!(matches!(error, DeviceError::NotBuilt(_) | DeviceError::Absent { .. }), "{error}");
        }
        #[cfg(not(feature = "remote"))]
        assert_eq!("remote:gpu:1".parse::<DeviceName>().unwrap().open(), Err(DeviceError::NotBuilt("remote")));
        #[cfg(not(feature = "ndarray"))]
        assert_eq!(
            "ndarray".parse::<DeviceName>().unwrap().open().unwrap_err().to_string(),
            "device `ndarray` is not in this build: build again with `--features ndarray`"
        );
    }
}
