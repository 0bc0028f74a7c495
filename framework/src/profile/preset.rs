//! Presets: published constants per kind of device.

use std::collections::BTreeMap;
use std::str::FromStr;

use thiserror::Error;

use super::{DeviceProfile, MaxSlowdown, PeaksTerms};
use crate::device::DeviceKind;

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

    /// The constants.
    pub fn profile(self) -> DeviceProfile {
        let from_2048 = MaxSlowdown { batch: 2048, ratio: 1.10 };
        let (dispatch, roundtrip, memory_bandwidth, link_bandwidth, unified, host_penalty, min_gain) = match self {
            Self::Metal => (500.0, 5000.0, 200.0, 200.0, true, 2e6, 1000.0),
            Self::Cuda | Self::Rocm => (2000.0, 20_000.0, 800.0, 50.0, false, 15e6, 5000.0),
            Self::Wgpu => (3000.0, 30_000.0, 100.0, 40.0, false, 25e6, 10_000.0),
            Self::Cpu => (50.0, 0.0, 50.0, 50.0, true, 0.0, 0.0),
        };
        let (compute_factor, max_slowdowns) = match self {
            Self::Metal => (7.5, vec![from_2048]),
            Self::Cuda | Self::Rocm => (0.43, vec![from_2048, MaxSlowdown { batch: 8192, ratio: 1.15 }]),
            Self::Wgpu => (2.2, vec![from_2048]),
            Self::Cpu => (1.0, Vec::new()),
        };
        let native_from = Some(2048);
        let peaks = match self {
            Self::Metal => PeaksTerms { gpu: true, host_growth: [0.22, 1.15], native_from: None },
            Self::Cuda | Self::Rocm => PeaksTerms { gpu: true, host_growth: [0.15, 0.85], native_from },
            Self::Wgpu => PeaksTerms { gpu: true, host_growth: [0.12, 0.0], native_from },
            Self::Cpu => PeaksTerms::default(),
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
            latencies: BTreeMap::new(),
            operations: BTreeMap::new(),
        }
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_called = |preset: &Self| preset.name() == text || preset.aliases().contains(&text);
        Self::ALL.into_iter().find(is_called).ok_or_else(|| UnknownPreset(text.into()))
    }
}

/// Name that is no preset's.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown preset `{0}`; presets are metal, cuda, rocm, wgpu and cpu")]
pub struct UnknownPreset(
    /// The name.
    pub String,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_parse_and_are_valid() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
            assert!(preset.aliases().iter().all(|alias| alias.parse() == Ok(preset)));
            assert_eq!(preset.profile().invalid_constant(), None);
        }
        let error = "metl".parse::<Preset>().unwrap_err().to_string();
        assert_eq!(error, "unknown preset `metl`; presets are metal, cuda, rocm, wgpu and cpu");
    }
}
