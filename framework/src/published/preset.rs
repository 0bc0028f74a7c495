//! Presets: published constants per kind of device.

use std::collections::BTreeMap;

use firefly_ops::ArgumentError;

use crate::device::DeviceKind;
use crate::picker::Crossovers;
use crate::profile::{DeviceProfile, MaxSlowdown, PeaksTerms};

/// Published constants of a kind of device, for devices without a calibrated profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Apple's unified memory.
    Metal,
    /// NVIDIA through CUDA.
    Cuda,
    /// AMD through ROCm, with the constants of CUDA.
    Rocm,
    /// Any GPU through WebGPU or Vulkan.
    Wgpu,
    /// The host's processor.
    Cpu,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 5] = [Self::Metal, Self::Cuda, Self::Rocm, Self::Wgpu, Self::Cpu];

    /// The preset for a kind of device; for a server's device, whose kind is not known here, that of CUDA.
    pub const fn of(kind: DeviceKind) -> Self {
        match kind {
            DeviceKind::Cpu | DeviceKind::NdArray => Self::Cpu,
            DeviceKind::Wgpu | DeviceKind::Vulkan => Self::Wgpu,
            DeviceKind::Metal => Self::Metal,
            DeviceKind::Cuda | DeviceKind::Remote => Self::Cuda,
            DeviceKind::Rocm => Self::Rocm,
        }
    }

    /// The name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metal => "metal",
            Self::Cuda => "cuda",
            Self::Rocm => "rocm",
            Self::Wgpu => "wgpu",
            Self::Cpu => "cpu",
        }
    }

    /// Other names: those of the interfaces that wgpu runs on.
    pub const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Wgpu => &["vulkan", "webgpu", "directx", "opengl"],
            _ => &[],
        }
    }

    /// The preset of a name.
    ///
    /// # Errors
    /// [`ArgumentError`] for a name that is no preset's.
    pub fn named(name: &str) -> Result<Self, ArgumentError> {
        let is_called = |preset: &Self| preset.name() == name || preset.aliases().contains(&name);
        Self::ALL.into_iter().find(is_called).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            ArgumentError::new("preset", "name", format!("`{name}`"), format!("one of {names}"))
        })
    }

    /// The constants.
    pub fn profile(self) -> DeviceProfile {
        let from_2048 = MaxSlowdown { batch: 2048, ratio: 1.10 };
        let gpu = |native_from, host_growth| PeaksTerms { gpu: true, host_growth, native_from };
        let (dispatch, roundtrip, memory_bandwidth, link_bandwidth, unified, host_penalty, min_gain) = match self {
            Self::Metal => (500.0, 5000.0, 200.0, 200.0, true, 2e6, 1000.0),
            Self::Cuda | Self::Rocm => (2000.0, 20_000.0, 800.0, 50.0, false, 15e6, 5000.0),
            Self::Wgpu => (3000.0, 30_000.0, 100.0, 40.0, false, 25e6, 10_000.0),
            Self::Cpu => (50.0, 0.0, 50.0, 50.0, true, 0.0, 0.0),
        };
        let (compute_factor, peaks, max_slowdowns) = match self {
            Self::Metal => (7.5, gpu(None, [0.22, 1.15]), vec![from_2048]),
            Self::Cuda | Self::Rocm => {
                (0.43, gpu(Some(2048), [0.15, 0.85]), vec![from_2048, MaxSlowdown { batch: 8192, ratio: 1.15 }])
            }
            Self::Wgpu => (2.2, gpu(Some(2048), [0.12, 0.0]), vec![from_2048]),
            Self::Cpu => (1.0, PeaksTerms::default(), Vec::new()),
        };
        DeviceProfile {
            name: self.name().into(),
            remark: String::new(),
            fingerprint: String::new(),
            dispatch,
            roundtrip,
            memory_bandwidth,
            link_bandwidth,
            scan_bandwidth: 1.0,
            unified,
            merges_elementwise: false,
            host_penalty,
            min_gain,
            compute_factor,
            peaks,
            max_slowdowns,
            crossovers: Crossovers::default(),
            operations: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_names_and_are_valid() {
        for preset in Preset::ALL {
            let is_named = |name: &&str| Preset::named(name) == Ok(preset);
            assert!(is_named(&preset.name()) && preset.aliases().iter().all(is_named));
            assert_eq!(preset.profile().invalid_constant(), None);
        }
        let error = Preset::named("metl").unwrap_err().to_string();
        assert!(error.contains("`metl`") && error.contains("metal, cuda, rocm, wgpu, cpu"), "{error}");
    }
}
