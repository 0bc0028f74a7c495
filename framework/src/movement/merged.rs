//! Traffic of elementwise operations that run as one kernel.

use crate::graph::{Graph, ValueId};

/// Bytes of traffic of each live node where every run of consecutive elementwise operations is one kernel, as lazy
/// fusion makes it: such a kernel reads each of its inputs once, and writes only what is read after it. Views between
/// the operations don't end a run. None for a node that is not elementwise.
pub(super) fn merged_traffic(graph: &Graph, live: &[bool]) -> Vec<Option<u64>> {
    let mut traffic = vec![None; graph.nodes().len()];
    // For each value, the value that owns its memory: views lead to what they view.
    let mut roots: Vec<usize> = (0..graph.values().len()).collect();
    let mut kernel: Vec<usize> = Vec::new();
    for (place, node) in graph.nodes().iter().enumerate().filter(|(place, _)| live[*place]) {
        if node.operation.is_view() {
            if let Some(input) = node.inputs.first() {
                node.outputs.iter().for_each(|output| roots[output.index()] = roots[input.index()]);
            }
        } else if node.operation.is_elementwise() {
            kernel.push(place);
        } else {
            finish(graph, live, &roots, &std::mem::take(&mut kernel), &mut traffic);
        }
    }
    finish(graph, live, &roots, &kernel, &mut traffic);
    traffic
}

/// Writes the traffic of the nodes of one kernel.
fn finish(graph: &Graph, live: &[bool], roots: &[usize], kernel: &[usize], traffic: &mut [Option<u64>]) {
    let Some(&last) = kernel.last() else { return };
    let root = |id: &ValueId| roots[id.index()];
    let nodes = graph.nodes();
    let after = (last + 1..nodes.len()).filter(|place| live[*place]).flat_map(|place| &nodes[place].inputs);
    let needed: Vec<usize> = after.chain(graph.outputs()).map(root).collect();
    // Values that the kernel has in registers: what it has read or computed.
    let mut held: Vec<usize> = Vec::new();
    for &place in kernel {
        let (node, mut bytes) = (&nodes[place], 0);
        for input in &node.inputs {
            if !held.contains(&root(input)) {
                held.push(root(input));
                bytes += graph.get(*input).bytes();
            }
        }
        for output in &node.outputs {
            held.push(root(output));
            if needed.contains(&root(output)) {
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
        merged_traffic(graph, &graph.live())
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
