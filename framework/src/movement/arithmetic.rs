//! Arithmetic of operations that multiply more numbers than they move.

use crate::graph::{Graph, Node, Operation};

/// Products that are summed into the output of a matrix product or a convolution; 0 of any other operation.
pub(super) fn multiply_adds(graph: &Graph, node: &Node) -> u64 {
    let elements = |place: usize| node.inputs.get(place).map_or(0, |id| graph.get(*id).elements() as u64);
    let shape = |place: usize| node.inputs.get(place).map_or(&[][..], |id| &graph.get(*id).shape);
    let outputs: u64 = node.outputs.iter().map(|id| graph.get(*id).elements() as u64).sum();
    match &node.operation {
        Operation::MatrixProduct => outputs * shape(0).last().map_or(0, |&summed| summed as u64),
        // Inputs, weights and bias, in this order.
        Operation::Other(name) => match name.as_str() {
            "Linear" => outputs * shape(0).last().map_or(0, |&summed| summed as u64),
            "Conv1d" | "Conv2d" | "Conv3d" => outputs * elements(1) / shape(1).first().map_or(1, |&out| out as u64),
            "ConvTranspose1d" | "ConvTranspose2d" | "ConvTranspose3d" => {
                elements(0) * elements(1) / shape(1).first().map_or(1, |&channels| channels as u64)
            }
            _ => 0,
        },
        _ => 0,
    }
}

/// Shape of the second factor of an operation with [`multiply_adds`], of a matrix product without leading dimensions.
pub(super) fn weights(graph: &Graph, node: &Node) -> Vec<usize> {
    let (Some(second), true) = (node.inputs.get(1), multiply_adds(graph, node) > 0) else { return Vec::new() };
    let shape = &graph.get(*second).shape;
    let leading = if node.operation == Operation::MatrixProduct { shape.len().saturating_sub(2) } else { 0 };
    shape[leading..].to_vec()
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType::F32;

    use super::*;

    fn products(operation: Operation, inputs: &[&[usize]], output: &[usize]) -> u64 {
        let mut graph = Graph::default();
        let inputs: Vec<_> = inputs.iter().map(|shape| graph.input("x", shape, F32)).collect();
        graph.apply(operation, &inputs, output, F32);
        multiply_adds(&graph, &graph.nodes()[0])
    }

    #[test]
    fn every_element_of_an_output_sums_its_products() {
        assert_eq!(products(Operation::MatrixProduct, &[&[7, 3, 4], &[7, 4, 5]], &[7, 3, 5]), 7 * 3 * 4 * 5);
        let named =
            |name: &str, inputs: &[&[usize]], output: &[usize]| products(Operation::Other(name.into()), inputs, output);
        assert_eq!(named("Linear", &[&[3, 4], &[4, 5], &[5]], &[3, 5]), 3 * 4 * 5);
        // Two groups: each of 6 output channels sums 2 of 4 input channels over 3 × 3 taps.
        assert_eq!(named("Conv2d", &[&[1, 4, 8, 8], &[6, 2, 3, 3]], &[1, 6, 8, 8]), 6 * 64 * 2 * 9);
        // Each of 4 input channels is spread over 5 output channels and 3 taps.
        assert_eq!(named("ConvTranspose1d", &[&[2, 4, 8], &[4, 5, 3]], &[2, 5, 10]), 2 * 4 * 8 * 5 * 3);
        assert_eq!(named("Softmax", &[&[3, 4]], &[3, 4]), 0);
        assert_eq!(products(Operation::Add, &[&[3], &[3]], &[3]), 0);
    }

    #[test]
    fn weights_have_no_leading_dimensions() {
        let mut graph = Graph::default();
        let [x, y] = [[7, 3, 4], [7, 4, 5]].map(|shape| graph.input("x", &shape, F32));
        graph.apply(Operation::MatrixProduct, &[x, y], &[7, 3, 5], F32);
        graph.apply(Operation::Add, &[x, x], &[7, 3, 4], F32);
        assert_eq!(weights(&graph, &graph.nodes()[0]), [4, 5]);
        assert!(weights(&graph, &graph.nodes()[1]).is_empty());
    }
}
