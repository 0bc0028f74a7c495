//! Operation of a node, as far as the analysis distinguishes it.

use std::borrow::Cow;

use burn::backend::ir::ScalarIr;
use firefly_ops::op::OpDescriptor;

/// Slice along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisSlice {
    /// Index of the first element.
    pub start: usize,
    /// Distance between elements; negative runs backwards.
    pub stride: isize,
}

/// Operation of a node.
///
/// Operations that rewrite rules interpret have their arguments here; any other is a name. Shapes are those of the
/// node's values.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the variants' texts explain their fields")]
pub enum Operation {
    /// The same elements in another shape.
    Reshape,
    /// Broadcast along axes of length 1, without a copy.
    Expand,
    /// Axis `i` of the output is axis `axes[i]` of the input.
    Permute { axes: Vec<usize> },
    /// Part of the input, by a slice along each axis.
    Slice { slices: Vec<AxisSlice> },
    /// Windows of `size` elements, `step` apart, along `axis`; the elements of a window are a new last axis.
    Unfold { axis: usize, size: usize, step: usize },
    /// The first input with the part at `slices`, one along each axis, replaced by the second.
    AssignSlice { slices: Vec<AxisSlice> },
    /// Concatenation along `axis`.
    Concatenate { axis: usize },
    /// The elements along each of `axes` in reverse.
    Flip { axes: Vec<usize> },
    /// Another element type.
    Cast,
    /// A constant tensor of one value.
    Fill(f64),
    /// The elementwise sum.
    Add,
    /// The elementwise difference.
    Subtract,
    /// The elementwise product.
    Multiply,
    /// The elementwise quotient.
    Divide,
    /// Every element with the opposite sign.
    Negate,
    /// Every element plus the value.
    AddScalar(f64),
    /// Every element minus the value.
    SubtractScalar(f64),
    /// Every element times the value.
    MultiplyScalar(f64),
    /// Every element divided by the value.
    DivideScalar(f64),
    /// Every element to the power of the value.
    Power(f64),
    /// The square root of every element.
    SquareRoot,
    /// The natural logarithm of every element.
    Logarithm,
    /// Every element, or the value where that is greater.
    ClampMin(f64),
    /// The matrix product over the last two axes.
    MatrixProduct,
    /// The sum along an axis, which stays with length 1.
    Sum { axis: usize },
    /// The mean along an axis, which stays with length 1.
    Mean { axis: usize },
    /// The greatest elements along an axis, greatest first; its length in the output is their number.
    TopK { axis: usize, wanted: Ranked },
    /// All elements along an axis, the smallest or (`descending`) the greatest first.
    Sort { axis: usize, descending: bool, wanted: Ranked },
    /// An operation of a backend extension, with its arguments that are not tensors.
    Custom { name: String, scalars: Vec<ScalarIr> },
    /// Any other operation, by its name in Burn's representation.
    Other(String),
}

/// How an operation runs.
#[derive(PartialEq, Eq)]
enum Execution {
    View,
    Elementwise,
    Kernel,
}

/// Outputs of an operation that orders elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranked {
    /// The elements.
    Values,
    /// Their positions.
    Positions,
    /// The elements and their positions.
    Both,
}

impl From<OpDescriptor> for Operation {
    fn from(operation: OpDescriptor) -> Self {
        Self::Custom { name: operation.name().into(), scalars: operation.scalars() }
    }
}

impl Operation {
    /// Whether it is a view: nothing runs, and the output shares the memory of the input.
    pub fn is_view(&self) -> bool {
        self.row().1 == Execution::View
    }

    /// Whether each element of the output follows from one element of each input; lazy fusion merges such operations.
    pub fn is_elementwise(&self) -> bool {
        self.row().1 == Execution::Elementwise
    }

    /// The operation of Firefly that it is.
    pub fn descriptor(&self) -> Option<OpDescriptor> {
        let Self::Custom { name, scalars } = self else { return None };
        OpDescriptor::parse(name, scalars)
    }

    /// Name to print: the kind, with the value of an operation that has one.
    pub fn name(&self) -> Cow<'_, str> {
        Cow::Owned(match self {
            Self::Fill(value) => format!("fill {value}"),
            Self::AddScalar(value) => format!("add {value}"),
            Self::SubtractScalar(value) => format!("subtract {value}"),
            Self::MultiplyScalar(value) => format!("multiply by {value}"),
            Self::DivideScalar(value) => format!("divide by {value}"),
            Self::Power(value) => format!("power {value}"),
            Self::ClampMin(value) => format!("clamp from {value}"),
            _ => return Cow::Borrowed(self.kind()),
        })
    }

    /// Kind of the operation, whatever its arguments.
    pub fn kind(&self) -> &str {
        self.row().0
    }

    /// The kind, and how it runs.
    fn row(&self) -> (&str, Execution) {
        use Execution::{Elementwise, Kernel, View};
        match self {
            Self::Reshape => ("reshape", View),
            Self::Expand => ("expand", View),
            Self::Permute { .. } => ("permute", View),
            Self::Slice { .. } => ("slice", View),
            Self::Unfold { .. } => ("unfold", View),
            Self::AssignSlice { .. } => ("assign slice", Kernel),
            Self::Concatenate { .. } => ("concatenate", Kernel),
            Self::Flip { .. } => ("flip", Kernel),
            Self::Cast => ("cast", Elementwise),
            Self::Fill(_) => ("fill", Elementwise),
            Self::Add => ("add", Elementwise),
            Self::Subtract => ("subtract", Elementwise),
            Self::Multiply => ("multiply", Elementwise),
            Self::Divide => ("divide", Elementwise),
            Self::Negate => ("negate", Elementwise),
            Self::AddScalar(_) => ("add scalar", Elementwise),
            Self::SubtractScalar(_) => ("subtract scalar", Elementwise),
            Self::MultiplyScalar(_) => ("multiply by scalar", Elementwise),
            Self::DivideScalar(_) => ("divide by scalar", Elementwise),
            Self::Power(_) => ("power", Elementwise),
            Self::SquareRoot => ("square root", Elementwise),
            Self::Logarithm => ("logarithm", Elementwise),
            Self::ClampMin(_) => ("clamp", Elementwise),
            Self::MatrixProduct => ("matrix product", Kernel),
            Self::Sum { .. } => ("sum", Kernel),
            Self::Mean { .. } => ("mean", Kernel),
            Self::TopK { .. } => ("top-k", Kernel),
            Self::Sort { .. } => ("sort", Kernel),
            Self::Custom { name, .. } | Self::Other(name) => (name, Kernel),
        }
    }
}
