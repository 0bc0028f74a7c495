//! Abstract interpretation of a graph: the abstract value of each of its values, from the inputs forward.

use burn::tensor::DType;
use firefly_ops::options::validate_n_fft;

use super::abstract_value::{AbstractValue, SpectrumPart, ValueKind, Vector};
use super::constants;
use super::elementwise::{reduced, root, scaled, squared, sum, weighted, windowed};
use super::layout::{assign, concatenate, reshape, slice, unfold};
use super::mirrored_spectrum::MirroredSpectrum;
use super::spectral_nodes::{is_open_butterfly, row_transform_length};
use crate::graph::{Graph, Node, Operation, Origin, ScalarIr, ValueId};

/// Name of Burn's transform of real samples.
pub const RFFT: &str = "signal::rfft";

/// Abstract values of a graph's values.
pub struct Interpretation<'a> {
    graph: &'a Graph,
    producers: Vec<Option<usize>>,
    values: Vec<Option<AbstractValue>>,
    vectors: Vec<Option<Vector>>,
}

impl<'a> Interpretation<'a> {
    /// Interprets every node of `graph`.
    pub fn new(graph: &'a Graph) -> Self {
        let count = graph.values().len();
        let mut interpretation =
            Self { graph, producers: graph.producers(), values: vec![None; count], vectors: vec![None; count] };
        let without_producer = |id: &ValueId| interpretation.producers[id.index()].is_none();
        let given: Vec<ValueId> = graph.value_ids().filter(without_producer).collect();
        given.into_iter().for_each(|id| interpretation.set_default(id));
        for node in graph.nodes() {
            interpretation.visit(node);
        }
        interpretation
    }

    /// Abstract value of a value; every matrix of floats is at least a signal.
    pub fn value(&self, id: ValueId) -> Option<&AbstractValue> {
        self.values[id.index()].as_ref()
    }

    /// Index of the node that computes each value.
    pub fn producers(&self) -> &[Option<usize>] {
        &self.producers
    }

    /// The abstract value without knowledge of its producer: a matrix may be a signal, and a value that varies along
    /// one axis is a vector.
    fn set_default(&mut self, id: ValueId) {
        let value = self.graph.get(id);
        let long = |axis: &usize| value.shape[*axis] > 1;
        let mut axes = (0..value.shape.len()).filter(long);
        if let (Some(axis), None) = (axes.next(), axes.next()) {
            self.vectors[id.index()] = Some(Vector { source: id, axis });
        }
        if let [_, samples] = value.shape[..]
            && matches!(value.dtype, DType::F32 | DType::F64)
        {
            self.values[id.index()] = Some(AbstractValue::signal(id, samples));
        }
    }

    fn visit(&mut self, node: &Node) {
        let vector = self.vector_of(node);
        let values = self.evaluate(node);
        for (index, &output) in node.outputs.iter().enumerate() {
            self.set_default(output);
            if let Some(value) = values.get(index) {
                self.values[output.index()] = Some(value.clone());
            }
            if vector.is_some() {
                self.vectors[output.index()] = vector;
            }
        }
    }

    /// The vector that the output of a node is a view of.
    fn vector_of(&self, node: &Node) -> Option<Vector> {
        let (input, output) = (*node.inputs.first()?, *node.outputs.first()?);
        let vector = self.vectors[input.index()]?;
        let (from, to) = (&self.graph.get(input).shape, &self.graph.get(output).shape);
        match &node.operation {
            Operation::Reshape => {
                let axis = (0..to.len()).find(|axis| to[*axis] > 1)?;
                (to[axis] == from[vector.axis]).then_some(Vector { axis, ..vector })
            }
            Operation::Permute { axes } => {
                let axis = axes.iter().position(|axis| *axis == vector.axis)?;
                Some(Vector { axis, ..vector })
            }
            // Expanding adds axes in front.
            Operation::Expand => Some(Vector { axis: vector.axis + to.len().checked_sub(from.len())?, ..vector }),
            _ => None,
        }
    }

    /// Abstract values of a node's outputs; fewer where nothing is known.
    fn evaluate(&self, node: &Node) -> Vec<AbstractValue> {
        match &node.operation {
            Operation::Custom { name, scalars } if name == RFFT => self.real_transform(node, scalars),
            Operation::Custom { name, scalars } if is_open_butterfly(name, scalars) => self.butterfly(node),
            Operation::Custom { name, scalars } => match row_transform_length(name, scalars) {
                Some(length) => self.transform_of_rows(node, length),
                None => Vec::new(),
            },
            _ => self.single(node).into_iter().collect(),
        }
    }

    /// Abstract value of the output of an operation with one output.
    fn single(&self, node: &Node) -> Option<AbstractValue> {
        let (first, [output]) = (self.value(*node.inputs.first()?), node.outputs.as_slice()) else { return None };
        let from = &self.graph.get(node.inputs[0]).shape;
        let to = &self.graph.get(*output).shape;
        match &node.operation {
            Operation::Reshape => reshape(first?, from, to),
            Operation::Expand if from.iter().product::<usize>() == to.iter().product::<usize>() => {
                reshape(first?, from, to)
            }
            Operation::Permute { axes } => {
                let value = first?;
                let roles = axes.iter().map(|axis| value.roles[*axis]).collect();
                Some(AbstractValue { kind: value.kind.clone(), roles })
            }
            Operation::Slice { slices } => slice(first?, from, slices, to),
            Operation::Unfold { axis, size, step } => unfold(first?, *axis, *size, *step, to[*axis]),
            Operation::Concatenate { axis } => self.two_sided(node).or_else(|| {
                let parts: Option<Vec<_>> = node.inputs.iter().map(|input| self.value(*input)).collect();
                concatenate(&parts?, *axis)
            }),
            Operation::AssignSlice { slices } => assign(first?, from, slices, self.value(node.inputs[1])?),
            Operation::Multiply => self.product(node.inputs[0], node.inputs[1], to),
            Operation::Add => sum(first?, self.value(node.inputs[1])?),
            Operation::MultiplyScalar(factor) => scaled(first?, *factor),
            Operation::DivideScalar(divisor) => scaled(first?, 1.0 / divisor),
            Operation::SquareRoot | Operation::Power(0.5) => root(first?),
            Operation::Power(2.0) => self.square(node.inputs[0]),
            Operation::Sum { axis } => reduced(first?, *axis, 1.0),
            Operation::Mean { axis } => reduced(first?, *axis, from[*axis] as f64),
            _ => None,
        }
    }

    /// Both sides of a spectrum of real samples, completed from its lower half: as a value, the bins from 0 on.
    fn two_sided(&self, node: &Node) -> Option<AbstractValue> {
        let whole = MirroredSpectrum::of(self.graph, &self.producers, node)?;
        let value = self.value(whole.half)?;
        let ValueKind::Spectrum(segments, part, _) = &value.kind else { return None };
        let bins = self.graph.get(node.outputs[0]).shape[whole.axis];
        let is_whole = *part == whole.part && value.point_axis() == Some(whole.axis) && bins == segments.length;
        is_whole.then(|| value.clone())
    }

    fn square(&self, id: ValueId) -> Option<AbstractValue> {
        let value = self.value(id)?;
        squared(value, self.graph.get(id).shape[value.point_axis()?])
    }

    /// A spectrum times itself, samples times a window, or power times known weights.
    fn product(&self, left: ValueId, right: ValueId, shape: &[usize]) -> Option<AbstractValue> {
        if left == right {
            return self.square(left);
        }
        self.times_vector(left, right, shape).or_else(|| self.times_vector(right, left, shape))
    }

    /// A value times a vector along its axis of samples or bins.
    fn times_vector(&self, id: ValueId, vector: ValueId, shape: &[usize]) -> Option<AbstractValue> {
        let value = self.value(id)?;
        // The vector must not broadcast the value to more rows or segments, and must have one element per sample or
        // bin.
        if self.graph.get(id).shape != shape {
            return None;
        }
        let points = value.point_axis()?;
        let Vector { source, axis } = self.vectors[vector.index()]?;
        let missing = shape.len().checked_sub(self.graph.get(vector).shape.len())?;
        if axis + missing != points || self.graph.get(source).elements() != shape[points] {
            return None;
        }
        match &value.kind {
            ValueKind::Samples(_) => windowed(value, self.first_equal(source)),
            ValueKind::Power(_) => weighted(value, &constants::vector(self.graph, &self.producers, source)?),
            ValueKind::Spectrum(..) | ValueKind::Amplitude(_) => None,
        }
    }

    /// The first constant with the elements of a constant, and any other value itself: segments that are cut one by one
    /// may have a copy of the window each.
    fn first_equal(&self, id: ValueId) -> ValueId {
        let Origin::Constant(data) = &self.graph.get(id).origin else { return id };
        let is_equal =
            |other: &ValueId| matches!(&self.graph.get(*other).origin, Origin::Constant(found) if found == data);
        self.graph.value_ids().find(is_equal).unwrap_or(id)
    }

    /// Outputs of Burn's transform of real samples: real and imaginary parts of the one-sided spectrum.
    fn real_transform(&self, node: &Node, scalars: &[ScalarIr]) -> Vec<AbstractValue> {
        let [ScalarIr::UInt(axis), ScalarIr::Bool(cut), ScalarIr::UInt(length)] = *scalars else { return Vec::new() };
        let Some(value) = self.value(node.inputs[0]) else { return Vec::new() };
        let ValueKind::Samples(segments) = &value.kind else { return Vec::new() };
        let is_whole = !cut || length as usize == segments.length;
        if !is_whole
            || value.point_axis() != Some(axis as usize)
            || validate_n_fft("rfft", "n", segments.length).is_err()
        {
            return Vec::new();
        }
        self.spectra(value, node)
    }

    /// Outputs of a transform of rows of `length` samples that are real or have an imaginary part of zeros.
    fn transform_of_rows(&self, node: &Node, length: usize) -> Vec<AbstractValue> {
        let Some(value) = self.value(node.inputs[0]) else { return Vec::new() };
        let is_samples = matches!(value.kind, ValueKind::Samples(_)) && value.point_axis() == Some(1);
        let is_whole = length == value.kind.segments().length;
        let is_real = node.inputs.get(1).is_none_or(|im| self.is_zero(*im));
        if is_samples && is_whole && is_real { self.spectra(value, node) } else { Vec::new() }
    }

    /// Outputs of a butterfly transform with exact twiddles.
    fn butterfly(&self, node: &Node) -> Vec<AbstractValue> {
        let &[_, im, twiddles] = &node.inputs[..] else { return Vec::new() };
        let length = self.graph.get(im).shape[1];
        let is_exact = constants::are_exact_twiddles(self.graph, twiddles, length);
        if is_exact { self.transform_of_rows(node, length) } else { Vec::new() }
    }

    /// Whether a value is filled with zeros, in whatever shape.
    fn is_zero(&self, value: ValueId) -> bool {
        let Some(producer) = self.producers[value.index()] else { return false };
        let node = &self.graph.nodes()[producer];
        match node.operation {
            Operation::Fill(value) => value == 0.0,
            Operation::Reshape | Operation::Permute { .. } | Operation::Expand => self.is_zero(node.inputs[0]),
            _ => false,
        }
    }

    fn spectra(&self, value: &AbstractValue, node: &Node) -> Vec<AbstractValue> {
        let segments = value.kind.segments();
        let part = |(part, output): (SpectrumPart, &ValueId)| AbstractValue {
            kind: ValueKind::Spectrum(segments.clone(), part, vec![*output]),
            roles: value.roles.clone(),
        };
        [SpectrumPart::Real, SpectrumPart::Imaginary].into_iter().zip(&node.outputs).map(part).collect()
    }
}
