//! Cost model: predicted times, and the fusion gate. Pure arithmetic, without tensors.
//!
//! A computation is its [`DataMovement`]: launches, synchronisations, bytes. A [`DeviceProfile`] turns it into a
//! [`Prediction`] in nanoseconds, after the latency and bandwidth model of Ayala et al. (2022, "Performance analysis of
//! parallel FFT on large multi-GPU systems"). The fusion gate weighs the [`Benefit`] of one computation over another into
//! a [`FusionDecision`] that keeps every term. On a calibrated device the measured latencies of the operations decide.
//!
//! ```
//! use firefly_framework::cost::{FusionDecision, Prediction};
//! use firefly_framework::movement::DataMovement;
//! use firefly_framework::profile::Preset;
//!
//! let device = Preset::Cuda.profile();
//! let unfused = DataMovement { launches: 3, syncs: 0, host_output: 8_000_000, traffic: 50_000_000 };
//! let fused = DataMovement { launches: 1, syncs: 0, host_output: 250_000, traffic: 10_000_000 };
//! assert!(Prediction::new(&fused, &device).total() < Prediction::new(&unfused, &device).total());
//! let decision = FusionDecision::new(&device, unfused, fused, 4096);
//! assert!(decision.fuse(), "{}", decision.explain());
//! ```

mod fusion_gate;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::movement::{DataMovement, GraphMovement, NodeMovement};
use crate::profile::DeviceProfile;
pub use fusion_gate::{Benefit, FusionDecision, Score, SlowdownCheck};

/// Predicted nanoseconds of a computation, term by term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// One round trip to the device.
    pub roundtrip: f64,
    /// Operations whose latency was measured: launch, traffic and arithmetic together.
    #[serde(default)]
    pub operations: f64,
    /// Launching the kernels of all other operations.
    pub launches: f64,
    /// Synchronising with the device before the end.
    pub syncs: f64,
    /// Reading and writing device memory, by all other operations.
    pub traffic: f64,
    /// Copying results to the host.
    pub read_back: f64,
}

impl Prediction {
    /// Predicted time of a computation on a device.
    pub fn new(movement: &DataMovement, device: &DeviceProfile) -> Self {
        Self {
            roundtrip: device.roundtrip,
            operations: 0.0,
            launches: movement.launches as f64 * device.dispatch,
            syncs: movement.syncs as f64 * device.roundtrip,
            traffic: movement.traffic as f64 / device.memory_bandwidth,
            read_back: movement.read_back(device.unified) as f64 / device.link_bandwidth,
        }
    }

    /// Predicted time of a graph: the measured latency of each operation that the profile has, data movement of the
    /// others, and reading the results back.
    pub fn of_graph(graph: &GraphMovement, device: &DeviceProfile) -> Self {
        let (mut unmeasured, mut operations) = (graph.total, 0.0);
        for node in graph.nodes.iter().filter(|node| !node.view) {
            if let Some(latency) = measured_latency(node, device) {
                operations += latency;
                unmeasured.launches -= node.movement.launches;
                unmeasured.traffic -= node.movement.traffic;
            }
        }
        Self { operations, ..Self::new(&unmeasured, device) }
    }

    /// Sum of all terms, in nanoseconds.
    pub fn total(&self) -> f64 {
        self.terms().map(|(_, time)| time).sum()
    }

    /// The terms by name, in nanoseconds; measured operations only where there are any.
    pub fn terms(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let Self { roundtrip, operations, launches, syncs, traffic, read_back } = *self;
        let measured = (operations > 0.0).then_some(("measured operations", operations));
        let counted = [("launches", launches), ("syncs", syncs), ("traffic", traffic), ("read-back", read_back)];
        [("round trip", roundtrip)].into_iter().chain(measured).chain(counted)
    }
}

/// Latency of an operation from the latency table of its most specific name, if the profile has one over the same kind
/// of size. It is interpolated; beyond the largest measured size it is at least the time of the operation's traffic,
/// which for elementwise operations that run as one kernel is the traffic of the kernel.
fn measured_latency(node: &NodeMovement, device: &DeviceProfile) -> Option<f64> {
    let by_name = node.latency_names().iter().find_map(|name| device.operations.get(name));
    let table = by_name.or_else(|| device.operations.get(&node.kind))?;
    let (name, size) = node.latency_size();
    if table.over != name {
        return None;
    }
    let latency = table.predict(size as f64);
    if table.sizes.last().is_some_and(|largest| size as f64 <= *largest) {
        return Some(latency);
    }
    let moved = if device.merges_elementwise { node.merged_traffic } else { node.movement.traffic };
    Some(latency.max(moved as f64 / device.memory_bandwidth))
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms().map(|(name, time)| format!("{name} {time:.0}")).collect();
        write!(f, "{:.0} ns = {}", self.total(), terms.join(" + "))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::graph::{Graph, Operation};
    use crate::movement::{MovementOptions, count};
    use crate::profile::{LatencyTable, Preset};

    #[test]
    fn every_term_follows_its_constant() {
        let movement = DataMovement { launches: 3, syncs: 2, host_output: 4000, traffic: 16_000 };
        let prediction = Prediction::new(&movement, &Preset::Cuda.profile());
        let expected = Prediction {
            roundtrip: 20_000.0,
            operations: 0.0,
            launches: 6000.0,
            syncs: 40_000.0,
            traffic: 20.0,
            read_back: 160.0,
        };
        assert_eq!(prediction, expected);
        assert_eq!(prediction.total(), 66_180.0);
        assert!(prediction.to_string().starts_with("66180 ns = round trip 20000 + launches 6000"));
    }

    #[test]
    fn a_measured_operation_takes_its_latency_and_others_their_movement() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[4, 64], DType::F32);
        let doubled = graph.apply(Operation::MultiplyScalar(2.0), &[x], &[4, 64], DType::F32);
        let root = graph.apply(Operation::Power(0.5), &[doubled], &[4, 64], DType::F32);
        graph.set_outputs(&[root]);
        let movement = count(&graph, &MovementOptions::default());
        let table = LatencyTable::new("traffic", vec![1024.0, 4096.0], vec![1000.0, 4000.0]).unwrap();
        let operations = [("multiply by scalar".to_string(), table)].into();
        let device = DeviceProfile { operations, ..Preset::Cpu.profile() };
        let prediction = Prediction::of_graph(&movement, &device);
        let unmeasured = Prediction::of_graph(&movement, &Preset::Cpu.profile());
        assert_eq!(unmeasured, Prediction::new(&movement.total, &Preset::Cpu.profile()));
        // 2,048 bytes of traffic, half way between.
        assert!((prediction.operations - 2000.0).abs() < 1e-6, "{prediction}");
        assert_eq!((prediction.launches, prediction.traffic), (unmeasured.launches / 2.0, unmeasured.traffic / 2.0));
        assert_eq!(prediction.read_back, unmeasured.read_back);
        // What a measured operation moves is not staged for the read-back as well.
        let separate = DeviceProfile { unified: false, ..device };
        let staged = Prediction::of_graph(&movement, &separate).read_back * separate.link_bandwidth;
        assert!((staged - (1024.0 + 2048.0 / 4.0)).abs() < 1e-6, "{staged}");
        assert!(prediction.to_string().contains("measured operations 2000"));
    }

    #[test]
    fn large_operations_take_at_least_the_time_of_their_traffic() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[1 << 20], DType::F32);
        let double =
            |graph: &mut Graph, value| graph.apply(Operation::MultiplyScalar(2.0), &[value], &[1 << 20], DType::F32);
        let (once, bytes) = (double(&mut graph, x), 4 << 20);
        let twice = double(&mut graph, once);
        graph.set_outputs(&[twice]);
        let movement = count(&graph, &MovementOptions::default());
        // No slower for more bytes, where only the launch was seen.
        let table = LatencyTable::new("traffic", vec![1024.0, 4096.0], vec![3000.0, 3000.0]).unwrap();
        let operations = [("multiply by scalar".to_string(), table)].into();
        let device = DeviceProfile { operations, memory_bandwidth: 100.0, ..Preset::Cuda.profile() };
        let operations = |device: &DeviceProfile| Prediction::of_graph(&movement, device).operations;
        assert!((operations(&device) - f64::from(4 * bytes) / 100.0).abs() < 1e-6);
        // As one kernel, the first reads, and the second writes.
        let merging = DeviceProfile { merges_elementwise: true, ..device };
        assert!((operations(&merging) - f64::from(2 * bytes) / 100.0).abs() < 1e-6);
    }
}
