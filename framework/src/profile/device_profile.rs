//! Device profile: constants and measured latencies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LatencyTable;
use crate::picker::Crossovers;

/// Constants and measured latencies of a device that predictions and fusion decisions follow from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceProfile {
    /// Name of the preset or of the device.
    pub name: String,
    /// Remark on the measurement, such as that the machine was busy; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
    /// Fingerprint of the machine and device it was measured on; empty for a preset.
    #[serde(default)]
    pub fingerprint: String,
    /// Nanoseconds per kernel launch.
    pub dispatch: f64,
    /// Nanoseconds per round trip between host and device.
    pub roundtrip: f64,
    /// Bytes per nanosecond of device memory.
    pub memory_bandwidth: f64,
    /// Bytes per nanosecond between device and host.
    pub link_bandwidth: f64,
    /// Bytes per nanosecond at which the host scans what it has read.
    pub scan_bandwidth: f64,
    /// Whether host and device share their memory, so that reading back copies nothing.
    pub unified: bool,
    /// Whether consecutive elementwise operations run as one kernel, as measured; a preset does not say so.
    #[serde(default)]
    pub merges_elementwise: bool,
    /// Nanoseconds of penalty per synchronisation that a rewrite adds.
    pub host_penalty: f64,
    /// Nanoseconds that a rewrite must save.
    pub min_gain: f64,
    /// Time of a fused computation relative to the predicted time of its data movement alone.
    pub compute_factor: f64,
    /// Terms of the published estimates of Welch peaks.
    #[serde(default)]
    pub peaks: PeaksTerms,
    /// Upper limits on the predicted slowdown of a fused computation, by batch.
    #[serde(default)]
    pub max_slowdowns: Vec<MaxSlowdown>,
    /// Measured crossovers of the strategies of Welch peaks; none in a preset.
    #[serde(default, skip_serializing_if = "Crossovers::is_empty")]
    pub crossovers: Crossovers,
    /// Measured latencies of a graph's operations, by kind and the views that they read through, along their
    /// [size](crate::movement::NodeMovement::latency_size); empty in a preset.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, LatencyTable>,
}

/// Upper limit on the predicted slowdown of a fused computation, from a batch size on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaxSlowdown {
    /// The smallest batch that the limit applies to.
    pub batch: u64,
    /// The largest ratio of predicted time after to predicted time before.
    pub ratio: f64,
}

/// Terms of the published estimates of Welch peaks that differ between devices. By default those of a host.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PeaksTerms {
    /// Whether the device is a GPU: fusing is considered, and small batches have a least time.
    pub gpu: bool,
    /// Growth of host paths that are compared with the device: per natural logarithm of the batch from 512 on, and per
    /// binary logarithm beyond 2,048.
    pub host_growth: [f64; 2],
    /// The batch from which on a native kernel finds peaks without a tail on the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_from: Option<u64>,
}

impl DeviceProfile {
    /// Whether it was measured, and is no preset.
    pub const fn is_calibrated(&self) -> bool {
        !self.fingerprint.is_empty()
    }

    /// `calibrated` or `preset`.
    pub const fn origin(&self) -> &'static str {
        if self.is_calibrated() { "calibrated" } else { "preset" }
    }

    /// Bytes per nanosecond at which results reach the host: over the link, or by its own scan where memory is unified.
    pub const fn host_bandwidth(&self) -> f64 {
        if self.unified { self.scan_bandwidth } else { self.link_bandwidth }
    }

    /// Name of the first constant that is out of range.
    pub(crate) fn invalid_constant(&self) -> Option<&'static str> {
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
            ("peaks.host_growth", self.peaks.host_growth[0]),
            ("peaks.host_growth", self.peaks.host_growth[1]),
        ];
        let wrong = positive.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0));
        let wrong = wrong.or_else(|| not_negative.iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)));
        wrong.map(|(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Preset;

    #[test]
    fn constants_out_of_range_are_named() {
        let profile = DeviceProfile { dispatch: f64::NAN, ..Preset::Cpu.profile() };
        assert_eq!(profile.invalid_constant(), Some("dispatch"));
        let profile = DeviceProfile { link_bandwidth: 0.0, ..Preset::Cpu.profile() };
        assert_eq!(profile.invalid_constant(), Some("link_bandwidth"));
    }

    #[test]
    fn unified_memory_is_scanned_and_not_copied() {
        assert_eq!(Preset::Metal.profile().host_bandwidth(), 1.0);
        assert_eq!(Preset::Cuda.profile().host_bandwidth(), 50.0);
    }
}
