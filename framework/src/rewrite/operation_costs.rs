//! Registered costs of Firefly's operations. A Welch estimate reads the samples of its segments, not all of a longer
//! frame. A long convolution also writes and reads the spectra of its kernels, and a spectral convolution the modes
//! between its transforms. Others, such as mel spectra and `top_k`, have the cost of any operation: a launch that reads
//! every input and writes every output once.

use firefly_ops::descriptor::{LONG_CONV, SPECTRAL_CONV};

use super::spectral_nodes::{ESTIMATES, welch_options};
use crate::graph::{Graph, Node, Operation};
use crate::movement::OperationCosts;

/// Registers the costs of Firefly's operations.
pub fn register_costs(costs: &mut OperationCosts) {
    for name in ESTIMATES {
        costs.register(name, estimate);
    }
    costs.register(LONG_CONV, long_conv);
    costs.register(SPECTRAL_CONV, spectral_conv);
}

/// A launch per transform of a dimension and one for the product; in between, complex values are written and read.
fn spectral_conv(graph: &Graph, node: &Node) -> (u64, u64) {
    let shape = |id| &graph.get(id).shape;
    let bytes: u64 = node.inputs.iter().chain(&node.outputs).map(|id| graph.get(*id).bytes()).sum();
    let [input, weights, ..] = node.inputs[..] else { return (1, bytes) };
    let (input, kept, size) = (shape(input), shape(weights), graph.get(input).dtype.size());
    let channels = input[0] * (kept[0] + kept[1]);
    // After the transform of a dimension, its modes and those of the later ones are left.
    let between: usize = (2..input.len()).map(|dim| input[2..dim].iter().chain(&kept[dim..]).product::<usize>()).sum();
    let launches = 2 * (input.len() as u64 - 2) + 1;
    (launches, bytes + (2 * 2 * channels * between * size) as u64)
}

/// Two launches: one writes the spectra of the kernels, as many values as a padded row has; the other reads them, and
/// moves every row once.
fn long_conv(graph: &Graph, node: &Node) -> (u64, u64) {
    let bytes: u64 = node.inputs.iter().chain(&node.outputs).map(|id| graph.get(*id).bytes()).sum();
    let [signal, kernel] = [node.inputs[0], node.inputs[1]].map(|id| graph.get(id));
    let (&[_, channels, n], &[_, taps]) = (&signal.shape[..], &kernel.shape[..]) else { return (1, bytes) };
    let padded = n + taps.min(n) - 1;
    (2, bytes + (2 * channels * padded * signal.dtype.size()) as u64)
}

/// One launch that reads the samples that segments span, and everything else once.
fn estimate(graph: &Graph, node: &Node) -> (u64, u64) {
    let bytes: u64 = node.inputs.iter().chain(&node.outputs).map(|id| graph.get(*id).bytes()).sum();
    let signal = graph.get(node.inputs[0]);
    let Operation::Custom { name, scalars } = &node.operation else { return (1, bytes) };
    let ([rows, frame], Some(options)) = (&signal.shape[..], welch_options(name, scalars)) else { return (1, bytes) };
    // Segments further apart than they are long leave samples out.
    let read = options.frame().min((options.segments * options.n_fft) << options.halvings).min(*frame);
    (1, bytes - (rows * (frame - read) * signal.dtype.size()) as u64)
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType::{F32, I64};
    use burn::tensor::IntDType;
    use firefly_ops::WelchOptions;
    use firefly_ops::descriptor::OpDescriptor;

    use super::*;
    use crate::movement::{MovementOptions, count};
    use crate::rewrite::spectral_nodes::{spectral_conv_operation, welch_peaks_operation};

    fn traffic(frame: usize, hop: usize) -> u64 {
        let mut graph = Graph::default();
        let (signal, window) = (graph.input("signal", &[10, frame], F32), graph.input("window", &[256], F32));
        let (bins, power) = (graph.computed(&[10, 16], I64), graph.computed(&[10, 16], F32));
        let options = WelchOptions::new(256, 2).with_hop(hop);
        let operation = welch_peaks_operation(options, 16, IntDType::I64);
        graph.push(Node::new(operation, vec![signal, window], vec![bins, power]));
        graph.set_outputs(&[bins, power]);
        let mut options = MovementOptions::default();
        register_costs(&mut options.costs);
        count(&graph, &options).total.traffic
    }

    #[test]
    fn a_long_convolution_moves_rows_once_and_spectra_of_kernels_twice() {
        let mut graph = Graph::default();
        let (signal, kernel) = (graph.input("signal", &[3, 2, 100], F32), graph.input("kernel", &[2, 50], F32));
        let operation = OpDescriptor::LongConv { gated: false };
        let operation = Operation::Custom { name: operation.name().into(), scalars: operation.scalars() };
        let output = graph.apply(operation, &[signal, kernel], &[3, 2, 100], F32);
        graph.set_outputs(&[output]);
        let mut options = MovementOptions::default();
        register_costs(&mut options.costs);
        let total = count(&graph, &options).total;
        assert_eq!((total.launches, total.traffic), (2, 4 * (2 * 600 + 100 + 2 * 2 * 149)));
    }

    #[test]
    fn a_spectral_convolution_moves_its_modes_twice() {
        let mut graph = Graph::default();
        let input = graph.input("input", &[4, 3, 10, 16], F32);
        let weights = [0, 1].map(|_| graph.input("weights", &[3, 5, 6, 7], F32));
        let output = graph.computed(&[4, 5, 10, 16], F32);
        graph.push(Node::new(spectral_conv_operation(), vec![input, weights[0], weights[1]], vec![output]));
        graph.set_outputs(&[output]);
        let mut options = MovementOptions::default();
        register_costs(&mut options.costs);
        let total = count(&graph, &options).total;
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
