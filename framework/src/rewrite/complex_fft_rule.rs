//! Recognition of complex transforms that are put together from transforms of real values.

use burn::tensor::DType;
use firefly_ops::Direction;

use super::abstract_value::SpectrumPart;
use super::mirrored_spectrum::MirroredSpectrum;
use super::operands::{only_reader, reshaped};
use super::spectral_conv::{Fft, FftKind};
use super::spectral_nodes::complex_fft_operation;
use super::{Replacement, Rule};
use crate::graph::{Graph, Node, Operation, ValueId};

/// Rule that replaces a complex Fourier transform made of two real ones by one complex transform.
///
/// Recognised pattern: that of `burn::signal::cfft` in f32, which transforms the real and the imaginary part as real
/// values, completes both half spectra by their reversed conjugates, and adds the second one times i to the first one.
/// With an imaginary part that is negated before and directly after, it is an inverse transform without a factor.
/// Transforms that cut or pad their input are left alone, and models in which something else reads the half spectra.
#[derive(Debug, Clone, Copy, Default)]
pub struct ComplexFftRule;

impl Rule for ComplexFftRule {
    fn name(&self) -> &str {
        "complex transform"
    }

    fn find(&self, graph: &Graph) -> Vec<Replacement> {
        let spectra = HalfSpectra { graph, producers: graph.producers() };
        (0..graph.nodes().len()).filter_map(|index| replace(&spectra, index)).collect()
    }
}

/// The graph with a complex transform in place of the difference at `index`, its real part, and of the sum that is its
/// imaginary part.
fn replace(spectra: &HalfSpectra<'_>, index: usize) -> Option<Replacement> {
    let graph = spectra.graph;
    let (Operation::Subtract, &[xr, yi], &[re]) = parts(&graph.nodes()[index]) else { return None };
    // With X and Y the transforms of both parts, X + iY has the parts Re X − Im Y and Im X + Re Y.
    let (x, y) = (spectra.mirrored(xr, SpectrumPart::Real)?, spectra.mirrored(yi, SpectrumPart::Imaginary)?);
    if x == y || x.fft != y.fft || graph.get(x.input).shape != graph.get(y.input).shape {
        return None;
    }
    let is_imaginary = |node: &Node| {
        let (Operation::Add, &[left, right], _) = parts(node) else { return false };
        let is_sum = |xi, yr| {
            spectra.mirrored(xi, SpectrumPart::Imaginary).as_ref() == Some(&x)
                && spectra.mirrored(yr, SpectrumPart::Real).as_ref() == Some(&y)
        };
        is_sum(left, right) || is_sum(right, left)
    };
    let sum = graph.nodes().iter().position(is_imaginary)?;
    let im = graph.nodes()[sum].outputs[0];
    // On GPUs, Firefly's transforms have no f64.
    if graph.get(x.input).dtype != DType::F32 {
        return None;
    }

    // The inverse transform is the conjugate of the transform of the conjugate.
    let (mut replaced, mut outputs, mut inputs) = (vec![index, sum], [re, im], [x.input, y.input]);
    let mut direction = Direction::Forward;
    if let (Some(positive), Some((node, conjugate))) = (spectra.negated(y.input), only_negation(graph, im)) {
        replaced.push(node);
        (outputs[1], inputs[1], direction) = (conjugate, positive, Direction::Inverse);
    }
    let mut after = graph.clone();
    let nodes = complex_transform(&mut after, inputs, outputs, &x.fft, direction);
    after.replace(&replaced, nodes);
    let batch = (graph.get(x.input).elements() / x.fft.points) as u64;
    Some(Replacement { graph: after, target: re, obsolete: [x.outputs, y.outputs].concat(), batch })
}

/// Nodes of a complex transform along any axis, of rows or of columns.
fn complex_transform(
    graph: &mut Graph,
    inputs: [ValueId; 2],
    outputs: [ValueId; 2],
    fft: &Fft,
    direction: Direction,
) -> Vec<Node> {
    let (shape, dtype) = (graph.get(inputs[0]).shape.clone(), graph.get(inputs[0]).dtype);
    let product = |lengths: &[usize]| lengths.iter().product::<usize>();
    let (before, after) = (product(&shape[..fft.axis]), product(&shape[fft.axis + 1..]));
    let of_columns = fft.axis + 1 < shape.len();
    let rows = if of_columns { vec![before, fft.points, after] } else { vec![before, fft.points] };
    let operation = complex_fft_operation(fft.points, direction, of_columns);
    let mut nodes = Vec::new();
    let inputs = inputs.map(|input| reshaped(graph, &mut nodes, input, &rows));
    let transformed = if shape == rows { outputs } else { [0, 1].map(|_| graph.computed(&rows, dtype)) };
    nodes.push(Node::new(operation, inputs.to_vec(), transformed.to_vec()));
    if shape != rows {
        let reshape = |(from, to)| Node::new(Operation::Reshape, vec![from], vec![to]);
        nodes.extend(transformed.into_iter().zip(outputs).map(reshape));
    }
    nodes
}

/// Operation, inputs and outputs of a node.
fn parts(node: &Node) -> (&Operation, &[ValueId], &[ValueId]) {
    (&node.operation, &node.inputs, &node.outputs)
}

/// The node that negates a value, and its output, if nothing else reads the value.
fn only_negation(graph: &Graph, value: ValueId) -> Option<(usize, ValueId)> {
    let (index, reader) = only_reader(graph, value)?;
    (reader.operation == Operation::Negate).then(|| (index, reader.outputs[0]))
}

/// Transform of all values of its input, as real ones, to half spectra.
#[derive(Debug, Clone, PartialEq)]
struct HalfTransform {
    fft: Fft,
    input: ValueId,
    outputs: [ValueId; 2],
}

/// The half spectra of a graph.
struct HalfSpectra<'a> {
    graph: &'a Graph,
    producers: Vec<Option<usize>>,
}

impl HalfSpectra<'_> {
    fn producer(&self, value: ValueId) -> Option<&Node> {
        Some(&self.graph.nodes()[self.producers[value.index()]?])
    }

    /// The value whose negation this one is.
    fn negated(&self, value: ValueId) -> Option<ValueId> {
        let node = self.producer(value)?;
        (node.operation == Operation::Negate).then_some(node.inputs[0])
    }

    /// The transform of which a value is one part of the half spectrum.
    fn half(&self, value: ValueId, part: SpectrumPart) -> Option<HalfTransform> {
        let node = self.producer(value)?;
        let fft = Fft::of(self.graph, node)?;
        let (&[input], &[re, im]) = (&node.inputs[..], &node.outputs[..]) else { return None };
        let is_part = value == if part == SpectrumPart::Real { re } else { im };
        let is_whole = fft.kind == FftKind::Real && fft.scale == 1.0;
        let is_whole = is_whole && self.graph.get(input).shape[fft.axis] == fft.points;
        (is_part && is_whole).then_some(HalfTransform { fft, input, outputs: [re, im] })
    }

    /// The transform of which a value is one part of the whole spectrum: a half spectrum, and behind it the bins between
    /// its ends, reversed and conjugated.
    fn mirrored(&self, value: ValueId, part: SpectrumPart) -> Option<HalfTransform> {
        let Some(whole) = MirroredSpectrum::of(self.graph, &self.producers, self.producer(value)?) else {
            // Up to two points, there is nothing between the ends.
            return self.half(value, part).filter(|half| half.fft.points <= 2);
        };
        let transform = self.half(whole.half, part)?;
        let is_whole = self.graph.get(value).shape[whole.axis] == transform.fft.points;
        (is_whole && whole.part == part && whole.axis == transform.fft.axis).then_some(transform)
    }
}
