//! Values around operations that replace others: inputs in the shapes that the operations take, and what reads a value.

use burn::tensor::{DType, TensorData};

use crate::graph::{AxisSlice, Graph, Node, Operation, ValueId};

/// The samples from `start` on of a signal `[rows, samples]`, `length` of them.
pub fn samples(graph: &mut Graph, nodes: &mut Vec<Node>, source: ValueId, start: usize, length: usize) -> ValueId {
    let (rows, whole, dtype) = (graph.get(source).shape[0], graph.get(source).shape[1], graph.get(source).dtype);
    if (start, length) == (0, whole) {
        return source;
    }
    let part = graph.computed(&[rows, length], dtype);
    let slices = vec![AxisSlice { start: 0, stride: 1 }, AxisSlice { start, stride: 1 }];
    nodes.push(Node::new(Operation::Slice { slices }, vec![source], vec![part]));
    part
}

/// A window of `length` samples, reshaped to one axis; ones if there is none. `None` if it is of another type.
pub fn window(
    graph: &mut Graph,
    nodes: &mut Vec<Node>,
    window: Option<ValueId>,
    length: usize,
    dtype: DType,
) -> Option<ValueId> {
    let Some(window) = window else { return Some(graph.constant(ones(length, dtype)?)) };
    (graph.get(window).dtype == dtype).then(|| reshaped(graph, nodes, window, &[length]))
}

/// A value in another shape.
pub fn reshaped(graph: &mut Graph, nodes: &mut Vec<Node>, value: ValueId, shape: &[usize]) -> ValueId {
    if graph.get(value).shape == shape {
        return value;
    }
    let reshaped = graph.computed(shape, graph.get(value).dtype);
    nodes.push(Node::new(Operation::Reshape, vec![value], vec![reshaped]));
    reshaped
}

/// The node that reads a value, if it is the only one, and the value is no output.
pub fn only_reader(graph: &Graph, value: ValueId) -> Option<(usize, &Node)> {
    let mut readers = graph.nodes().iter().enumerate().filter(|(_, node)| node.inputs.contains(&value));
    let (Some(reader), None) = (readers.next(), readers.next()) else { return None };
    (!graph.outputs().contains(&value)).then_some(reader)
}

fn ones(length: usize, dtype: DType) -> Option<TensorData> {
    match dtype {
        DType::F32 => Some(TensorData::ones::<f32, _>([length])),
        DType::F64 => Some(TensorData::ones::<f64, _>([length])),
        _ => None,
    }
}
