//! What a device costs: presets, and the type that calibration fills.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Floor, Rate};
use crate::device::DeviceKind;

/// The constants of a device that predictions and decisions are made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceProfile {
    /// What it is called: a preset's name or a device's.
    pub name: String,
    /// The machine and device it was measured on; empty for a preset.
    #[serde(default)]
    pub fingerprint: String,
    /// Nanoseconds to start a kernel.
    pub dispatch: f64,
    /// Nanoseconds from the host to the device and back.
    pub roundtrip: f64,
    /// Bytes per nanosecond of device memory.
    pub memory_bandwidth: f64,
    /// Bytes per nanosecond between device and host.
    pub link_bandwidth: f64,
    /// Bytes per nanosecond at which the host looks through what it has read.
    pub scan_bandwidth: f64,
    /// Whether host and device share their memory, so that nothing is copied.
    pub unified: bool,
    /// Nanoseconds that a decision charges for each synchronisation it would add.
    pub host_penalty: f64,
    /// Nanoseconds a rewrite must save.
    pub min_gain: f64,
    /// Time of a fused computation by the time its IO alone is predicted to take.
    pub compute_factor: f64,
    /// Limits on a fused computation's predicted time, by batch.
    #[serde(default)]
    pub floors: Vec<Floor>,
    /// Measured times of strategies, by name; empty in a preset.
    #[serde(default)]
    pub rates: BTreeMap<String, Rate>,
}

impl DeviceProfile {
    /// Bytes per nanosecond at which the host comes by results: over the link, or where memory is unified by its own scan.
    pub const fn host_bandwidth(&self) -> f64 {
        if self.unified { self.scan_bandwidth } else { self.link_bandwidth }
    }

    /// The constants that can't be what they are, by name.
    pub(super) fn wrong_constant(&self) -> Option<&'static str> {
        let positive = [
            ("memory_bandwidth", self.memory_bandwidth),
            ("link_bandwidth", self.link_bandwidth),
            ("scan_bandwidth", self.scan_bandwidth),
            ("compute_factor", self.compute_factor),
        ];
        let not_negative = [
            ("dispatch", self.dispatch),
            ("roundtrip", self.roundtrip),
            ("host_penalty", self.host_penalty),
            ("min_gain", self.min_gain),
        ];
        let wrong = positive.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0));
        let wrong = wrong.or_else(|| not_negative.iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)));
        wrong.map(|(name, _)| *name)
    }
}

/// Constants from the literature, for devices that nobody has calibrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Apple's unified memory.
    Metal,
    /// NVIDIA through CUDA.
    Cuda,
    /// Any GPU through WebGPU or Vulkan.
    Wgpu,
    /// The host.
    Cpu,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 4] = [Self::Metal, Self::Cuda, Self::Wgpu, Self::Cpu];

    /// The preset for a kind of device.
    pub const fn of(kind: DeviceKind) -> Self {
        match kind {
            DeviceKind::Cpu | DeviceKind::NdArray => Self::Cpu,
            DeviceKind::Wgpu | DeviceKind::Vulkan => Self::Wgpu,
            DeviceKind::Metal => Self::Metal,
            DeviceKind::Cuda => Self::Cuda,
        }
    }

    /// The name users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metal => "metal",
            Self::Cuda => "cuda",
            Self::Wgpu => "wgpu",
            Self::Cpu => "cpu",
        }
    }

    /// The constants.
    pub fn profile(self) -> DeviceProfile {
        let gpu_floor = Floor { batch: 2048, ratio: 1.10 };
        let (dispatch, roundtrip, memory_bandwidth, link_bandwidth, unified, host_penalty, min_gain) = match self {
            Self::Metal => (500.0, 5000.0, 200.0, 200.0, true, 2e6, 1000.0),
            Self::Cuda => (2000.0, 20_000.0, 800.0, 50.0, false, 15e6, 5000.0),
            Self::Wgpu => (3000.0, 30_000.0, 100.0, 40.0, false, 25e6, 10_000.0),
            Self::Cpu => (50.0, 0.0, 50.0, 50.0, true, 0.0, 0.0),
        };
        let (compute_factor, floors) = match self {
            Self::Metal => (7.5, vec![gpu_floor]),
            Self::Cuda => (0.43, vec![gpu_floor, Floor { batch: 8192, ratio: 1.15 }]),
            Self::Wgpu => (2.2, vec![gpu_floor]),
            Self::Cpu => (1.0, Vec::new()),
        };
        DeviceProfile {
            name: self.name().into(),
            fingerprint: String::new(),
            dispatch,
            roundtrip,
            memory_bandwidth,
            link_bandwidth,
            scan_bandwidth: 1.0,
            unified,
            host_penalty,
            min_gain,
            compute_factor,
            floors,
            rates: BTreeMap::new(),
        }
    }
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|preset| preset.name() == text).ok_or_else(|| {
            let hint = crate::suggest::hint(text, Self::ALL.map(Self::name));
            format!("unknown preset `{text}`{hint}; presets are metal, cuda, wgpu and cpu")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_parse_and_are_sound() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
            assert_eq!(preset.profile().wrong_constant(), None);
        }
        assert!("metl".parse::<Preset>().unwrap_err().contains("did you mean `metal`?"));
        let wrong = DeviceProfile { dispatch: f64::NAN, ..Preset::Cpu.profile() };
        assert_eq!(wrong.wrong_constant(), Some("dispatch"));
        let wrong = DeviceProfile { link_bandwidth: 0.0, ..Preset::Cpu.profile() };
        assert_eq!(wrong.wrong_constant(), Some("link_bandwidth"));
    }

    #[test]
    fn the_host_scans_what_unified_memory_need_not_copy() {
        assert_eq!(Preset::Metal.profile().host_bandwidth(), 1.0);
        assert_eq!(Preset::Cuda.profile().host_bandwidth(), 50.0);
    }
}
