//! Operation of a node, as far as the analysis distinguishes it.

use std::borrow::Cow;

use burn::backend::ir::ScalarIr;

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
pub enum Operation {
    /// The same elements in another shape.
    Reshape,
    /// Broadcast along axes of length 1, without a copy.
    Expand,
    /// Axis `i` of the output is axis `axes[i]` of the input.
    Permute {
        /// Axis of the input per axis of the output.
        axes: Vec<usize>,
    },
    /// Part of the input.
    Slice {
        /// Slice along each axis.
        slices: Vec<AxisSlice>,
    },
    /// Windows of `size` elements, `step` apart, along `axis`; the elements of a window are a new last axis.
    Unfold {
        /// The axis.
        axis: usize,
        /// Elements per window.
        size: usize,
        /// Distance between windows.
        step: usize,
    },
    /// The first input with the part at `slices` replaced by the second.
    AssignSlice {
        /// Slice along each axis.
        slices: Vec<AxisSlice>,
    },
    /// Concatenation along `axis`.
    Concatenate {
        /// The axis.
        axis: usize,
    },
    /// The elements along each of `axes` in reverse.
    Flip {
        /// The axes.
        axes: Vec<usize>,
    },
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
    Sum {
        /// The axis that is summed.
        axis: usize,
    },
    /// The mean along an axis, which stays with length 1.
    Mean {
        /// The axis that is averaged.
        axis: usize,
    },
    /// The greatest elements along an axis, greatest first.
    TopK {
        /// The axis that is searched; its length in the output is the number of elements.
        axis: usize,
        /// The outputs.
        wanted: Ranked,
    },
    /// All elements along an axis, in order.
    Sort {
        /// The axis that is sorted.
        axis: usize,
        /// Whether the greatest comes first.
        descending: bool,
        /// The outputs.
        wanted: Ranked,
    },
    /// An operation of a backend extension.
    Custom {
        /// The name.
        name: String,
        /// The arguments that are not tensors.
        scalars: Vec<ScalarIr>,
    },
    /// Any other operation, by its name in Burn's representation.
    Other(String),
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

impl Operation {
    /// Whether it is a view: nothing runs, and the output shares the memory of the input.
    pub const fn is_view(&self) -> bool {
        matches!(self, Self::Reshape | Self::Expand | Self::Permute { .. } | Self::Slice { .. } | Self::Unfold { .. })
    }

    /// Whether each element of the output follows from one element of each input; lazy fusion merges such operations.
    pub const fn is_elementwise(&self) -> bool {
        matches!(
            self,
            Self::Cast
                | Self::Fill(_)
                | Self::Add
                | Self::Subtract
                | Self::Multiply
                | Self::Divide
                | Self::Negate
                | Self::AddScalar(_)
                | Self::SubtractScalar(_)
                | Self::MultiplyScalar(_)
                | Self::DivideScalar(_)
                | Self::Power(_)
                | Self::SquareRoot
                | Self::Logarithm
                | Self::ClampMin(_)
        )
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
        match self {
            Self::Reshape => "reshape",
            Self::Expand => "expand",
            Self::Permute { .. } => "permute",
            Self::Slice { .. } => "slice",
            Self::Unfold { .. } => "unfold",
            Self::AssignSlice { .. } => "assign slice",
            Self::Concatenate { .. } => "concatenate",
            Self::Flip { .. } => "flip",
            Self::Cast => "cast",
            Self::Fill(_) => "fill",
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Divide => "divide",
            Self::Negate => "negate",
            Self::AddScalar(_) => "add scalar",
            Self::SubtractScalar(_) => "subtract scalar",
            Self::MultiplyScalar(_) => "multiply by scalar",
            Self::DivideScalar(_) => "divide by scalar",
            Self::Power(_) => "power",
            Self::SquareRoot => "square root",
            Self::Logarithm => "logarithm",
            Self::ClampMin(_) => "clamp",
            Self::MatrixProduct => "matrix product",
            Self::Sum { .. } => "sum",
            Self::Mean { .. } => "mean",
            Self::TopK { .. } => "top-k",
            Self::Sort { .. } => "sort",
            Self::Custom { name, .. } | Self::Other(name) => name,
        }
    }
}
