//! From the signal forward: what each value of a graph is.

use burn::tensor::DType;
use firefly_ops::WelchOptions;

use super::constants;
use super::elementwise::{reduced, scaled, squared, sum, weighted, windowed};
use super::layout::{assign, concatenate, reshape, slice, unfold};
use super::meaning::{Content, Meaning, Part, Role, Vector};
use super::spectral::is_open_butterfly;
use crate::graph::{Graph, Node, Operation, ScalarIr, ValueId};

/// The name of Burn's transform of real samples.
pub const RFFT: &str = "signal::rfft";

/// What is known of a graph's values.
pub struct Interpretation<'a> {
    graph: &'a Graph,
    producers: Vec<Option<usize>>,
    meanings: Vec<Option<Meaning>>,
    vectors: Vec<Option<Vector>>,
}

impl<'a> Interpretation<'a> {
    /// Works out what every value of `graph` is.
    pub fn new(graph: &'a Graph) -> Self {
        let count = graph.values().len();
        let mut known =
            Self { graph, producers: graph.producers(), meanings: vec![None; count], vectors: vec![None; count] };
        let nobody_makes = |value: &ValueId| known.producers[value.index()].is_none();
        let roots: Vec<ValueId> = graph.value_ids().filter(nobody_makes).collect();
        roots.into_iter().for_each(|value| known.take_as_it_is(value));
        for node in graph.nodes() {
            known.visit(node);
        }
        known
    }

    /// What a value is; every matrix of floats is at least a signal.
    pub fn meaning(&self, value: ValueId) -> Option<&Meaning> {
        self.meanings[value.index()].as_ref()
    }

    /// A value that nothing more is known of: a matrix may be a signal, and a line of elements is a vector.
    fn take_as_it_is(&mut self, id: ValueId) {
        let value = self.graph.get(id);
        let long = |axis: &usize| value.shape[*axis] > 1;
        let mut axes = (0..value.shape.len()).filter(long);
        if let (Some(axis), None) = (axes.next(), axes.next()) {
            self.vectors[id.index()] = Some(Vector { source: id, axis });
        }
        if let [_, samples] = value.shape[..]
            && matches!(value.dtype, DType::F32 | DType::F64)
        {
            self.meanings[id.index()] = Some(Meaning::signal(id, samples));
        }
    }

    fn visit(&mut self, node: &Node) {
        let vector = self.vector_of(node);
        let meanings = self.meanings_of(node);
        for (place, &output) in node.outputs.iter().enumerate() {
            self.take_as_it_is(output);
            if let Some(meaning) = meanings.get(place) {
                self.meanings[output.index()] = Some(meaning.clone());
            }
            if vector.is_some() {
                self.vectors[output.index()] = vector;
            }
        }
    }

    /// What a view of a vector is a vector of.
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

    /// What a node's outputs are, if anything is known of them.
    fn meanings_of(&self, node: &Node) -> Vec<Meaning> {
        match &node.operation {
            Operation::Custom { name, scalars } if name == RFFT => self.real_transform(node, scalars),
            Operation::Custom { name, scalars } if is_open_butterfly(name, scalars) => self.butterfly(node),
            _ => self.single(node).into_iter().collect(),
        }
    }

    /// What the output of an operation with one output is.
    fn single(&self, node: &Node) -> Option<Meaning> {
        let (first, [output]) = (self.meaning(*node.inputs.first()?), node.outputs.as_slice()) else { return None };
        let from = &self.graph.get(node.inputs[0]).shape;
        let to = &self.graph.get(*output).shape;
        match &node.operation {
            Operation::Reshape => reshape(first?, from, to),
            Operation::Expand if from.iter().product::<usize>() == to.iter().product::<usize>() => {
                reshape(first?, from, to)
            }
            Operation::Permute { axes } => {
                let meaning = first?;
                let roles = axes.iter().map(|axis| meaning.roles[*axis]).collect();
                Some(Meaning { content: meaning.content.clone(), roles })
            }
            Operation::Slice { steps } => slice(first?, from, steps, to),
            Operation::Unfold { axis, size, step } => unfold(first?, *axis, *size, *step, to[*axis]),
            Operation::Concatenate { axis } => {
                let parts: Option<Vec<_>> = node.inputs.iter().map(|input| self.meaning(*input)).collect();
                concatenate(&parts?, *axis)
            }
            Operation::AssignSlice { steps } => assign(first?, from, steps, self.meaning(node.inputs[1])?),
            Operation::Multiply => self.product(node.inputs[0], node.inputs[1], to),
            Operation::Add => sum(first?, self.meaning(node.inputs[1])?),
            Operation::MultiplyScalar(factor) => scaled(first?, *factor),
            Operation::DivideScalar(divisor) => scaled(first?, 1.0 / divisor),
            Operation::Power(2.0) => self.square(node.inputs[0]),
            Operation::Sum { axis } => reduced(first?, *axis, 1.0),
            Operation::Mean { axis } => reduced(first?, *axis, from[*axis] as f64),
            _ => None,
        }
    }

    fn square(&self, value: ValueId) -> Option<Meaning> {
        let meaning = self.meaning(value)?;
        squared(meaning, self.graph.get(value).shape[meaning.line()?])
    }

    /// A spectrum times itself, samples times a window, or energy times known weights.
    fn product(&self, left: ValueId, right: ValueId, shape: &[usize]) -> Option<Meaning> {
        if left == right {
            return self.square(left);
        }
        self.times_vector(left, right, shape).or_else(|| self.times_vector(right, left, shape))
    }

    fn times_vector(&self, value: ValueId, vector: ValueId, shape: &[usize]) -> Option<Meaning> {
        let meaning = self.meaning(value)?;
        // The vector must not add rows or segments of its own, and its elements must be those of the line.
        if self.graph.get(value).shape != shape {
            return None;
        }
        let line = meaning.line()?;
        let Vector { source, axis } = self.vectors[vector.index()]?;
        let missing = shape.len().checked_sub(self.graph.get(vector).shape.len())?;
        if axis + missing != line || self.graph.get(source).elements() != shape[line] {
            return None;
        }
        match &meaning.content {
            Content::Samples(_) => windowed(meaning, source),
            Content::Energy(_) => weighted(meaning, &constants::vector(self.graph, &self.producers, source)?),
            Content::Spectrum(..) => None,
        }
    }

    /// Burn's transform of real samples: real and imaginary parts of the lower half of the spectrum.
    fn real_transform(&self, node: &Node, scalars: &[ScalarIr]) -> Vec<Meaning> {
        let [ScalarIr::UInt(axis), ScalarIr::Bool(cut), ScalarIr::UInt(length)] = *scalars else { return Vec::new() };
        let Some(meaning) = self.meaning(node.inputs[0]) else { return Vec::new() };
        let Content::Samples(segments) = &meaning.content else { return Vec::new() };
        let whole = !cut || length as usize == segments.length;
        if !whole
            || meaning.line() != Some(axis as usize)
            || WelchOptions::new(segments.length, 1).validate("rfft").is_err()
        {
            return Vec::new();
        }
        self.spectra(meaning, node)
    }

    /// A butterfly transform with the twiddles of the transform, on samples without an imaginary part.
    fn butterfly(&self, node: &Node) -> Vec<Meaning> {
        let [re, im, twiddles] = node.inputs[..] else { return Vec::new() };
        let Some(meaning) = self.meaning(re) else { return Vec::new() };
        let real = || {
            let producer = self.producers[im.index()]?;
            Some(self.graph.nodes()[producer].operation == Operation::Fill(0.0))
        };
        let is_samples = matches!(meaning.content, Content::Samples(_)) && meaning.line() == Some(1);
        if !is_samples || real() != Some(true) {
            return Vec::new();
        }
        let exact = constants::are_exact_twiddles(self.graph, twiddles, meaning.content.segments().length);
        if exact { self.spectra(meaning, node) } else { Vec::new() }
    }

    fn spectra(&self, meaning: &Meaning, node: &Node) -> Vec<Meaning> {
        let segments = meaning.content.segments();
        let part = |(part, output): (Part, &ValueId)| Meaning {
            content: Content::Spectrum(segments.clone(), part, vec![*output]),
            roles: meaning.roles.clone(),
        };
        [Part::Real, Part::Imaginary].into_iter().zip(&node.outputs).map(part).collect()
    }
}

/// Whether a value has rows of one line each, as [`welch_peaks`](firefly_ops::welch_peaks) gives them.
pub fn is_row_of_lines(meaning: &Meaning) -> bool {
    meaning.roles == [Role::Row, Role::Line]
}
