//! Translation between a graph's operations and Burn's representation of them.

use burn::backend::ir::{
    BaseOperationIr, CatOpIr, CustomOpIr, FloatOperationIr, IrVisitorMut, NumericOperationIr, OperationIr, PermuteOpIr,
    ScalarIr, ScalarOpIr, ShapeOpIr, SliceOpIr, TensorId, TensorIr, TensorStatus,
};
use burn::tensor::{Shape, Slice};
use serde_json::Value;

use super::{AxisSlice, Graph, GraphError, Node, Operation, Origin, Ranked, ValueId};

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
        let mut operation = operation_of(graph, node)?;
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

/// Burn's record of a node's operation, with the indices of the graph's values as identifiers.
pub(crate) fn operation_of(graph: &Graph, node: &Node) -> Result<OperationIr, GraphError> {
    node.recorded.as_ref().map_or_else(|| constructed(graph, node), |recorded| Ok(recorded.as_ref().clone()))
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
            let range = |(slice, &length): (&AxisSlice, &usize)| {
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

pub(super) fn recorded_operation(recorded: &OperationIr) -> Operation {
    let known = match recorded {
        OperationIr::BaseFloat(base) | OperationIr::BaseInt(base) | OperationIr::BaseBool(base) => self::base(base),
        OperationIr::NumericFloat(_, numeric) | OperationIr::NumericInt(_, numeric) => self::numeric(numeric),
        OperationIr::Float(_, FloatOperationIr::PowfScalar(power)) => Some(Operation::Power(value(power.rhs))),
        OperationIr::Float(_, FloatOperationIr::Sqrt(_)) => Some(Operation::SquareRoot),
        OperationIr::Float(_, FloatOperationIr::Log(_)) => Some(Operation::Logarithm),
        OperationIr::Float(_, FloatOperationIr::Matmul(_)) => Some(Operation::MatrixProduct),
        OperationIr::Custom(custom) => {
            Some(Operation::Custom { name: custom.id.clone(), scalars: custom.scalars.clone() })
        }
        _ => None,
    };
    known.unwrap_or_else(|| Operation::Other(named_record(recorded).0))
}

fn base(base: &BaseOperationIr) -> Option<Operation> {
    Some(match base {
        BaseOperationIr::Reshape(_) => Operation::Reshape,
        BaseOperationIr::Expand(_) => Operation::Expand,
        BaseOperationIr::SwapDims(swap) => {
            let mut axes: Vec<usize> = (0..swap.input.shape.num_dims()).collect();
            axes.swap(swap.dim1, swap.dim2);
            Operation::Permute { axes }
        }
        BaseOperationIr::Permute(permute) => Operation::Permute { axes: permute.axes.clone() },
        BaseOperationIr::Slice(slice) => {
            Operation::Slice { slices: slices(&slice.ranges, &slice.tensor.shape.to_vec()) }
        }
        BaseOperationIr::Unfold(unfold) => Operation::Unfold { axis: unfold.dim, size: unfold.size, step: unfold.step },
        BaseOperationIr::SliceAssign(assign) => {
            Operation::AssignSlice { slices: slices(&assign.ranges, &assign.tensor.shape.to_vec()) }
        }
        BaseOperationIr::Cat(cat) => Operation::Concatenate { axis: cat.dim },
        BaseOperationIr::Flip(flip) => Operation::Flip { axes: flip.axes.clone() },
        BaseOperationIr::Cast(_) => Operation::Cast,
        BaseOperationIr::Ones(_) => Operation::Fill(1.0),
        BaseOperationIr::Zeros(_) => Operation::Fill(0.0),
        _ => return None,
    })
}

fn numeric(numeric: &NumericOperationIr) -> Option<Operation> {
    let sort = |axis, descending, wanted| Operation::Sort { axis, descending, wanted };
    Some(match numeric {
        NumericOperationIr::Add(_) => Operation::Add,
        NumericOperationIr::Sub(_) => Operation::Subtract,
        NumericOperationIr::Mul(_) => Operation::Multiply,
        NumericOperationIr::Div(_) => Operation::Divide,
        NumericOperationIr::Neg(_) => Operation::Negate,
        NumericOperationIr::AddScalar(scalar) => Operation::AddScalar(value(scalar.rhs)),
        NumericOperationIr::SubScalar(scalar) => Operation::SubtractScalar(value(scalar.rhs)),
        NumericOperationIr::MulScalar(scalar) => Operation::MultiplyScalar(value(scalar.rhs)),
        NumericOperationIr::DivScalar(scalar) => Operation::DivideScalar(value(scalar.rhs)),
        NumericOperationIr::PowiScalar(scalar) => Operation::Power(value(scalar.rhs)),
        NumericOperationIr::ClampMin(scalar) => Operation::ClampMin(value(scalar.rhs)),
        NumericOperationIr::Full(full) => Operation::Fill(value(full.value)),
        NumericOperationIr::SumDim(sum) => Operation::Sum { axis: sum.axis },
        NumericOperationIr::MeanDim(mean) => Operation::Mean { axis: mean.axis },
        NumericOperationIr::TopK(top) => Operation::TopK { axis: top.axis, wanted: Ranked::Values },
        NumericOperationIr::ArgTopK(top) => Operation::TopK { axis: top.axis, wanted: Ranked::Positions },
        NumericOperationIr::TopKWithIndices(top) => Operation::TopK { axis: top.dim, wanted: Ranked::Both },
        NumericOperationIr::Sort(of) => sort(of.dim, of.descending, Ranked::Values),
        NumericOperationIr::ArgSort(of) => sort(of.dim, of.descending, Ranked::Positions),
        NumericOperationIr::SortWithIndices(of) => sort(of.dim, of.descending, Ranked::Both),
        _ => return None,
    })
}

fn value(scalar: ScalarIr) -> f64 {
    scalar.elem()
}

/// Slices along every axis of `shape`; axes without a range are complete.
fn slices(ranges: &[Slice], shape: &[usize]) -> Vec<AxisSlice> {
    let whole = AxisSlice { start: 0, stride: 1 };
    let step = |(axis, length): (usize, &usize)| {
        let Some(range) = ranges.get(axis) else { return whole };
        let covered = range.to_range(*length);
        // A negative step starts at the end of what it covers.
        let start = if range.step < 0 { covered.end.saturating_sub(1) } else { covered.start };
        AxisSlice { start, stride: range.step }
    };
    shape.iter().enumerate().map(step).collect()
}

/// Name of Burn's variant for an operation, such as `Exp`, or of the group where it has no variants of its own; and the
/// serialised fields of its record, where infinite floats are missing.
///
/// Burn has no function for the name, but serialises an operation with the names of its variants:
/// `{"Float": ["F32", {"Exp": …}]}`, with the element type before the operation in some groups.
pub(crate) fn named_record(recorded: &OperationIr) -> (String, Value) {
    let is_group = !matches!(recorded, OperationIr::Init(_) | OperationIr::Drop(_));
    let serialised = serde_json::to_value(recorded).unwrap_or_default();
    let Some((group, content)) = serialised.as_object().and_then(|variants| variants.iter().next()) else {
        return ("unknown".into(), Value::Null);
    };
    let operation = content.as_array().and_then(|parts| parts.last()).unwrap_or(content);
    let variant = operation.as_object().and_then(|variants| variants.iter().next()).filter(|_| is_group);
    let (name, record) = variant.unwrap_or((group, operation));
    (name.clone(), record.clone())
}
