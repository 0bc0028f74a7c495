//! Abstract interpretation of a graph in terms of spectral convolutions, from the inputs forward.

use firefly_ops::Direction;
use firefly_ops::descriptor::OpDescriptor;

use super::axes::{Axes, Role};
use super::value::{Kind, Transform, Value};
use crate::graph::{AxisSlice, Graph, Node, Operation, ScalarIr, ValueId};
use crate::rewrite::abstract_value::Part;
use crate::rewrite::interpretation::RFFT;

/// Abstract values of a graph's values.
pub struct Interpretation<'a> {
    graph: &'a Graph,
    producers: Vec<Option<usize>>,
    values: Vec<Value>,
}

impl<'a> Interpretation<'a> {
    /// Interprets every node of `graph`.
    pub fn new(graph: &'a Graph) -> Self {
        let values = graph.value_ids().map(|id| Value::tensor(id, &graph.get(id).shape)).collect();
        let mut interpretation = Self { graph, producers: graph.producers(), values };
        for node in graph.nodes() {
            let outputs = interpretation.evaluate(node);
            for (value, &id) in outputs.into_iter().zip(&node.outputs) {
                interpretation.values[id.index()] = value;
            }
        }
        interpretation
    }

    /// The abstract value of a value.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// Abstract values of a node's outputs; fewer where nothing is known.
    fn evaluate(&self, node: &Node) -> Vec<Value> {
        match &node.operation {
            Operation::Custom { name, scalars } => self.transform(node, name, scalars).unwrap_or_default(),
            _ => self.single(node).into_iter().collect(),
        }
    }

    /// Abstract value of the output of an operation with one output.
    fn single(&self, node: &Node) -> Option<Value> {
        let first = self.value(*node.inputs.first()?);
        let second = node.inputs.get(1).map(|id| self.value(*id));
        let shape = &self.graph.get(*node.outputs.first()?).shape;
        match &node.operation {
            Operation::Reshape => self.reshaped(first, shape),
            Operation::Permute { axes } => Some(first.with_axes(first.axes.permute(axes))),
            Operation::Expand => Some(first.with_axes(first.axes.expand(shape.len())?)),
            Operation::Slice { slices } => self.cut(node, first, slices, shape),
            Operation::Concatenate { axis } => self.padded(node, first, *axis, shape),
            Operation::AssignSlice { slices } => self.assigned(node, second?, slices, shape),
            Operation::Multiply => {
                first.times(second?).or_else(|| second?.times(first)).filter(|value| value.axes.cover(shape))
            }
            Operation::MatrixProduct => first.matmul(second?).filter(|value| value.axes.cover(shape)),
            Operation::Add => first.plus(second?, 1.0),
            Operation::Subtract => first.plus(second?, -1.0),
            Operation::MultiplyScalar(factor) => first.scaled(*factor),
            Operation::DivideScalar(divisor) => first.scaled(1.0 / divisor),
            Operation::Sum { axis } => first.summed(*axis),
            _ => None,
        }
    }

    /// The same elements in another shape. What is known of a tensor's axes is kept for tensors of three, of which
    /// signals and weights are.
    fn reshaped(&self, value: &Value, shape: &[usize]) -> Option<Value> {
        if let Kind::Tensor(source) = value.kind
            && self.graph.get(source).shape.len() != 3
        {
            return None;
        }
        Some(value.with_axes(value.axes.reshape(shape)?))
    }

    /// The lowest bins of a spectrum.
    fn cut(&self, node: &Node, value: &Value, slices: &[AxisSlice], shape: &[usize]) -> Option<Value> {
        let from = &self.graph.get(node.inputs[0]).shape;
        if matches!(value.kind, Kind::Tensor(_)) || slices.iter().any(|slice| (slice.start, slice.stride) != (0, 1)) {
            return None;
        }
        if from == shape {
            return Some(value.clone());
        }
        let axis = value.axes.mode_axis()?;
        // Bins of a product that were multiplied by weights may not be dropped.
        let is_spectrum = matches!(value.kind, Kind::Spectrum(..));
        let others = (0..shape.len()).all(|other| other == axis || from[other] == shape[other]);
        (is_spectrum && others).then(|| value.with_axes(value.axes.with_modes(axis, shape[axis])))
    }

    /// Bins followed by zeros.
    fn padded(&self, node: &Node, value: &Value, axis: usize, shape: &[usize]) -> Option<Value> {
        let zeros = node.inputs[1..].iter().all(|id| self.is_zero(*id));
        let is_product = matches!(value.kind, Kind::Product { .. });
        (is_product && zeros && value.axes.mode_axis() == Some(axis))
            .then(|| value.with_axes(value.axes.with_modes(axis, shape[axis])))
    }

    /// Bins that replace the first of zeros.
    fn assigned(&self, node: &Node, value: &Value, slices: &[AxisSlice], shape: &[usize]) -> Option<Value> {
        let axis = value.axes.mode_axis()?;
        let part = &self.graph.get(node.inputs[1]).shape;
        let at_start = slices.iter().all(|slice| (slice.start, slice.stride) == (0, 1));
        let others = (0..shape.len()).all(|other| other == axis || part[other] == shape[other]);
        let is_product = matches!(value.kind, Kind::Product { .. });
        (is_product && at_start && others && self.is_zero(node.inputs[0]))
            .then(|| value.with_axes(value.axes.with_modes(axis, shape[axis])))
    }

    /// Whether a value is made of zeros.
    fn is_zero(&self, id: ValueId) -> bool {
        let producer = self.producers[id.index()].map(|index| &self.graph.nodes()[index]);
        producer.is_some_and(|node| match node.operation {
            Operation::Fill(value) => value == 0.0,
            Operation::Reshape | Operation::Expand | Operation::Cast => self.is_zero(node.inputs[0]),
            _ => false,
        })
    }

    /// Both parts of the spectra of a tensor's rows, transformed whole.
    fn transform(&self, node: &Node, name: &str, scalars: &[ScalarIr]) -> Option<Vec<Value>> {
        let input = self.value(*node.inputs.first()?);
        let Kind::Tensor(source) = input.kind else { return None };
        let [batch, inputs, points] = self.graph.get(source).shape[..] else { return None };
        let (own, roles) = ([0, 1, 2].map(Role::Own), input.axes.roles());
        let (batch, inputs) = ((Role::Batch, batch), (Role::Input, inputs));
        let (scale, mut axes) = if name == RFFT {
            let [ScalarIr::UInt(2), ScalarIr::Bool(is_cut), ScalarIr::UInt(length)] = *scalars else { return None };
            if (is_cut && length as usize != points) || roles != own.map(|role| vec![role]) {
                return None;
            }
            (1.0, vec![vec![batch], vec![inputs]])
        } else {
            let OpDescriptor::RealFft { options } = OpDescriptor::parse(name, scalars)? else { return None };
            let is_plain = options.direction == Direction::Forward && options.interior == 1.0;
            if !is_plain || options.length != points || roles != [own[..2].to_vec(), own[2..].to_vec()] {
                return None;
            }
            (options.scale, vec![vec![batch, inputs]])
        };
        let [re, im] = node.outputs[..] else { return None };
        let transform = Transform { source, points, scale, spectra: [re, im] };
        axes.push(vec![(Role::Mode, points / 2 + 1)]);
        let part = |part| Value { kind: Kind::Spectrum(transform.clone(), part), axes: Axes(axes.clone()) };
        Some(vec![part(Part::Real), part(Part::Imaginary)])
    }
}
