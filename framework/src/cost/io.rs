//! What a computation moves.

use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};

/// On a device with memory of its own, the share of its traffic that reading results back costs again.
const STAGED_SHARE: u64 = 4;

/// What a computation moves and waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// Kernels started.
    pub launches: u64,
    /// Times the host waits for the device in the middle, for an operation that it runs itself.
    pub syncs: u64,
    /// Bytes of the outputs that the host reads.
    pub host_output: u64,
    /// Bytes read from and written to device memory.
    pub traffic: u64,
}

impl Io {
    /// Bytes that come back to the host: its output, and without unified memory also a quarter of the device's traffic.
    pub const fn read_back(&self, unified: bool) -> u64 {
        if unified { self.host_output } else { self.host_output + self.traffic / STAGED_SHARE }
    }

    /// Welch peaks by a host that transforms every segment on its own and then looks for the `k` strongest bins:
    /// `batch` frames of `segments` segments of `n_fft` samples of 4 bytes.
    pub const fn host_path(batch: u64, segments: u64, n_fft: u64, k: u64) -> Self {
        let samples = batch * segments * n_fft;
        let peaks = batch * k * PEAK_BYTES;
        Self {
            launches: batch * segments + batch,
            syncs: 0,
            host_output: peaks,
            traffic: samples * SAMPLE_BYTES + samples * COMPLEX_BYTES + peaks,
        }
    }

    /// Bytes that Welch peaks have to move whatever the method: every segment's samples, and the peaks.
    pub const fn useful_bytes(batch: u64, segments: u64, n_fft: u64, k: u64) -> u64 {
        batch * segments * n_fft * SAMPLE_BYTES + batch * k * PEAK_BYTES
    }
}

const SAMPLE_BYTES: u64 = 4;
const COMPLEX_BYTES: u64 = 8;
/// A bin and a power.
const PEAK_BYTES: u64 = 8;

impl Add for Io {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            launches: self.launches + other.launches,
            syncs: self.syncs + other.syncs,
            host_output: self.host_output + other.host_output,
            traffic: self.traffic + other.traffic,
        }
    }
}

impl Sum for Io {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::default(), Self::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_back_costs_more_without_unified_memory() {
        let io = Io { launches: 1, syncs: 0, host_output: 100, traffic: 1000 };
        assert_eq!((io.read_back(true), io.read_back(false)), (100, 350));
    }

    #[test]
    fn the_host_path_launches_a_transform_a_segment() {
        let io = Io::host_path(3, 2, 256, 16);
        let expected = Io { launches: 9, syncs: 0, host_output: 384, traffic: 6144 + 12_288 + 384 };
        assert_eq!(io, expected);
        assert_eq!(Io::useful_bytes(3, 2, 256, 16), 6144 + 384);
    }
}
