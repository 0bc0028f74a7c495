//! Translation of a graph to operations of Burn's interpreter.

use burn::backend::ir::{
    BaseOperationIr, CatOpIr, CustomOpIr, IrVisitorMut, NumericOperationIr, OperationIr, PermuteOpIr, ScalarIr,
    ScalarOpIr, ShapeOpIr, SliceOpIr, TensorId, TensorIr, TensorStatus,
};
use burn::tensor::{Shape, Slice};

use super::model::Origin;
use super::{Graph, GraphError, Node, Operation, ValueId};

/// Burn's description of a value.
pub(super) fn describe(graph: &Graph, id: ValueId, status: TensorStatus) -> TensorIr {
    let value = graph.get(id);
    let shape = Shape::from(value.shape.clone());
    TensorIr { id: TensorId::new(id.index() as u64), shape, status, dtype: value.dtype }
}

/// Operations of the nodes; each value is freed by the last node that reads it.
pub(super) fn operations(graph: &Graph) -> Result<Vec<OperationIr>, GraphError> {
    let last_readers = graph.last_readers();
    let kept = |id: ValueId| !matches!(graph.get(id).origin, Origin::Computed) || graph.outputs().contains(&id);
    let mut operations = Vec::new();
    for (index, node) in graph.nodes().iter().enumerate() {
        let mut operation = match &node.recorded {
            Some(recorded) => recorded.as_ref().clone(),
            None => constructed(graph, node)?,
        };
        let frees = |id: ValueId| last_readers[id.index()] == Some(index) && !kept(id);
        // A value that one operation reads twice would be freed by the first read: it is dropped afterwards instead.
        let once = |id: ValueId| node.inputs.iter().filter(|input| **input == id).count() == 1;
        let consumed = |id: ValueId| frees(id) && once(id);
        operation.visit_mut(&mut Statuses { inputs: &node.inputs, consumed: &consumed });
        operations.push(operation);
        let mut dropped: Vec<ValueId> = node.inputs.iter().copied().filter(|id| frees(*id) && !once(*id)).collect();
        dropped.sort_unstable();
        dropped.dedup();
        let unread = node.outputs.iter().copied().filter(|id| last_readers[id.index()].is_none() && !kept(*id));
        dropped.extend(unread);
        operations
            .extend(dropped.into_iter().map(|id| OperationIr::Drop(describe(graph, id, TensorStatus::ReadWrite))));
    }
    Ok(operations)
}

/// Sets for each tensor whether it may be overwritten; the recorded status is that of the graph as captured.
struct Statuses<'a> {
    inputs: &'a [ValueId],
    consumed: &'a dyn Fn(ValueId) -> bool,
}

impl IrVisitorMut for Statuses<'_> {
    fn visit_tensor_mut(&mut self, tensor: &mut TensorIr) {
        let id = ValueId(tensor.id.value() as usize);
        tensor.status = match (self.inputs.contains(&id), (self.consumed)(id)) {
            (true, true) => TensorStatus::ReadWrite,
            (true, false) => TensorStatus::ReadOnly,
            (false, _) => TensorStatus::NotInit,
        };
    }
}

/// Operation of a node that was not captured, but added by a rewrite rule.
fn constructed(graph: &Graph, node: &Node) -> Result<OperationIr, GraphError> {
    let tensor = |id: &ValueId| describe(graph, *id, TensorStatus::ReadOnly);
    if let Operation::Custom { name, scalars } = &node.operation {
        return Ok(OperationIr::Custom(CustomOpIr {
            id: name.clone(),
            inputs: node.inputs.iter().map(tensor).collect(),
            outputs: node.outputs.iter().map(tensor).collect(),
            scalars: scalars.clone(),
        }));
    }
    if let Operation::Concatenate { axis } = node.operation {
        let (tensors, out) = (node.inputs.iter().map(tensor).collect(), tensor(output_of(node)));
        return Ok(OperationIr::BaseFloat(BaseOperationIr::Cat(CatOpIr { tensors, dim: axis, out })));
    }
    let unknown = || GraphError::NotCaptured(node.operation.name().into_owned());
    let ([input], [output]) = (node.inputs.as_slice(), node.outputs.as_slice()) else { return Err(unknown()) };
    let (input, out) = (tensor(input), tensor(output));
    Ok(match &node.operation {
        Operation::Reshape => OperationIr::BaseFloat(BaseOperationIr::Reshape(ShapeOpIr { input, out })),
        Operation::Permute { axes } => {
            OperationIr::BaseFloat(BaseOperationIr::Permute(PermuteOpIr { input, out, axes: axes.clone() }))
        }
        Operation::Slice { slices } => {
            let range = |(slice, &length): (&super::AxisSlice, &usize)| {
                (slice.stride == 1).then(|| Slice::from(slice.start..slice.start + length))
            };
            let lengths = &graph.get(*output_of(node)).shape;
            let ranges = slices.iter().zip(lengths).map(range).collect::<Option<Vec<_>>>().ok_or_else(unknown)?;
            OperationIr::BaseFloat(BaseOperationIr::Slice(SliceOpIr { tensor: input, ranges, out }))
        }
        Operation::MultiplyScalar(factor) => {
            let rhs = ScalarIr::Float(*factor);
            let multiply = NumericOperationIr::MulScalar(ScalarOpIr { lhs: input, rhs, out });
            OperationIr::NumericFloat(graph.get(*output_of(node)).dtype, multiply)
        }
        _ => return Err(unknown()),
    })
}

/// The output of a node that has exactly one.
fn output_of(node: &Node) -> &ValueId {
    &node.outputs[0]
}
