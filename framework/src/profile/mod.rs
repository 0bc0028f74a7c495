//! Device profiles: the constants and measured latencies of a device that predictions follow from.
//!
//! A [`Preset`] has published constants for a kind of device; [calibration](crate::calibration) replaces them by
//! measured ones and adds [`Crossovers`] of strategies and a [`LatencyTable`] per operation. Calibrated profiles are TOML
//! files, keyed by the [fingerprint](crate::device::fingerprint) of machine and device.
//!
//! ```
//! use firefly_framework::device::DeviceId;
//! use firefly_framework::profile::load_or_preset;
//!
//! let (profile, _) = load_or_preset(DeviceId::CPU);
//! println!("{} profile: {} GB/s", profile.origin(), profile.memory_bandwidth);
//! ```

mod store;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::picker::Crossovers;
pub use crate::published::Preset;
pub use store::{PROFILE_FORMAT, ProfileError, default_path, load, load_or_preset, save};

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

/// Measured latencies of an operation over a size. The time is linear in the size between two measured ones: a constant
/// per call plus a constant per unit. Extrapolation continues the slope of the interval at the edge, clamped so that
/// neither constant is negative where the measurements are noisy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyTable {
    /// Name of the size, such as `traffic`.
    pub over: String,
    /// The measured sizes: positive, increasing.
    pub sizes: Vec<f64>,
    /// Nanoseconds at each size.
    pub nanoseconds: Vec<f64>,
}

/// Sizes or times that make no measurement.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidMeasurement(
    /// The reason.
    pub String,
);

impl LatencyTable {
    /// The table of times at sizes.
    ///
    /// # Errors
    /// [`InvalidMeasurement`] for sizes that are not positive and increasing, and times that are not positive or as many.
    pub fn new(over: &str, sizes: Vec<f64>, nanoseconds: Vec<f64>) -> Result<Self, InvalidMeasurement> {
        let table = Self { over: over.into(), sizes, nanoseconds };
        table.validate()?;
        Ok(table)
    }

    /// Checks sizes and times, as of a table read from a file.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn validate(&self) -> Result<(), InvalidMeasurement> {
        let positive = |values: &[f64]| values.iter().all(|value| value.is_finite() && *value > 0.0);
        if self.sizes.is_empty() || !positive(&self.sizes) || !self.sizes.is_sorted_by(|a, b| a < b) {
            return Err(InvalidMeasurement(format!("sizes over `{}` must be positive and increasing", self.over)));
        }
        if self.nanoseconds.len() != self.sizes.len() {
            let (got, sizes) = (self.nanoseconds.len(), self.sizes.len());
            return Err(InvalidMeasurement(format!("{got} times for {sizes} sizes")));
        }
        let are_times = positive(&self.nanoseconds);
        are_times
            .then_some(())
            .ok_or_else(|| InvalidMeasurement("every time must be a positive number of nanoseconds".into()))
    }

    /// Predicted nanoseconds at a size.
    pub fn predict(&self, size: f64) -> f64 {
        let last = self.sizes.len() - 1;
        if last == 0 {
            return self.nanoseconds[0];
        }
        let next = self.sizes.partition_point(|value| *value <= size).clamp(1, last);
        let (low, high) = (self.sizes[next - 1], self.sizes[next]);
        let (start, end) = (self.nanoseconds[next - 1], self.nanoseconds[next]);
        let slope = (end - start) / (high - low);
        // Outside, neither the slope nor the intercept may be negative.
        if size < low {
            start - (low - size) * slope.clamp(0.0, start / low)
        } else if size > high {
            end + (size - high) * slope.clamp(0.0, end / high)
        } else {
            start + (size - low) * slope
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn times_are_a_cost_per_call_and_per_unit() {
        let table =
            |sizes: &[f64], times: &[f64]| LatencyTable::new("traffic", sizes.to_vec(), times.to_vec()).unwrap();
        let rising = table(&[1.0, 8.0, 64.0], &[105.0, 140.0, 420.0]);
        for size in [1.0, 3.0, 8.0, 20.0, 64.0, 32_768.0] {
            let (expected, got) = (100.0 + 5.0 * size, rising.predict(size));
            assert!((got / expected - 1.0).abs() < 1e-9, "{size}: {got} for {expected}");
        }
        // Noisy measurements extrapolate to no negative cost per call or per unit.
        assert!((table(&[8.0, 64.0], &[10.0, 1000.0]).predict(128.0) - 2000.0).abs() < 1e-6);
        assert!((table(&[8.0, 64.0], &[10.0, 9.0]).predict(1e6) - 9.0).abs() < 1e-6);
        assert!(table(&[8.0, 64.0], &[10.0, 1000.0]).predict(1.0) > 0.0);
        assert_eq!(table(&[16.0], &[5.0]).predict(100.0), 5.0);
    }

    #[test]
    fn invalid_sizes_and_times_are_errors() {
        let error = |sizes: &[f64], times: &[f64]| {
            LatencyTable::new("n", sizes.to_vec(), times.to_vec()).unwrap_err().to_string()
        };
        for sizes in [&[][..], &[2.0, 1.0], &[1.0, 1.0], &[0.0, 1.0], &[1.0, f64::INFINITY]] {
            assert_eq!(error(sizes, &[1.0, 1.0]), "sizes over `n` must be positive and increasing");
        }
        assert_eq!(error(&[1.0, 2.0], &[1.0]), "1 times for 2 sizes");
        for time in [0.0, f64::NAN] {
            assert!(error(&[1.0, 2.0], &[1.0, time]).contains("a positive number of nanoseconds"));
        }
    }
}
