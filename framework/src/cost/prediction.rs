//! Predicted time of a computation, term by term.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::movement::DataMovement;
use crate::profile::DeviceProfile;

/// Predicted nanoseconds of a computation, term by term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// One round trip to the device.
    pub roundtrip: f64,
    /// Launching kernels.
    pub launches: f64,
    /// Synchronising with the device before the end.
    pub syncs: f64,
    /// Reading and writing device memory.
    pub traffic: f64,
    /// Copying results to the host.
    pub read_back: f64,
}

impl Prediction {
    /// Predicted time of a computation on a device.
    pub fn new(movement: &DataMovement, device: &DeviceProfile) -> Self {
        Self {
            roundtrip: device.roundtrip,
            launches: movement.launches as f64 * device.dispatch,
            syncs: movement.syncs as f64 * device.roundtrip,
            traffic: movement.traffic as f64 / device.memory_bandwidth,
            read_back: movement.read_back(device.unified) as f64 / device.link_bandwidth,
        }
    }

    /// Sum of all terms, in nanoseconds.
    pub fn total(&self) -> f64 {
        self.roundtrip + self.launches + self.syncs + self.traffic + self.read_back
    }

    /// Useful bytes per predicted time, in bytes per nanosecond, which are gigabytes per second.
    pub fn algorithm_bandwidth(&self, useful_bytes: u64) -> f64 {
        useful_bytes as f64 / self.total()
    }
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { roundtrip, launches, syncs, traffic, read_back } = self;
        write!(
            f,
            "{:.0} ns = round trip {roundtrip:.0} + launches {launches:.0} + syncs {syncs:.0} + traffic {traffic:.0} + \
             read-back {read_back:.0}",
            self.total()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Preset;

    #[test]
    fn every_term_follows_its_constant() {
        let movement = DataMovement { launches: 3, syncs: 2, host_output: 4000, traffic: 16_000 };
        let prediction = Prediction::new(&movement, &Preset::Cuda.profile());
        let expected =
            Prediction { roundtrip: 20_000.0, launches: 6000.0, syncs: 40_000.0, traffic: 20.0, read_back: 160.0 };
        assert_eq!(prediction, expected);
        assert_eq!(prediction.total(), 66_180.0);
        assert_eq!(prediction.algorithm_bandwidth(66_180), 1.0);
        assert!(prediction.to_string().starts_with("66180 ns = round trip 20000 + launches 6000"));
    }
}
