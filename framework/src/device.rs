//! Identity of devices: kind, index, and the fingerprint that calibrated profiles are keyed by.
//!
//! ```
//! use burn::tensor::Device;
//! use firefly_framework::device::{DeviceId, DeviceKind};
//!
//! let id = DeviceId::of(&Device::flex());
//! assert_eq!((id, id.kind(), id.to_string().as_str()), (DeviceId::CPU, DeviceKind::Cpu, "cpu"));
//! ```

use std::collections::BTreeSet;
use std::fmt;
#[cfg(feature = "remote")]
use std::sync::RwLock;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda", feature = "rocm"))]
use burn::backend::CubeDevice;
use burn::backend::DispatchDevice;
#[cfg(feature = "remote")]
use burn::backend::RemoteDevice;
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
use burn::backend::{WgpuBackend, WgpuDevice, WgpuDeviceKind};
use burn::tensor::Device;
#[cfg(any(feature = "flex", feature = "ndarray"))]
use firefly_ops::instruction_sets::instruction_set;

/// Kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// Burn's CPU backend, Flex, behind the default feature `flex`.
    Cpu,
    /// Burn's older CPU backend, behind the feature `ndarray`.
    NdArray,
    /// The device that wgpu selects, with kernels in WGSL, behind the feature `wgpu`. In a build that has the feature
    /// `vulkan` or `metal` too, kernels are in that API's own language wherever wgpu selects it.
    Wgpu,
    /// Vulkan through wgpu, with kernels in SPIR-V, behind the feature `vulkan`.
    Vulkan,
    /// Metal through wgpu, behind the feature `metal`.
    Metal,
    /// NVIDIA CUDA, behind the feature `cuda`.
    Cuda,
    /// AMD ROCm, behind the feature `rocm`.
    Rocm,
    /// Device of a server, in another process or on another machine, behind the feature `remote`.
    Remote,
}

impl DeviceKind {
    /// Every kind of device of this machine, in the order in which they are listed to users.
    pub const ALL: [Self; 7] =
        [Self::Cpu, Self::NdArray, Self::Wgpu, Self::Vulkan, Self::Metal, Self::Cuda, Self::Rocm];

    /// The kind's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::NdArray => "ndarray",
            Self::Wgpu => "wgpu",
            Self::Vulkan => "vulkan",
            Self::Metal => "metal",
            Self::Cuda => "cuda",
            Self::Rocm => "rocm",
            Self::Remote => "remote",
        }
    }

    /// Whether tensors of the kind are in host memory.
    pub const fn is_host(self) -> bool {
        matches!(self, Self::Cpu | Self::NdArray)
    }
}

/// Identity of a device: its kind, an index among the devices of the kind, and the address of the server that has it
/// unless it is on this machine. Prints as `cuda:1` or `remote:gpu:7700:1`, without the index if it is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceId {
    kind: DeviceKind,
    index: usize,
    /// Empty on this machine.
    server: &'static str,
}

impl DeviceId {
    /// The CPU.
    pub const CPU: Self = Self::new(DeviceKind::Cpu, 0);

    /// The device of a kind at an index.
    pub const fn new(kind: DeviceKind, index: usize) -> Self {
        Self { kind, index, server: "" }
    }

    /// The device at another index of the same kind and server.
    pub const fn with_index(self, index: usize) -> Self {
        Self { index, ..self }
    }

    /// The device of a server at an index. Addresses are kept for the life of the process, each once.
    pub fn remote(server: &str, index: usize) -> Self {
        static SERVERS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        let server = servers.get(server).copied().unwrap_or_else(|| {
            let kept: &'static str = Box::leak(Box::from(server));
            servers.insert(kept);
            kept
        });
        Self { kind: DeviceKind::Remote, index, server }
    }

    /// Identity of an open device; of an autodiff device, that of the device it wraps. A device of an unlisted kind is
    /// identified as `Wgpu`; a server's device as it was recorded when it was opened.
    pub fn of(device: &Device) -> Self {
        match device.clone().inner().as_dispatch() {
            #[cfg(feature = "flex")]
            DispatchDevice::Flex(_) => Self::CPU,
            #[cfg(feature = "ndarray")]
            DispatchDevice::NdArray(_) => Self::new(DeviceKind::NdArray, 0),
            #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda", feature = "rocm"))]
            DispatchDevice::Cube(device) => Self::of_cube(device),
            #[cfg(feature = "remote")]
            DispatchDevice::Remote(device) => Self::of_remote(device),
            // Which others there are depends on the features of Burn in the user's build.
            #[allow(unreachable_patterns)]
            _ => Self::new(DeviceKind::Wgpu, 0),
        }
    }

    #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda", feature = "rocm"))]
    fn of_cube(device: &CubeDevice) -> Self {
        match device {
            CubeDevice::Cuda(device) => Self::new(DeviceKind::Cuda, device.index),
            CubeDevice::Hip(device) => Self::new(DeviceKind::Rocm, device.index),
            CubeDevice::Metal(_) => Self::new(DeviceKind::Metal, 0),
            #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
            CubeDevice::Wgpu(WgpuDevice { kind, backend }) => {
                let index = if let WgpuDeviceKind::DiscreteGpu(index) = kind { *index } else { 0 };
                let kind = match backend {
                    WgpuBackend::Vulkan => DeviceKind::Vulkan,
                    WgpuBackend::Metal => DeviceKind::Metal,
                    _ => DeviceKind::Wgpu,
                };
                Self::new(kind, index)
            }
            _ => Self::new(DeviceKind::Wgpu, 0),
        }
    }

    #[cfg(feature = "remote")]
    fn of_remote(device: &RemoteDevice) -> Self {
        let recorded = RECORDED.read().unwrap_or_else(PoisonError::into_inner);
        let identity = recorded.iter().find(|(opened, _)| opened == device).map(|(_, identity)| *identity);
        identity.unwrap_or_else(|| Self::new(DeviceKind::Remote, device.device_index()))
    }

    /// Records the identity of an open device of a server, which does not tell its address.
    #[cfg(feature = "remote")]
    pub fn record(self, device: &Device) {
        if let DispatchDevice::Remote(device) = device.clone().inner().as_dispatch() {
            let mut recorded = RECORDED.write().unwrap_or_else(PoisonError::into_inner);
            recorded.retain(|(opened, _)| opened != device);
            recorded.push((device.clone(), self));
        }
    }

    /// The address of the server that has the device; empty on this machine.
    pub const fn server(self) -> &'static str {
        self.server
    }

    /// The kind of device.
    pub const fn kind(self) -> DeviceKind {
        self.kind
    }

    /// The index among the devices of the kind.
    pub const fn index(self) -> usize {
        self.index
    }
}

/// Identities of the servers' devices that are open.
#[cfg(feature = "remote")]
static RECORDED: RwLock<Vec<(RemoteDevice, DeviceId)>> = RwLock::new(Vec::new());

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if !self.server.is_empty() {
            write!(f, ":{}", self.server)?;
        }
        if self.index > 0 {
            write!(f, ":{}", self.index)?;
        }
        Ok(())
    }
}

/// Fingerprint of a device of this machine: its kind and index, the processor, its instruction set, the number of cores, and the
/// version of Firefly.
pub fn fingerprint(device: DeviceId) -> String {
    let cpu = cpu_name().unwrap_or_else(|| std::env::consts::ARCH.into());
    let (set, cores) = (instruction_set(), available_cores());
    format!("{device}, {cpu}, {set}, {cores} cores, firefly {}", env!("CARGO_PKG_VERSION"))
}

/// Instruction set of a build without a CPU backend.
#[cfg(not(any(feature = "flex", feature = "ndarray")))]
const fn instruction_set() -> &'static str {
    "no CPU backend"
}

/// Name of the processor, where the system tells it.
pub fn cpu_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, name) = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?;
    Some(name.trim().to_string())
}

/// Number of cores that this process may use; at least 1.
pub fn available_cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_of_devices_differ() {
        let [first, second] = [0, 1].map(|index| fingerprint(DeviceId::new(DeviceKind::Cuda, index)));
        assert_eq!(fingerprint(DeviceId::CPU), fingerprint(DeviceId::CPU));
        assert_ne!(first, second);
        assert!(first.contains(&format!(", {}, ", instruction_set())), "{first}");
    }

    #[test]
    fn identities_print_their_index_unless_it_is_0() {
        assert_eq!(DeviceId::new(DeviceKind::Cuda, 1).to_string(), "cuda:1");
        assert_eq!(DeviceId::new(DeviceKind::Cuda, 0).to_string(), "cuda");
        assert_eq!(DeviceId::remote("gpu:7700", 1).to_string(), "remote:gpu:7700:1");
        assert_eq!(DeviceId::remote("gpu:7700", 0).to_string(), "remote:gpu:7700");
    }

    #[test]
    fn an_address_is_kept_once() {
        let [first, second] = [0, 1].map(|index| DeviceId::remote("gpu:7700", index).server());
        assert!(std::ptr::eq(first, second));
    }
}
