//! Data movement: launches, synchronisations and bytes, of a computation or of every node of a graph.
//!
//! ```
//! use burn::tensor::DType;
//! use firefly_framework::graph::{Graph, Operation};
//! use firefly_framework::movement::{MovementOptions, count};
//!
//! let mut graph = Graph::default();
//! let x = graph.input("x", &[4, 8], DType::F32);
//! let doubled = graph.apply(Operation::MultiplyScalar(2.0), &[x], &[4, 8], DType::F32);
//! graph.set_outputs(&[doubled]);
//! let movement = count(&graph, &MovementOptions::default());
//! // 128 bytes read, 128 written, and 128 read back.
//! assert_eq!((movement.total.launches, movement.total.traffic, movement.total.host_output), (1, 256, 128));
//! ```

mod costs;
mod graph;
mod memory;

use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};

pub use graph::{GraphMovement, MovementOptions, NodeMovement, count};

/// Divisor of a device's traffic: on a device without unified memory, this part of it is added to the bytes read back.
const STAGED_DIVISOR: u64 = 4;

/// Launches, synchronisations and bytes of a computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataMovement {
    /// Kernels launched.
    pub launches: u64,
    /// Synchronisations with the device before the end, for operations that the host runs.
    pub syncs: u64,
    /// Bytes of the outputs that the host reads.
    pub host_output: u64,
    /// Bytes read from and written to device memory.
    pub traffic: u64,
}

impl DataMovement {
    /// Bytes that come back to the host: its output, and without unified memory also a quarter of the device's traffic.
    pub const fn read_back(&self, unified: bool) -> u64 {
        if unified { self.host_output } else { self.host_output + self.traffic / STAGED_DIVISOR }
    }
}

impl Add for DataMovement {
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

impl Sum for DataMovement {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::default(), Self::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_back_includes_staging_without_unified_memory() {
        let movement = DataMovement { launches: 1, syncs: 0, host_output: 100, traffic: 1000 };
        assert_eq!((movement.read_back(true), movement.read_back(false)), (100, 350));
    }
}
