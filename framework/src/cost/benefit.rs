//! Benefit of one computation over another, and its score in nanoseconds.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::movement::DataMovement;
use crate::profile::DeviceProfile;

/// Savings of a rewrite: before minus after, so that a positive number is a saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Benefit {
    /// Launches saved.
    pub launches: i64,
    /// Synchronisations saved.
    pub syncs: i64,
    /// Bytes of host output saved; the device's own traffic for it is counted in `traffic`.
    pub read_back: i64,
    /// Bytes of device memory traffic saved.
    pub traffic: i64,
}

impl Benefit {
    /// Savings of `after` over `before`.
    pub const fn new(before: &DataMovement, after: &DataMovement) -> Self {
        Self {
            launches: before.launches as i64 - after.launches as i64,
            syncs: before.syncs as i64 - after.syncs as i64,
            read_back: before.host_output as i64 - after.host_output as i64,
            traffic: before.traffic as i64 - after.traffic as i64,
        }
    }
}

/// Benefit in nanoseconds on a device, term by term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Launches.
    pub launches: f64,
    /// Synchronisations.
    pub syncs: f64,
    /// Device memory traffic.
    pub traffic: f64,
    /// Read-back: over the link, or by the host's scan where memory is unified.
    pub read_back: f64,
    /// Penalty of added synchronisations, as a positive number.
    pub host_penalty: f64,
}

impl Score {
    /// Score of a benefit on a device.
    pub fn new(benefit: &Benefit, device: &DeviceProfile) -> Self {
        let added = benefit.syncs.min(0).unsigned_abs();
        Self {
            launches: benefit.launches as f64 * device.dispatch,
            syncs: benefit.syncs as f64 * device.roundtrip,
            traffic: benefit.traffic as f64 / device.memory_bandwidth,
            read_back: benefit.read_back as f64 / device.host_bandwidth(),
            host_penalty: added as f64 * device.host_penalty,
        }
    }

    /// Sum of all terms, in nanoseconds.
    pub fn total(&self) -> f64 {
        self.launches + self.syncs + self.traffic + self.read_back - self.host_penalty
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { launches, syncs, traffic, read_back, host_penalty } = self;
        write!(
            f,
            "{:.0} ns = launches {launches:.0} + syncs {syncs:.0} + traffic {traffic:.0} + read-back {read_back:.0} - \
             host penalty {host_penalty:.0}",
            self.total()
        )
    }
}
