//! What a graph moves, node by node.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::model::Origin;
use super::{Graph, Node, Operation, ValueId};
use crate::cost::Io;

/// What one operation costs, counted from its node: launches and bytes of device memory traffic.
pub type CostOf = fn(&Graph, &Node) -> (u64, u64);

/// Costs that operations brought with them, by name.
///
/// Any other operation is one launch that reads each input once and writes each output.
#[derive(Debug, Clone, Default)]
pub struct Costs(HashMap<String, CostOf>);

impl Costs {
    /// Registers how the custom operation `name` is counted.
    pub fn register(&mut self, name: &str, cost: CostOf) {
        self.0.insert(name.into(), cost);
    }

    fn of(&self, graph: &Graph, node: &Node) -> (u64, u64) {
        if let Operation::Custom { name, .. } = &node.operation
            && let Some(cost) = self.0.get(name)
        {
            return cost(graph, node);
        }
        (1, bytes_of(graph, &node.inputs) + bytes_of(graph, &node.outputs))
    }
}

/// The bytes of values, each counted once.
fn bytes_of(graph: &Graph, values: &[ValueId]) -> u64 {
    let distinct = values.iter().enumerate().filter(|(place, id)| !values[..*place].contains(id));
    distinct.map(|(_, id)| graph.get(*id).bytes()).sum()
}

/// What to count, and for whom.
#[derive(Debug, Clone, Default)]
pub struct ProfileOptions {
    /// The operations that the host runs on this target, by the name of their node: the device is waited for at each.
    pub host_operations: Vec<String>,
    /// The outputs that the host reads, by place; all of them unless given.
    pub outputs: Option<Vec<usize>>,
    /// What operations are known to cost.
    pub costs: Costs,
}

/// What a graph moves, in total and node by node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoProfile {
    /// Every node, in the order in which they run.
    pub nodes: Vec<NodeIo>,
    /// Everything together.
    pub total: Io,
    /// Bytes of inputs and of the values that the model holds, which are there throughout.
    pub held_bytes: u64,
    /// Most bytes of device memory in use at once, views sharing what they view.
    pub peak_bytes: u64,
}

/// What one node moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeIo {
    /// The operation's name.
    pub operation: String,
    /// The values it reads, by place among the graph's values.
    pub inputs: Vec<usize>,
    /// The values it makes, by place.
    pub outputs: Vec<usize>,
    /// The shapes of those.
    pub shapes: Vec<Vec<usize>>,
    /// The element types of those.
    pub dtypes: Vec<String>,
    /// Whether nothing runs: its output is its input's memory.
    pub view: bool,
    /// What it moves.
    pub io: Io,
    /// Bytes of device memory in use while it runs.
    pub live_bytes: u64,
}

/// Counts what a graph moves. Nodes that no output needs are not run, and not counted.
pub fn profile(graph: &Graph, options: &ProfileOptions) -> IoProfile {
    let live = graph.live();
    let live_bytes = live_bytes(graph, &live);
    let read: Vec<ValueId> = match &options.outputs {
        Some(places) => places.iter().filter_map(|&place| graph.outputs().get(place).copied()).collect(),
        None => graph.outputs().to_vec(),
    };
    let nodes: Vec<NodeIo> = graph
        .nodes()
        .iter()
        .enumerate()
        .filter(|(place, _)| live[*place])
        .map(|(place, node)| {
            let operation = node.operation.name().into_owned();
            let view = node.operation.is_view();
            let host = options.host_operations.contains(&operation);
            let (launches, traffic) = if view { (0, 0) } else { options.costs.of(graph, node) };
            let host_output = node.outputs.iter().filter(|id| read.contains(id)).map(|id| graph.get(*id).bytes()).sum();
            NodeIo {
                operation,
                inputs: places(&node.inputs),
                outputs: places(&node.outputs),
                shapes: node.outputs.iter().map(|id| graph.get(*id).shape.clone()).collect(),
                dtypes: node.outputs.iter().map(|id| format!("{:?}", graph.get(*id).dtype)).collect(),
                view,
                io: Io { launches, syncs: u64::from(host && !view), host_output, traffic },
                live_bytes: live_bytes[place],
            }
        })
        .collect();
    let held_bytes = held_bytes(graph);
    IoProfile {
        total: nodes.iter().map(|node| node.io).sum(),
        peak_bytes: nodes.iter().map(|node| node.live_bytes).max().unwrap_or(held_bytes),
        held_bytes,
        nodes,
    }
}

fn places(values: &[ValueId]) -> Vec<usize> {
    values.iter().map(|value| value.index()).collect()
}

/// Inputs and constants that something reads or returns.
fn held_bytes(graph: &Graph) -> u64 {
    let readers = graph.last_readers();
    let held = graph.values().iter().enumerate().filter(|(place, value)| match value.origin {
        Origin::Input(_) => true,
        Origin::Constant(_) => readers[*place].is_some() || graph.outputs().contains(&ValueId(*place)),
        Origin::Computed => false,
    });
    held.map(|(_, value)| value.bytes()).sum()
}

/// Bytes in use while each node runs: what is held, and every computed value from the node that makes it to the last that
/// needs it or a view of it.
fn live_bytes(graph: &Graph, live: &[bool]) -> Vec<u64> {
    // The value whose memory each value is.
    let mut roots: Vec<usize> = (0..graph.values().len()).collect();
    let mut made = vec![None; roots.len()];
    let mut needed = vec![0; roots.len()];
    for (place, node) in graph.nodes().iter().enumerate().filter(|(place, _)| live[*place]) {
        for input in &node.inputs {
            needed[roots[input.index()]] = place;
        }
        for output in &node.outputs {
            match node.inputs.first() {
                Some(input) if node.operation.is_view() => roots[output.index()] = roots[input.index()],
                _ => {
                    made[output.index()] = Some(place);
                    needed[output.index()] = place;
                }
            }
        }
    }
    for output in graph.outputs() {
        needed[roots[output.index()]] = graph.nodes().len();
    }
    let mut bytes = vec![held_bytes(graph); graph.nodes().len()];
    for (value, made) in made.iter().enumerate() {
        let Some(made) = *made else { continue };
        let until = needed[value].min(bytes.len() - 1);
        bytes[made..=until].iter_mut().for_each(|bytes| *bytes += graph.get(ValueId(value)).bytes());
    }
    bytes
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
    fn a_transform_gives_its_spectrum_to_the_host() {
        let graph = transform(8, 512);
        let total = profile(&graph, &ProfileOptions::default()).total;
        assert_eq!(total.host_output, 8 * 512 * 2 * 4);
        assert_eq!((total.launches, total.syncs), (1, 0));
        assert_eq!(total.traffic, 8 * 512 * 4 + 8 * 1024 * 4);
    }

    #[test]
    fn a_transform_on_the_host_is_waited_for() {
        let options = ProfileOptions { host_operations: vec!["fft".into()], ..ProfileOptions::default() };
        assert_eq!(profile(&transform(8, 512), &options).total.syncs, 1);
    }

    #[test]
    fn peaks_read_back_less_than_they_move() {
        // Two rows in block layout are four rows of a plane each.
        let mut graph = Graph::default();
        let spectrum = graph.input("spectrum", &[4, 512], F32);
        let peaks = graph.apply(custom("peaks"), &[spectrum], &[2, 32], F32);
        graph.set_outputs(&[peaks]);
        let total = profile(&graph, &ProfileOptions::default()).total;
        assert_eq!(total.host_output, 2 * 16 * 2 * 4);
        assert!(total.host_output < total.traffic);
    }

    #[test]
    fn views_cost_nothing_and_values_read_twice_are_read_once() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[4, 8], F32);
        let flat = graph.apply(Operation::Reshape, &[x], &[32], F32);
        let swapped = graph.apply(Operation::Permute { axes: vec![0] }, &[flat], &[32], F32);
        let square = graph.apply(Operation::Multiply, &[swapped, swapped], &[32], F32);
        graph.set_outputs(&[square]);
        let profile = profile(&graph, &ProfileOptions::default());
        assert_eq!(profile.nodes.iter().map(|node| node.view).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(profile.total, Io { launches: 1, syncs: 0, host_output: 128, traffic: 256 });
        // The input, its views being the same memory, and the square.
        assert_eq!((profile.held_bytes, profile.peak_bytes), (128, 256));
    }

    #[test]
    fn restricted_outputs_are_read_alone() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[4, 8], F32);
        let (bins, power) = (graph.computed(&[4, 2], I32), graph.computed(&[4, 2], F32));
        graph.push(Node::new(custom("peaks"), vec![x], vec![bins, power]));
        graph.set_outputs(&[x, bins, power]);
        let host_output =
            |outputs| profile(&graph, &ProfileOptions { outputs, ..ProfileOptions::default() }).total.host_output;
        // An input that is returned is with the host already.
        assert_eq!((host_output(None), host_output(Some(vec![1]))), (64, 32));
    }

    #[test]
    fn memory_is_free_again_after_the_last_reader() {
        let mut graph = Graph::default();
        let mut value = graph.input("x", &[25], F32);
        for _ in 0..4 {
            value = graph.apply(Operation::AddScalar(1.0), &[value], &[25], F32);
        }
        let dead = graph.apply(Operation::AddScalar(1.0), &[value], &[1000], F32);
        graph.set_outputs(&[value]);
        let profile = profile(&graph, &ProfileOptions::default());
        assert_eq!(profile.nodes.len(), 4);
        assert_eq!((profile.held_bytes, profile.peak_bytes), (100, 300));
        assert_eq!(profile.total.launches, 4);
        assert_eq!(graph.get(dead).bytes(), 4000);
    }

    #[test]
    fn an_operation_brings_its_own_cost() {
        let mut options = ProfileOptions::default();
        options.costs.register("fft", |graph, node| (3, graph.get(node.outputs[0]).bytes()));
        let total = profile(&transform(1, 8), &options).total;
        assert_eq!((total.launches, total.traffic), (3, 64));
    }
}
