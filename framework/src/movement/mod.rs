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
mod memory;

use std::collections::BTreeSet;
use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::graph::{Graph, Node, Operation, ValueId};
use costs::{launches_and_traffic, multiply_adds, weights};
use memory::{held_bytes, live_bytes, memory_owners, merged_traffic};

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

/// Options of [`count`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MovementOptions {
    /// Operations that the host runs on this target, by the name of their node: each synchronises with the device.
    pub host_operations: Vec<String>,
    /// Indices of the outputs that the host reads; all of them by default.
    pub outputs: Option<Vec<usize>>,
}

impl MovementOptions {
    /// The same options with operations that the host runs.
    pub fn with_host_operations(self, host_operations: Vec<String>) -> Self {
        Self { host_operations, ..self }
    }
}

/// Data movement of a graph, in total and node by node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphMovement {
    /// Every node, in the order in which they run.
    pub nodes: Vec<NodeMovement>,
    /// Sum over the nodes.
    pub total: DataMovement,
    /// Bytes of inputs and constants, which are allocated throughout.
    pub held_bytes: u64,
    /// Peak device memory, in bytes; a view shares the memory of its input.
    pub peak_bytes: u64,
}

/// Data movement of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeMovement {
    /// The operation's name.
    pub operation: String,
    /// The operation's kind.
    #[serde(default)]
    pub kind: String,
    /// Kinds of the views that it reads its inputs through, each once; none if they keep values in their order.
    #[serde(default)]
    pub views: Vec<String>,
    /// Indices of the values it reads, among the graph's values.
    pub inputs: Vec<usize>,
    /// Indices of the values it computes.
    pub outputs: Vec<usize>,
    /// Shapes of the outputs.
    pub shapes: Vec<Vec<usize>>,
    /// Element types of the outputs.
    pub dtypes: Vec<String>,
    /// Whether it is a view: nothing runs, and the output is the input's memory.
    pub view: bool,
    /// Its data movement.
    #[serde(rename = "io")]
    pub movement: DataMovement,
    /// Its bytes of traffic where consecutive elementwise operations run as one kernel; its own traffic of any other.
    #[serde(default)]
    pub merged_traffic: u64,
    /// Products that a matrix product or a convolution sums; 0 of any other operation.
    #[serde(default)]
    pub multiply_adds: u64,
    /// Shape of what a matrix product or a convolution multiplies by, without leading dimensions; empty for any other
    /// operation.
    #[serde(default)]
    pub weights: Vec<usize>,
    /// Bytes of device memory allocated while it runs.
    pub live_bytes: u64,
}

impl NodeMovement {
    /// Names by which a calibrated profile has its latency, the most specific first: its kind, with the views that it
    /// reads through, which decide how it accesses memory, and with the shape of what a product multiplies by.
    pub fn latency_names(&self) -> Vec<String> {
        let views = self.views.join(", ");
        let name = if views.is_empty() { self.kind.clone() } else { format!("{} of {views}", self.kind) };
        if self.weights.is_empty() {
            return vec![name];
        }
        let weights: Vec<String> = self.weights.iter().map(usize::to_string).collect();
        vec![format!("{name} by {}", weights.join(" × ")), name]
    }

    /// Name and value of the size that its latency is measured along: the multiply-adds of an operation that has any,
    /// or else the bytes of its traffic.
    pub fn latency_size(&self) -> (&'static str, u64) {
        match self.multiply_adds {
            0 => ("traffic", self.movement.traffic.max(1)),
            products => ("multiply-adds", products),
        }
    }
}

/// Data movement of a graph. Nodes that no output depends on are not run, and not counted.
pub fn count(graph: &Graph, options: &MovementOptions) -> GraphMovement {
    let live = graph.live();
    let owners = memory_owners(graph);
    let live_bytes = live_bytes(graph, &live, &owners);
    let merged = merged_traffic(graph, &live, &owners);
    let views = views_of_values(graph);
    let read: Vec<ValueId> = match &options.outputs {
        Some(places) => places.iter().filter_map(|&place| graph.outputs().get(place).copied()).collect(),
        None => graph.outputs().to_vec(),
    };
    let nodes: Vec<NodeMovement> = graph
        .nodes()
        .iter()
        .enumerate()
        .filter(|(place, _)| live[*place])
        .map(|(place, node)| {
            let operation = node.operation.name().into_owned();
            let view = node.operation.is_view();
            let host = options.host_operations.contains(&operation);
            let (launches, traffic) = if view { (0, 0) } else { launches_and_traffic(graph, node) };
            let host_output = node.outputs.iter().filter(|id| read.contains(id)).map(|id| graph.get(*id).bytes()).sum();
            NodeMovement {
                operation,
                kind: node.operation.kind().into(),
                views: views_read(node, &views),
                inputs: indices(&node.inputs),
                outputs: indices(&node.outputs),
                shapes: node.outputs.iter().map(|id| graph.get(*id).shape.clone()).collect(),
                dtypes: node.outputs.iter().map(|id| format!("{:?}", graph.get(*id).dtype)).collect(),
                view,
                movement: DataMovement { launches, syncs: u64::from(host && !view), host_output, traffic },
                merged_traffic: merged[place].unwrap_or(traffic),
                multiply_adds: multiply_adds(graph, node),
                weights: weights(graph, node),
                live_bytes: live_bytes[place],
            }
        })
        .collect();
    let held_bytes = held_bytes(graph);
    GraphMovement {
        total: nodes.iter().map(|node| node.movement).sum(),
        peak_bytes: nodes.iter().map(|node| node.live_bytes).max().unwrap_or(held_bytes),
        held_bytes,
        nodes,
    }
}

/// Kinds of the views that lead from memory to each value; none of a value with memory of its own.
fn views_of_values(graph: &Graph) -> Vec<BTreeSet<&str>> {
    let mut views = vec![BTreeSet::new(); graph.values().len()];
    for node in graph.nodes().iter().filter(|node| node.operation.is_view()) {
        let mut through: BTreeSet<&str> = node.inputs.iter().flat_map(|input| &views[input.index()]).copied().collect();
        through.insert(node.operation.kind());
        node.outputs.iter().for_each(|output| views[output.index()].clone_from(&through));
    }
    views
}

/// Kinds of the views that a node reads through; none if they keep values in their order.
fn views_read(node: &Node, views: &[BTreeSet<&str>]) -> Vec<String> {
    let read: BTreeSet<&str> = node.inputs.iter().flat_map(|input| &views[input.index()]).copied().collect();
    if read.iter().all(|view| *view == Operation::Reshape.kind()) {
        return Vec::new();
    }
    read.into_iter().map(String::from).collect()
}

fn indices(values: &[ValueId]) -> Vec<usize> {
    values.iter().map(|value| value.index()).collect()
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType::{F32, I32};

    use super::*;

    fn custom(name: &str) -> Operation {
        Operation::Custom { name: name.into(), scalars: Vec::new() }
    }

    /// Rows of n real samples completed to complex ones, transformed, in block layout.
    fn transform(rows: usize, n: usize) -> Graph {
        let mut graph = Graph::default();
        let x = graph.input("x", &[rows, n], F32);
        let spectrum = graph.apply(custom("fft"), &[x], &[rows, 2 * n], F32);
        graph.set_outputs(&[spectrum]);
        graph
    }

    #[test]
    fn the_output_of_a_transform_is_read_by_the_host() {
        let graph = transform(8, 512);
        let total = count(&graph, &MovementOptions::default()).total;
        assert_eq!(total.host_output, 8 * 512 * 2 * 4);
        assert_eq!((total.launches, total.syncs), (1, 0));
        assert_eq!(total.traffic, 8 * 512 * 4 + 8 * 1024 * 4);
    }

    #[test]
    fn a_host_operation_synchronises() {
        let options = MovementOptions { host_operations: vec!["fft".into()], ..MovementOptions::default() };
        assert_eq!(count(&transform(8, 512), &options).total.syncs, 1);
    }

    #[test]
    fn peaks_read_back_less_than_they_move() {
        // Two rows in block layout are four rows of a plane each.
        let mut graph = Graph::default();
        let spectrum = graph.input("spectrum", &[4, 512], F32);
        let peaks = graph.apply(custom("peaks"), &[spectrum], &[2, 32], F32);
        graph.set_outputs(&[peaks]);
        let total = count(&graph, &MovementOptions::default()).total;
        assert_eq!(total.host_output, 2 * 16 * 2 * 4);
        assert!(total.host_output < total.traffic);
    }

    #[test]
    fn views_move_nothing_and_values_read_twice_count_twice() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[4, 8], F32);
        let flat = graph.apply(Operation::Reshape, &[x], &[32], F32);
        let swapped = graph.apply(Operation::Permute { axes: vec![0] }, &[flat], &[32], F32);
        let square = graph.apply(Operation::Multiply, &[swapped, swapped], &[32], F32);
        graph.set_outputs(&[square]);
        let movement = count(&graph, &MovementOptions::default());
        assert_eq!(movement.nodes.iter().map(|node| node.view).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(movement.total, DataMovement { launches: 1, syncs: 0, host_output: 128, traffic: 384 });
        // The input, its views being the same memory, and the square.
        assert_eq!((movement.held_bytes, movement.peak_bytes), (128, 256));
    }

    #[test]
    fn only_the_selected_outputs_are_read_back() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[4, 8], F32);
        let (bins, power) = (graph.computed(&[4, 2], I32), graph.computed(&[4, 2], F32));
        graph.push(Node::new(custom("peaks"), vec![x], vec![bins, power]));
        graph.set_outputs(&[x, bins, power]);
        let host_output =
            |outputs| count(&graph, &MovementOptions { outputs, ..MovementOptions::default() }).total.host_output;
        // An input that is returned is with the host already.
        assert_eq!((host_output(None), host_output(Some(vec![1]))), (64, 32));
    }

    #[test]
    fn memory_is_freed_after_the_last_reader() {
        let mut graph = Graph::default();
        let mut value = graph.input("x", &[25], F32);
        for _ in 0..4 {
            value = graph.apply(Operation::AddScalar(1.0), &[value], &[25], F32);
        }
        let dead = graph.apply(Operation::AddScalar(1.0), &[value], &[1000], F32);
        graph.set_outputs(&[value]);
        let movement = count(&graph, &MovementOptions::default());
        assert_eq!(movement.nodes.len(), 4);
        assert_eq!((movement.held_bytes, movement.peak_bytes), (100, 300));
        assert_eq!(movement.total.launches, 4);
        assert_eq!(graph.get(dead).bytes(), 4000);
    }

    #[test]
    fn read_back_includes_staging_without_unified_memory() {
        let movement = DataMovement { launches: 1, syncs: 0, host_output: 100, traffic: 1000 };
        assert_eq!((movement.read_back(true), movement.read_back(false)), (100, 350));
    }
}
