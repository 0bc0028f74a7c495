//! Memory of a graph's values: who owns it, how long it is allocated, and the traffic of elementwise operations that run
//! as one kernel.

use crate::graph::{Graph, Origin, ValueId};

/// For each value, the value that owns its memory: views lead to what they view.
pub(super) fn memory_owners(graph: &Graph) -> Vec<usize> {
    let mut owners: Vec<usize> = (0..graph.values().len()).collect();
    for node in graph.nodes().iter().filter(|node| node.operation.is_view()) {
        if let Some(input) = node.inputs.first() {
            node.outputs.iter().for_each(|output| owners[output.index()] = owners[input.index()]);
        }
    }
    owners
}

/// Bytes of the inputs, and of the constants that a node reads or the graph returns.
pub(super) fn held_bytes(graph: &Graph) -> u64 {
    let readers = graph.last_readers();
    let held = graph.value_ids().filter(|id| match graph.get(*id).origin {
        Origin::Input(_) => true,
        Origin::Constant(_) => readers[id.index()].is_some() || graph.outputs().contains(id),
        Origin::Computed => false,
    });
    held.map(|id| graph.get(id).bytes()).sum()
}

/// Bytes allocated while each node runs: inputs and constants, and every computed value from the node that computes it
/// to the last that reads it or a view of it.
pub(super) fn live_bytes(graph: &Graph, live: &[bool], owners: &[usize]) -> Vec<u64> {
    // For each value with memory of its own, the node that computes it and the last node that reads it.
    let mut made = vec![None; owners.len()];
    let mut needed = vec![0; owners.len()];
    for (place, node) in graph.nodes().iter().enumerate().filter(|(place, _)| live[*place]) {
        node.inputs.iter().for_each(|input| needed[owners[input.index()]] = place);
        for output in node.outputs.iter().map(|output| output.index()).filter(|output| owners[*output] == *output) {
            (made[output], needed[output]) = (Some(place), place);
        }
    }
    // Outputs outlive the last node.
    for output in graph.outputs() {
        needed[owners[output.index()]] = graph.nodes().len();
    }
    let mut bytes = vec![held_bytes(graph); graph.nodes().len()];
    for (value, (made, needed)) in graph.values().iter().zip(made.iter().zip(needed)) {
        let Some(made) = *made else { continue };
        let until = needed.min(bytes.len() - 1);
        bytes[made..=until].iter_mut().for_each(|bytes| *bytes += value.bytes());
    }
    bytes
}

/// Bytes of traffic of each live node where every run of consecutive elementwise operations is one kernel, as lazy
/// fusion makes it: such a kernel reads each of its inputs once, and writes only what is read after it. Views between
/// the operations don't end a run. None for a node that is not elementwise.
pub(super) fn merged_traffic(graph: &Graph, live: &[bool], owners: &[usize]) -> Vec<Option<u64>> {
    let mut traffic = vec![None; graph.nodes().len()];
    let mut kernel: Vec<usize> = Vec::new();
    for (place, node) in graph.nodes().iter().enumerate().filter(|(place, _)| live[*place]) {
        if node.operation.is_elementwise() {
            kernel.push(place);
        } else if !node.operation.is_view() {
            finish(graph, live, owners, &std::mem::take(&mut kernel), &mut traffic);
        }
    }
    finish(graph, live, owners, &kernel, &mut traffic);
    traffic
}

/// Writes the traffic of the nodes of one kernel.
fn finish(graph: &Graph, live: &[bool], owners: &[usize], kernel: &[usize], traffic: &mut [Option<u64>]) {
    let Some(&last) = kernel.last() else { return };
    let owner = |id: &ValueId| owners[id.index()];
    let nodes = graph.nodes();
    let after = (last + 1..nodes.len()).filter(|place| live[*place]).flat_map(|place| &nodes[place].inputs);
    let needed: Vec<usize> = after.chain(graph.outputs()).map(owner).collect();
    // Values that the kernel has in registers: what it has read or computed.
    let mut held: Vec<usize> = Vec::new();
    for &place in kernel {
        let (node, mut bytes) = (&nodes[place], 0);
        for input in &node.inputs {
            if !held.contains(&owner(input)) {
                held.push(owner(input));
                bytes += graph.get(*input).bytes();
            }
        }
        for output in &node.outputs {
            held.push(owner(output));
            if needed.contains(&owner(output)) {
                bytes += graph.get(*output).bytes();
            }
        }
        traffic[place] = Some(bytes);
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType::F32;

    use super::*;
    use crate::graph::Operation;

    fn merged(graph: &Graph) -> Vec<Option<u64>> {
        merged_traffic(graph, &graph.live(), &memory_owners(graph))
    }

    #[test]
    fn a_chain_reads_its_input_and_writes_its_output() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[4, 8], F32);
        let squared = graph.apply(Operation::Multiply, &[x, x], &[4, 8], F32);
        let flat = graph.apply(Operation::Reshape, &[squared], &[32], F32);
        let root = graph.apply(Operation::Power(0.5), &[flat], &[32], F32);
        let sum = graph.apply(Operation::Sum { axis: 0 }, &[root], &[1], F32);
        let scaled = graph.apply(Operation::MultiplyScalar(2.0), &[sum], &[1], F32);
        graph.set_outputs(&[scaled]);
        // The square reads 128 bytes and stays in registers, the root writes 128; the sum is a kernel of its own.
        assert_eq!(merged(&graph), [Some(128), None, Some(128), None, Some(8)]);
    }

    #[test]
    fn values_that_are_read_later_are_written() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[8], F32);
        let [a, b] = [2.0, 3.0].map(|factor| graph.apply(Operation::MultiplyScalar(factor), &[x], &[8], F32));
        let sum = graph.apply(Operation::Add, &[a, b], &[8], F32);
        let dead = graph.apply(Operation::AddScalar(1.0), &[sum], &[8], F32);
        graph.set_outputs(&[a, sum]);
        assert_eq!(graph.get(dead).bytes(), 32);
        assert_eq!(merged(&graph), [Some(64), Some(0), Some(32), None]);
    }
}
