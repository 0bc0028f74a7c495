//! Costs of operations: launches, bytes of traffic, and arithmetic.

use firefly_ops::WelchOptions;
use firefly_ops::op::OpDescriptor;

use crate::graph::{Graph, Node, Operation};

/// Launches and bytes of device memory traffic of an operation.
///
/// Any operation is one launch that reads every input as often as it is listed, and writes each output. Of Firefly's
/// operations, a Welch estimate reads the samples of its segments, not all of a longer frame; a long convolution also
/// writes and reads the spectra of its kernels, and a spectral convolution the modes between its transforms.
pub(super) fn launches_and_traffic(graph: &Graph, node: &Node) -> (u64, u64) {
    let bytes: u64 = node.inputs.iter().chain(&node.outputs).map(|id| graph.get(*id).bytes()).sum();
    let Some(operation) = node.operation.descriptor() else { return (1, bytes) };
    let more = match operation {
        OpDescriptor::LongConv {} => long_conv(graph, node),
        OpDescriptor::SpectralConv {} => spectral_conv(graph, node),
        _ => operation.welch_options().and_then(|options| unread_samples(&options, graph, node)),
    };
    more.map_or((1, bytes), |(launches, more)| (launches, bytes.saturating_add_signed(more)))
}

/// A launch per transform of a dimension and one for the product; in between, complex values are written and read.
fn spectral_conv(graph: &Graph, node: &Node) -> Option<(u64, i64)> {
    let [input, weights, ..] = node.inputs[..] else { return None };
    let (kept, size) = (&graph.get(weights).shape, graph.get(input).dtype.size());
    let input = &graph.get(input).shape;
    let channels = input[0] * (kept[0] + kept[1]);
    // After the transform of a dimension, its modes and those of the later ones are left.
    let between: usize = (2..input.len()).map(|dim| input[2..dim].iter().chain(&kept[dim..]).product::<usize>()).sum();
    Some((2 * (input.len() as u64 - 2) + 1, (2 * 2 * channels * between * size) as i64))
}

/// Two launches: one writes the spectra of the kernels, as many values as a padded row has; the other reads them, and
/// moves every row once.
fn long_conv(graph: &Graph, node: &Node) -> Option<(u64, i64)> {
    let [signal, kernel, ..] = node.inputs[..] else { return None };
    let [signal, kernel] = [signal, kernel].map(|id| graph.get(id));
    let (&[_, channels, n], &[_, taps]) = (&signal.shape[..], &kernel.shape[..]) else { return None };
    let padded = n + taps.min(n) - 1;
    Some((2, (2 * channels * padded * signal.dtype.size()) as i64))
}

/// One launch, without the samples of longer frames that no segment has.
fn unread_samples(options: &WelchOptions, graph: &Graph, node: &Node) -> Option<(u64, i64)> {
    let signal = graph.get(*node.inputs.first()?);
    let &[rows, frame] = &signal.shape[..] else { return None };
    // Segments further apart than they are long leave samples out.
    let read = options.frame().min(options.averaged() * options.n_fft).min(frame);
    Some((1, -((rows * (frame - read) * signal.dtype.size()) as i64)))
}

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
    use burn::tensor::DType::{F32, I64};
    use burn::tensor::IntDType;

    use super::*;
    use crate::movement::{DataMovement, MovementOptions, count};

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

    fn total(graph: &Graph) -> DataMovement {
        count(graph, &MovementOptions::default()).total
    }

    fn traffic(frame: usize, hop: usize) -> u64 {
        let mut graph = Graph::default();
        let (signal, window) = (graph.input("signal", &[10, frame], F32), graph.input("window", &[256], F32));
        let (bins, power) = (graph.computed(&[10, 16], I64), graph.computed(&[10, 16], F32));
        let options = WelchOptions::new(256, 2).with_hop(hop);
        let operation = OpDescriptor::WelchPeaks { options, k: 16, bins: IntDType::I64 };
        graph.push(Node::new(operation.into(), vec![signal, window], vec![bins, power]));
        graph.set_outputs(&[bins, power]);
        total(&graph).traffic
    }

    #[test]
    fn a_long_convolution_moves_rows_once_and_spectra_of_kernels_twice() {
        let mut graph = Graph::default();
        let (signal, kernel) = (graph.input("signal", &[3, 2, 100], F32), graph.input("kernel", &[2, 50], F32));
        let output = graph.apply(OpDescriptor::LongConv {}.into(), &[signal, kernel], &[3, 2, 100], F32);
        graph.set_outputs(&[output]);
        let total = total(&graph);
        assert_eq!((total.launches, total.traffic), (2, 4 * (2 * 600 + 100 + 2 * 2 * 149)));
    }

    #[test]
    fn a_spectral_convolution_moves_its_modes_twice() {
        let mut graph = Graph::default();
        let input = graph.input("input", &[4, 3, 10, 16], F32);
        let weights = [0, 1].map(|_| graph.input("weights", &[3, 5, 6, 7], F32));
        let output = graph.computed(&[4, 5, 10, 16], F32);
        let inputs = vec![input, weights[0], weights[1]];
        graph.push(Node::new(OpDescriptor::SpectralConv {}.into(), inputs, vec![output]));
        graph.set_outputs(&[output]);
        let total = total(&graph);
        // Both parts of 8 channels of 4 elements: 10 × 7 values between the transforms, 6 × 7 before and after the
        // product.
        let between = 2 * 2 * 4 * (4 * 8) * (10 * 7 + 6 * 7);
        assert_eq!(total.traffic, (4 * 8 * 160 + 2 * 3 * 5 * 42) * 4 + between);
        assert_eq!(total.launches, 5);
    }

    #[test]
    fn samples_past_the_segments_are_not_read() {
        let rest = 256 * 4 + 10 * 16 * (8 + 4);
        assert_eq!(traffic(384, 128), 10 * 384 * 4 + rest);
        assert_eq!(traffic(1152, 128), 10 * 384 * 4 + rest);
        assert_eq!(traffic(1152, 600), 10 * 512 * 4 + rest);
    }
}
