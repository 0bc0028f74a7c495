//! Registered costs of Firefly's operations: a Welch estimate reads the samples of its segments, not all of a longer
//! frame.

use super::spectral_nodes::{ESTIMATES, welch_options};
use crate::graph::{Graph, Node, Operation};
use crate::movement::OperationCosts;

/// Registers the costs of Firefly's operations.
pub fn register_costs(costs: &mut OperationCosts) {
    for name in ESTIMATES {
        costs.register(name, estimate);
    }
}

/// One launch that reads the samples that segments span, and everything else once.
fn estimate(graph: &Graph, node: &Node) -> (u64, u64) {
    let bytes: u64 = node.inputs.iter().chain(&node.outputs).map(|id| graph.get(*id).bytes()).sum();
    let signal = graph.get(node.inputs[0]);
    let Operation::Custom { name, scalars } = &node.operation else { return (1, bytes) };
    let ([rows, frame], Some(options)) = (&signal.shape[..], welch_options(name, scalars)) else { return (1, bytes) };
    // Segments further apart than they are long leave samples out.
    let read = options.frame().min(options.segments * options.n_fft).min(*frame);
    (1, bytes - (rows * (frame - read) * signal.dtype.size()) as u64)
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType::{F32, I64};
    use burn::tensor::IntDType;
    use firefly_ops::WelchOptions;

    use super::*;
    use crate::movement::{MovementOptions, count};
    use crate::rewrite::spectral_nodes::welch_peaks_operation;

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
    fn samples_past_the_segments_are_not_read() {
        let rest = 256 * 4 + 10 * 16 * (8 + 4);
        assert_eq!(traffic(384, 128), 10 * 384 * 4 + rest);
        assert_eq!(traffic(1152, 128), 10 * 384 * 4 + rest);
        assert_eq!(traffic(1152, 600), 10 * 512 * 4 + rest);
    }
}
