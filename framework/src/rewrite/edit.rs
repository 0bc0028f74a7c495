//! Edit of a graph, which puts one operation in place of others.

use burn::tensor::{DType, TensorData};

use super::Replacement;
use crate::graph::{AxisSlice, Graph, Node, Operation, Value, ValueId};

/// Copy of a graph, and the nodes that are to replace a part of it.
pub struct Edit {
    graph: Graph,
    nodes: Vec<Node>,
    /// Nodes from what the operation computes to the values of the replaced part, the last one first.
    following: Vec<Node>,
}

impl Edit {
    pub fn new(graph: &Graph) -> Self {
        Self { graph: graph.clone(), nodes: Vec::new(), following: Vec::new() }
    }

    pub fn get(&self, id: ValueId) -> &Value {
        self.graph.get(id)
    }

    /// A value that a new node computes.
    pub fn computed(&mut self, shape: &[usize], dtype: DType) -> ValueId {
        self.graph.computed(shape, dtype)
    }

    pub fn push(&mut self, operation: impl Into<Operation>, inputs: &[ValueId], outputs: &[ValueId]) {
        self.nodes.push(Node::new(operation.into(), inputs.to_vec(), outputs.to_vec()));
    }

    /// Adds a node whose output, of `shape`, has the type of its inputs.
    pub fn apply(&mut self, operation: Operation, inputs: &[ValueId], shape: &[usize]) -> ValueId {
        let output = self.computed(shape, self.get(inputs[0]).dtype);
        self.push(operation, inputs, &[output]);
        output
    }

    pub fn reshaped(&mut self, value: ValueId, shape: &[usize]) -> ValueId {
        if self.get(value).shape == shape { value } else { self.apply(Operation::Reshape, &[value], shape) }
    }

    /// The samples from `start` on of a signal `[rows, samples]`, `length` of them.
    pub fn samples(&mut self, source: ValueId, start: usize, length: usize) -> ValueId {
        let (rows, whole) = (self.get(source).shape[0], self.get(source).shape[1]);
        if (start, length) == (0, whole) {
            return source;
        }
        let slices = vec![AxisSlice { start: 0, stride: 1 }, AxisSlice { start, stride: 1 }];
        self.apply(Operation::Slice { slices }, &[source], &[rows, length])
    }

    /// A window of `length` samples, reshaped to one axis; ones if there is none. `None` if it is of another type than
    /// `dtype`, or that is none of the types that operations compute in.
    pub fn window(&mut self, window: Option<ValueId>, length: usize, dtype: DType) -> Option<ValueId> {
        match (window, dtype) {
            (Some(window), DType::F32 | DType::F64) if self.get(window).dtype == dtype => {
                Some(self.reshaped(window, &[length]))
            }
            (None, DType::F32) => Some(self.graph.constant(TensorData::ones::<f32, _>([length]))),
            (None, DType::F64) => Some(self.graph.constant(TensorData::ones::<f64, _>([length]))),
            _ => None,
        }
    }

    /// The value of `shape` from which `operation` makes a value of the replaced part.
    pub fn before(&mut self, operation: Operation, output: ValueId, shape: &[usize]) -> ValueId {
        let input = self.computed(shape, self.get(output).dtype);
        self.following.push(Node::new(operation, vec![input], vec![output]));
        input
    }

    /// The value of `shape` that is reshaped to a value of the replaced part; that value itself if it has the shape.
    pub fn unshaped(&mut self, output: ValueId, shape: &[usize]) -> ValueId {
        if self.get(output).shape == shape { output } else { self.before(Operation::Reshape, output, shape) }
    }

    /// The edited graph, with the new nodes in place of those at the indices `replaced`.
    pub fn replace(mut self, replaced: &[usize], target: ValueId, obsolete: Vec<ValueId>, batch: usize) -> Replacement {
        let nodes = self.nodes.into_iter().chain(self.following.into_iter().rev());
        self.graph.replace(replaced, nodes.collect());
        Replacement { graph: self.graph, target, obsolete, batch: batch as u64 }
    }
}

/// The node that reads a value, if it is the only one, and the value is no output.
pub fn only_reader(graph: &Graph, value: ValueId) -> Option<(usize, &Node)> {
    let mut readers = graph.nodes().iter().enumerate().filter(|(_, node)| node.inputs.contains(&value));
    let (Some(reader), None) = (readers.next(), readers.next()) else { return None };
    (!graph.outputs().contains(&value)).then_some(reader)
}
