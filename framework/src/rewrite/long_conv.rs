//! Recognition of causal convolutions in models of Fourier transforms.

use firefly_ops::op::OpDescriptor;

use super::Replacement;
use super::constants::is_one;
use super::edit::{Edit, only_reader};
use super::interpretation::{AbstractValue, Content, Interpretation, Transform};
use crate::graph::{Graph, Operation, ValueId};

/// The graph with `long_conv` in place of the slice at `index`, and of the product with a gate.
pub fn replace(found: &Interpretation<'_>, index: usize) -> Option<Replacement> {
    let graph = found.graph();
    let node = &graph.nodes()[index];
    let (Operation::Slice { .. }, [input], &[cut]) = (&node.operation, &node.inputs[..], &node.outputs[..]) else {
        return None;
    };
    let &[batch, channels, n] = &graph.get(cut).shape[..] else { return None };
    let find = |value| causal(found, value, [batch, channels, n]);
    let Causal { transform, kernel, taps } = found.values(cut).iter().find_map(find)?;
    let signal = transform.segments.source;
    if [signal, kernel].iter().any(|id| graph.get(*id).dtype != graph.get(cut).dtype) {
        return None;
    }
    let mut edit = Edit::new(graph);
    let mut inputs = vec![edit.reshaped(signal, &[batch, channels, n]), edit.reshaped(kernel, &[channels, taps])];
    let (mut replaced, mut target) = (index, cut);
    if let Some((node, factors, output)) = gate(graph, cut) {
        inputs.push(factors);
        (replaced, target) = (node, output);
    }
    edit.push(OpDescriptor::LongConv {}, &inputs, &[target]);
    let obsolete = [transform.outputs.as_slice(), &[*input]].concat();
    Some(edit.replace(&[replaced], target, obsolete, batch * channels))
}

/// Causal convolution: the first samples of a convolution of all samples of a signal and of kernels, without a factor.
struct Causal<'a> {
    transform: &'a Transform,
    kernel: ValueId,
    /// Samples of a kernel.
    taps: usize,
}

/// The causal convolution of shape `[batch, channels, n]` that a value is.
fn causal<'a>(
    found: &'a Interpretation<'_>,
    value: &'a AbstractValue,
    [batch, channels, n]: [usize; 3],
) -> Option<Causal<'a>> {
    let Content::Convolution { kernels, factor } = value.content else { return None };
    let transform = &value.transform;
    let points = *transform.points.last()?;
    let rows = |value: &AbstractValue| {
        let source = found.graph().get(value.transform.segments.source);
        let samples = source.shape.last().copied().filter(|_| found.are_whole(value))?;
        Some([source.elements() / samples.max(1), samples])
    };
    let is_unscaled = is_one(factor * points as f64);
    let is_in_order = value.axes.cover(&[batch, channels, n]) && value.are_rows_in_order();
    if rows(value)? != [batch * channels, n] || !is_in_order || !is_unscaled {
        return None;
    }
    found.values(kernels[0]).iter().filter(|kernel| kernel.spectrum().is_some()).find_map(|kernel| {
        let [of_kernels, taps] = rows(kernel)?;
        // What runs past the end comes round to the start.
        let is_causal = points + 1 >= n + taps;
        let kernel = kernel.transform.segments.source;
        (of_kernels == channels && is_causal).then_some(Causal { transform, kernel, taps })
    })
}

/// The product of a convolution with a gate, if that is all that reads it: the node, the gate and its output.
fn gate(graph: &Graph, convolution: ValueId) -> Option<(usize, ValueId, ValueId)> {
    let (node, reader) = only_reader(graph, convolution)?;
    let (Operation::Multiply, &[left, right], &[output]) = (&reader.operation, &reader.inputs[..], &reader.outputs[..])
    else {
        return None;
    };
    let factors = if left == convolution { right } else { left };
    let [gated, gate] = [convolution, factors].map(|id| graph.get(id));
    let is_gate = factors != convolution && gated.shape == gate.shape && gated.dtype == gate.dtype;
    is_gate.then_some((node, factors, output))
}
