//! Inputs of operations that replace others: signals and windows in the shapes that the operations take.

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
    if graph.get(window).dtype != dtype {
        return None;
    }
    if graph.get(window).shape == [length] {
        return Some(window);
    }
    let line = graph.computed(&[length], dtype);
    nodes.push(Node::new(Operation::Reshape, vec![window], vec![line]));
    Some(line)
}

fn ones(length: usize, dtype: DType) -> Option<TensorData> {
    match dtype {
        DType::F32 => Some(TensorData::ones::<f32, _>([length])),
        DType::F64 => Some(TensorData::ones::<f64, _>([length])),
        _ => None,
    }
}
