//! Recognition of causal convolutions in models of Fourier transforms.

use firefly_ops::descriptor::OpDescriptor;

use super::convolution_values::{ConvolutionValue, ConvolutionValues, SpectraPair};
use super::operands::{only_reader, reshaped};
use super::{Replacement, Rule};
use crate::graph::{Graph, Node, Operation, ValueId};

/// Relative tolerance of factors.
const TOLERANCE: f64 = 1e-6;

/// Rule that replaces a causal convolution by Fourier transforms by one [`long_conv`](firefly_ops::long_conv).
///
/// Recognised patterns: the real transforms of a signal `[batch, channels, n]` and of kernels `[channels, k]`, by
/// [`rfft`](firefly_ops::fft::rfft) or Burn's, padded by the transform, by concatenation or by slice assignment; their
/// complex product, the kernels broadcast or expanded over the batch; the inverse transform, of as many points; the
/// first n samples, as also [`fft_convolve`](firefly_ops::fft::fft_convolve) cut to them has; and the product with a
/// gate of the same shape, if it is all that reads them. Left alone is a convolution whose end comes round to its
/// start, one that is cut elsewhere or scaled, and a model in which something else reads the transform of the signal
/// too.
#[derive(Debug, Clone, Copy, Default)]
pub struct LongConvRule;

impl Rule for LongConvRule {
    fn name(&self) -> &str {
        "long convolution"
    }

    fn find(&self, graph: &Graph) -> Vec<Replacement> {
        let values = ConvolutionValues::new(graph);
        (0..graph.nodes().len()).filter_map(|index| replace(graph, &values, index)).collect()
    }
}

/// The graph with `long_conv` in place of the slice at `index`, and of the product with a gate.
fn replace(graph: &Graph, values: &ConvolutionValues<'_>, index: usize) -> Option<Replacement> {
    let node = &graph.nodes()[index];
    let (Operation::Slice { .. }, [input], [cut]) = (&node.operation, &node.inputs[..], &node.outputs[..]) else {
        return None;
    };
    // The slice is known to start at the first sample.
    let ConvolutionValue::Convolution(pair, scale) = values.get(*cut) else { return None };
    let shape = &graph.get(*cut).shape;
    let &[batch, channels, n] = &shape[..] else { return None };
    let (signal, kernel) = operands(graph, values, pair, [batch, channels, n])?;
    let points = pair.signal.points;
    let taps = *graph.get(kernel).shape.last()?;
    // What runs past the end comes round to the start.
    let is_causal = points + 1 >= n + taps;
    let is_unscaled = (scale * points as f64 - 1.0).abs() <= TOLERANCE;
    let dtype = graph.get(*cut).dtype;
    let is_of_one_type = [signal, kernel].iter().all(|id| graph.get(*id).dtype == dtype);
    if !(is_causal && is_unscaled && is_of_one_type) {
        return None;
    }

    let mut after = graph.clone();
    let mut nodes = Vec::new();
    let mut inputs = vec![
        reshaped(&mut after, &mut nodes, signal, &[batch, channels, n]),
        reshaped(&mut after, &mut nodes, kernel, &[channels, taps]),
    ];
    let gate = gate(graph, *cut);
    inputs.extend(gate.as_ref().map(|gate| gate.factors));
    let (replaced, target) = gate.as_ref().map_or((index, *cut), |gate| (gate.node, gate.output));
    let descriptor = OpDescriptor::LongConv { gated: gate.is_some() };
    let operation = Operation::Custom { name: descriptor.name().into(), scalars: descriptor.scalars() };
    nodes.push(Node::new(operation, inputs, vec![target]));
    after.replace(&[replaced], nodes);
    let obsolete = vec![pair.signal.transform, *input];
    Some(Replacement { graph: after, target, obsolete, batch: (batch * channels) as u64 })
}

/// The signal and the kernels of a convolution whose first samples are of shape `[batch, channels, n]`.
fn operands(
    graph: &Graph,
    values: &ConvolutionValues<'_>,
    pair: SpectraPair,
    [batch, channels, n]: [usize; 3],
) -> Option<(ValueId, ValueId)> {
    let fits = |signal: ValueId, kernel: ValueId| {
        let samples = graph.get(signal).shape.last() == Some(&n);
        samples && values.rows(signal) == batch * channels && values.rows(kernel) == channels
    };
    let (signal, kernel) = (pair.signal.source, pair.kernel.source);
    // Of a batch of one either may be the signal.
    [(signal, kernel), (kernel, signal)].into_iter().find(|&(signal, kernel)| fits(signal, kernel))
}

/// Product of a convolution with a gate.
struct Gate {
    node: usize,
    factors: ValueId,
    output: ValueId,
}

/// The gate of a convolution, if all that reads it is a product with factors of its shape.
fn gate(graph: &Graph, convolution: ValueId) -> Option<Gate> {
    let (node, reader) = only_reader(graph, convolution)?;
    let (Operation::Multiply, &[left, right], &[output]) = (&reader.operation, &reader.inputs[..], &reader.outputs[..])
    else {
        return None;
    };
    let factors = if left == convolution { right } else { left };
    let [gated, gate] = [convolution, factors].map(|id| graph.get(id));
    let is_gate = factors != convolution && gated.shape == gate.shape && gated.dtype == gate.dtype;
    is_gate.then_some(Gate { node, factors, output })
}
