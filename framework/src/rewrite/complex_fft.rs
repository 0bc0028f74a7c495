//! Recognition of complex transforms that are put together from transforms of real values.

use burn::tensor::DType;
use firefly_ops::Direction;
use firefly_ops::op::OpDescriptor;
use firefly_ops::options::FftOptions;

use super::Replacement;
use super::edit::{Edit, only_reader};
use super::interpretation::{Fft, FftKind, Interpretation, MirroredSpectrum, SpectrumPart};
use crate::graph::{Node, Operation, ValueId};

/// The graph with a complex transform in place of the difference at `index`, its real part, and of the sum that is its
/// imaginary part.
pub fn replace(found: &Interpretation<'_>, index: usize) -> Option<Replacement> {
    let graph = found.graph();
    let (Operation::Subtract, &[xr, yi], &[re]) = parts(&graph.nodes()[index]) else { return None };
    // With X and Y the transforms of both parts, X + iY has the parts Re X − Im Y and Im X + Re Y.
    let (x, y) = (
        HalfTransform::mirrored(found, xr, SpectrumPart::Real)?,
        HalfTransform::mirrored(found, yi, SpectrumPart::Imaginary)?,
    );
    if x == y || x.fft != y.fft || graph.get(x.input).shape != graph.get(y.input).shape {
        return None;
    }
    let is_imaginary = |node: &Node| {
        let (Operation::Add, &[left, right], _) = parts(node) else { return false };
        let is_sum = |xi, yr| {
            HalfTransform::mirrored(found, xi, SpectrumPart::Imaginary).as_ref() == Some(&x)
                && HalfTransform::mirrored(found, yr, SpectrumPart::Real).as_ref() == Some(&y)
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
    let negated = found.producer(y.input).filter(|node| node.operation == Operation::Negate);
    let conjugate = only_reader(graph, im).filter(|(_, reader)| reader.operation == Operation::Negate);
    if let (Some(negated), Some((node, conjugate))) = (negated, conjugate) {
        replaced.push(node);
        (outputs[1], inputs[1], direction) = (conjugate.outputs[0], negated.inputs[0], Direction::Inverse);
    }
    // Rows, or columns of the matrices that the axis and those behind it make.
    let (shape, points) = (&graph.get(x.input).shape, x.fft.points);
    let [before, after] =
        [&shape[..x.fft.axis], &shape[x.fft.axis + 1..]].map(|lengths| lengths.iter().product::<usize>());
    let options = FftOptions::new(points, direction);
    let (operation, rows) = if x.fft.axis + 1 < shape.len() {
        (OpDescriptor::ComplexFftColumns { options }, vec![before, points, after])
    } else {
        (OpDescriptor::ComplexFft { options }, vec![before, points])
    };
    let mut edit = Edit::new(graph);
    let inputs = inputs.map(|input| edit.reshaped(input, &rows));
    let outputs = outputs.map(|output| edit.unshaped(output, &rows));
    edit.push(operation, &inputs, &outputs);
    Some(edit.replace(&replaced, re, [x.outputs, y.outputs].concat(), graph.get(x.input).elements() / points))
}

/// Operation, inputs and outputs of a node.
fn parts(node: &Node) -> (&Operation, &[ValueId], &[ValueId]) {
    (&node.operation, &node.inputs, &node.outputs)
}

/// Transform of all values of its input, as real ones, to half spectra.
#[derive(Debug, Clone, PartialEq)]
struct HalfTransform {
    fft: Fft,
    input: ValueId,
    outputs: [ValueId; 2],
}

impl HalfTransform {
    /// The transform of which a value is one part of the half spectrum.
    fn of(found: &Interpretation<'_>, value: ValueId, part: SpectrumPart) -> Option<Self> {
        let node = found.producer(value)?;
        let fft = Fft::of(found.graph(), node)?;
        let (&[input], &[re, im]) = (&node.inputs[..], &node.outputs[..]) else { return None };
        let is_part = value == if part == SpectrumPart::Real { re } else { im };
        let is_whole = fft.kind == FftKind::Real && fft.scale == 1.0;
        let is_whole = is_whole && found.graph().get(input).shape[fft.axis] == fft.points;
        (is_part && is_whole).then_some(Self { fft, input, outputs: [re, im] })
    }

    /// The transform of which a value is one part of the whole spectrum: a half spectrum, and behind it the bins between
    /// its ends, reversed and conjugated.
    fn mirrored(found: &Interpretation<'_>, value: ValueId, part: SpectrumPart) -> Option<Self> {
        let Some(whole) = MirroredSpectrum::of(found, found.producer(value)?) else {
            // Up to two points, there is nothing between the ends.
            return Self::of(found, value, part).filter(|half| half.fft.points <= 2);
        };
        let transform = Self::of(found, whole.half, part)?;
        let is_whole = found.graph().get(value).shape[whole.axis] == transform.fft.points;
        (is_whole && whole.part == part && whole.axis == transform.fft.axis).then_some(transform)
    }
}
