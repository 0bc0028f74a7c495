//! Translation of Burn's representation of an operation.

use burn::backend::ir::{BaseOperationIr, FloatOperationIr, NumericOperationIr, OperationIr, ScalarIr};
use burn::tensor::Slice;

use super::operation::{AxisSlice, Operation, Ranked};

/// The operation of a recorded one.
pub(super) fn operation(recorded: &OperationIr) -> Operation {
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
    known.unwrap_or_else(|| Operation::Other(name(recorded)))
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
        NumericOperationIr::Sort(sort) => {
            Operation::Sort { axis: sort.dim, descending: sort.descending, wanted: Ranked::Values }
        }
        NumericOperationIr::ArgSort(sort) => {
            Operation::Sort { axis: sort.dim, descending: sort.descending, wanted: Ranked::Positions }
        }
        NumericOperationIr::SortWithIndices(sort) => {
            Operation::Sort { axis: sort.dim, descending: sort.descending, wanted: Ranked::Both }
        }
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

/// Name of Burn's variant for an operation, such as `Exp`; of the group where it has no variants of its own.
///
/// Burn has no function for it, but serialises an operation with the names of its variants:
/// `{"Float": ["F32", {"Exp": …}]}`, with the element type before the operation in some groups.
fn name(recorded: &OperationIr) -> String {
    let is_group = !matches!(recorded, OperationIr::Init(_) | OperationIr::Drop(_));
    let serialised = serde_json::to_value(recorded).unwrap_or_default();
    let Some((group, content)) = serialised.as_object().and_then(|variants| variants.iter().next()) else {
        return "unknown".into();
    };
    let operation = content.as_array().and_then(|parts| parts.last()).unwrap_or(content);
    let variant = operation.as_object().and_then(|variants| variants.keys().next()).filter(|_| is_group);
    variant.unwrap_or(group).clone()
}
