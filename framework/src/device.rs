//! Devices by the names users type: `cpu`, `ndarray`, `wgpu`, `vulkan`, `metal`, `cuda`, each with an optional index.

use std::fmt;
use std::str::FromStr;

#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda"))]
use burn::backend::CubeDevice;
use burn::backend::DispatchDevice;
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
use burn::backend::{WgpuBackend, WgpuDevice, WgpuDeviceKind};
use burn::tensor::Device;
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
use burn::tensor::DeviceKind as GraphicsKind;
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda"))]
use burn::tensor::DeviceType;
use thiserror::Error;

use crate::suggest;

/// The kinds of device Firefly knows by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// Burn's CPU backend, Flex: always there.
    Cpu,
    /// Burn's older CPU backend, behind the feature `ndarray`.
    NdArray,
    /// What wgpu finds, with kernels in WebGPU's language, behind the feature `wgpu`. In a build that has the feature `vulkan`
    /// or `metal` too, kernels are in that API's own language wherever wgpu settles on it.
    Wgpu,
    /// Vulkan through wgpu, with kernels in SPIR-V, behind the feature `vulkan`.
    Vulkan,
    /// Metal through wgpu, behind the feature `metal`.
    Metal,
    /// NVIDIA CUDA, behind the feature `cuda`.
    Cuda,
}

impl DeviceKind {
    /// Every kind, in the order they are listed to users.
    pub const ALL: [Self; 6] = [Self::Cpu, Self::NdArray, Self::Wgpu, Self::Vulkan, Self::Metal, Self::Cuda];

    /// The name users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::NdArray => "ndarray",
            Self::Wgpu => "wgpu",
            Self::Vulkan => "vulkan",
            Self::Metal => "metal",
            Self::Cuda => "cuda",
        }
    }

    /// Whether tensors of the kind are in the host's memory.
    pub const fn is_host(self) -> bool {
        matches!(self, Self::Cpu | Self::NdArray)
    }
}

/// A device as a user names it: a kind and, where a machine may have several, an index (`cuda:1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceName {
    kind: DeviceKind,
    index: usize,
}

/// Why a device can't be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// The name is not one Firefly knows.
    #[error(
        "unknown device `{name}`{hint}; devices are cpu, ndarray, wgpu, vulkan, metal and cuda, with an index as in cuda:1"
    )]
    Unknown {
        /// The name as typed.
        name: String,
        /// A suggestion, or nothing.
        hint: String,
    },
    /// The part after the colon is not a number, or the kind has a single device.
    #[error("device `{name}`: {reason}")]
    Index {
        /// The name as typed.
        name: String,
        /// What is wrong with its index.
        reason: &'static str,
    },
    /// This build lacks the device's feature.
    #[error("device `{0}` is not in this build: build again with `--features {0}`")]
    NotBuilt(&'static str),
    /// The machine lacks the device, or its driver.
    #[error("device `{name}` is not on this machine: its driver offers {found} of the kind")]
    Absent {
        /// The device as the user named it.
        name: String,
        /// How many devices of the kind there are.
        found: usize,
    },
}

impl DeviceName {
    /// The CPU: the default device.
    pub const CPU: Self = Self { kind: DeviceKind::Cpu, index: 0 };

    /// The name of an open device, by what it says of itself: of the device that an autodiff device wraps, and of a kind that is
    /// not listed, the nearest that is.
    pub fn of(device: &Device) -> Self {
        match device.clone().inner().as_dispatch() {
            DispatchDevice::Flex(_) => Self::CPU,
            #[cfg(feature = "ndarray")]
            DispatchDevice::NdArray(_) => Self { kind: DeviceKind::NdArray, index: 0 },
            #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda"))]
            DispatchDevice::Cube(device) => Self::of_cube(device),
            // Which others there are depends on the features of Burn in the user's build.
            #[allow(unreachable_patterns)]
            _ => Self { kind: DeviceKind::Wgpu, index: 0 },
        }
    }

    #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda"))]
    fn of_cube(device: &CubeDevice) -> Self {
        match device {
            CubeDevice::Cuda(device) => Self { kind: DeviceKind::Cuda, index: device.index },
            CubeDevice::Metal(_) => Self { kind: DeviceKind::Metal, index: 0 },
            #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
            CubeDevice::Wgpu(WgpuDevice { kind, backend }) => Self {
                kind: match backend {
                    WgpuBackend::Vulkan => DeviceKind::Vulkan,
                    WgpuBackend::Metal => DeviceKind::Metal,
                    _ => DeviceKind::Wgpu,
                },
                index: if let WgpuDeviceKind::DiscreteGpu(index) = kind { *index } else { 0 },
            },
            _ => Self { kind: DeviceKind::Wgpu, index: 0 },
        }
    }

    /// The kind of device.
    pub const fn kind(self) -> DeviceKind {
        self.kind
    }

    /// Which of several devices of the kind.
    pub const fn index(self) -> usize {
        self.index
    }

    /// Opens the device. Index 0 of a kind behind wgpu is the one that wgpu prefers, another counts its discrete GPUs.
    ///
    /// # Errors
    /// [`DeviceError::NotBuilt`] without the device's feature, [`DeviceError::Absent`] where the machine has no such device.
    pub fn open(self) -> Result<Device, DeviceError> {
        match self.kind {
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
            DeviceKind::Cuda => self.present(DeviceType::Cuda, Device::cuda(self.index)),
            #[allow(unreachable_patterns, reason = "which kinds are left depends on the features")]
            kind => Err(DeviceError::NotBuilt(kind.name())),
        }
    }

    /// The device, if it is among those that Burn finds.
    #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda"))]
    fn present(self, kind: DeviceType, device: Device) -> Result<Device, DeviceError> {
        let found = Device::enumerate(kind);
        let first = self.index == 0 && !found.is_empty();
        if first || found.contains(&device) {
            Ok(device)
        } else {
            Err(DeviceError::Absent { name: self.to_string(), found: found.len() })
        }
    }

    #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
    fn graphics(self) -> GraphicsKind {
        if self.index == 0 { GraphicsKind::DefaultDevice } else { GraphicsKind::DiscreteGpu(self.index) }
    }
}

impl FromStr for DeviceName {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, index) = match text.split_once(':') {
            Some((name, index)) => (name, Some(index)),
            None => (text, None),
        };
        let kind =
            DeviceKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| DeviceError::Unknown {
                name: text.to_string(),
                hint: suggest::hint(name, DeviceKind::ALL.map(DeviceKind::name)),
            })?;
        let wrong = |reason| DeviceError::Index { name: text.to_string(), reason };
        let index = match index {
            None => 0,
            Some(index) if kind.is_host() && index != "0" => {
                return Err(wrong("there is one CPU, of index 0"));
            }
            Some(index) => index.parse().map_err(|_| wrong("the index must be a whole number"))?,
        };
        Ok(Self { kind, index })
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if self.index > 0 {
            write!(f, ":{}", self.index)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_and_print() {
        for text in ["cpu", "ndarray", "wgpu", "vulkan", "metal", "cuda", "cuda:1", "wgpu:2"] {
            assert_eq!(text.parse::<DeviceName>().unwrap().to_string(), text);
        }
        assert_eq!("cuda:0".parse::<DeviceName>().unwrap().to_string(), "cuda");
    }

    #[test]
    fn a_wrong_name_is_told_what_would_be_right() {
        let error = "cdua".parse::<DeviceName>().unwrap_err().to_string();
        assert!(error.contains("did you mean `cuda`?"), "{error}");
        let error = "gpu9".parse::<DeviceName>().unwrap_err().to_string();
        assert!(error.contains("cpu, ndarray, wgpu, vulkan, metal and cuda"), "{error}");
        assert!("cpu:1".parse::<DeviceName>().unwrap_err().to_string().contains("there is one CPU"));
        assert_eq!("cpu:0".parse(), Ok(DeviceName::CPU));
        assert!("cuda:x".parse::<DeviceName>().unwrap_err().to_string().contains("whole number"));
    }

    #[test]
    fn an_open_device_says_its_name() {
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
    fn the_cpu_opens_and_what_is_missing_says_so() {
        assert_eq!(DeviceName::CPU.open().unwrap(), Device::flex());
        #[cfg(not(feature = "cuda"))]
        assert_eq!("cuda".parse::<DeviceName>().unwrap().open(), Err(DeviceError::NotBuilt("cuda")));
        for name in ["wgpu:977", "vulkan:977", "metal:977", "cuda:977"] {
            let error = name.parse::<DeviceName>().unwrap().open().unwrap_err();
            assert!(matches!(error, DeviceError::NotBuilt(_) | DeviceError::Absent { .. }), "{error}");
        }
        #[cfg(not(feature = "ndarray"))]
        assert_eq!(
            "ndarray".parse::<DeviceName>().unwrap().open().unwrap_err().to_string(),
            "device `ndarray` is not in this build: build again with `--features ndarray`"
        );
    }
}
