//! What a node of a graph does, as far as analysis needs to know.

use std::borrow::Cow;

use burn::backend::ir::ScalarIr;

/// One step of a slice along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The first element taken.
    pub start: usize,
    /// From one element taken to the next; negative runs backwards.
    pub stride: isize,
}

/// What a node does to its inputs.
///
/// The operations that rewrite rules reason about have their arguments here; any other is a name. Shapes are those of the
/// node's values.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// The same elements in another shape.
    Reshape,
    /// Repeated along axes of length 1, without a copy.
    Expand,
    /// Axis `i` of the output is axis `axes[i]` of the input.
    Permute {
        /// An axis of the input for each of the output.
        axes: Vec<usize>,
    },
    /// Part of the input: a step for each axis.
    Slice {
        /// Where each axis starts, and how it goes on.
        steps: Vec<Step>,
    },
    /// Windows of `size` elements, `step` apart, along `axis`; their elements are a new last axis.
    Unfold {
        /// The axis that is cut.
        axis: usize,
        /// Elements of a window.
        size: usize,
        /// From one window to the next.
        step: usize,
    },
    /// The first input with the part at `steps` replaced by the second.
    AssignSlice {
        /// Where each axis starts, and how it goes on.
        steps: Vec<Step>,
    },
    /// Inputs one after the other along `axis`.
    Concatenate {
        /// The axis that grows.
        axis: usize,
    },
    /// Another element type.
    Cast,
    /// Every element is the value.
    Fill(f64),
    /// Element by element.
    Add,
    /// Element by element.
    Subtract,
    /// Element by element.
    Multiply,
    /// Element by element.
    Divide,
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
    /// The strongest elements along an axis, strongest first; the outputs are those wanted of values and positions.
    TopK {
        /// The axis that is searched; its output has the length wanted.
        axis: usize,
        /// Which outputs there are.
        wanted: Ranked,
    },
    /// All elements along an axis in order; the outputs are those wanted of values and positions.
    Sort {
        /// The axis that is sorted.
        axis: usize,
        /// Whether the greatest comes first.
        descending: bool,
        /// Which outputs there are.
        wanted: Ranked,
    },
    /// An operation of a backend extension.
    Custom {
        /// Its name.
        name: String,
        /// Its arguments that are not tensors.
        scalars: Vec<ScalarIr>,
    },
    /// Any other, by the name of Burn's representation.
    Other(String),
}

/// The outputs of an operation that orders elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranked {
    /// The elements.
    Values,
    /// Where they were.
    Positions,
    /// The elements, and where they were.
    Both,
}

impl Operation {
    /// Whether nothing runs: the output is the input's memory seen otherwise.
    pub const fn is_view(&self) -> bool {
        matches!(self, Self::Reshape | Self::Expand | Self::Permute { .. } | Self::Slice { .. } | Self::Unfold { .. })
    }

    /// A name to print; a custom operation's is its own.
    pub fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Reshape => "reshape",
            Self::Expand => "expand",
            Self::Permute { .. } => "permute",
            Self::Slice { .. } => "slice",
            Self::Unfold { .. } => "unfold",
            Self::AssignSlice { .. } => "assign slice",
            Self::Concatenate { .. } => "concatenate",
            Self::Cast => "cast",
            Self::Fill(value) => return Cow::Owned(format!("fill {value}")),
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Divide => "divide",
            Self::AddScalar(value) => return Cow::Owned(format!("add {value}")),
            Self::SubtractScalar(value) => return Cow::Owned(format!("subtract {value}")),
            Self::MultiplyScalar(value) => return Cow::Owned(format!("multiply by {value}")),
            Self::DivideScalar(value) => return Cow::Owned(format!("divide by {value}")),
            Self::Power(value) => return Cow::Owned(format!("power {value}")),
            Self::Sum { .. } => "sum",
            Self::Mean { .. } => "mean",
            Self::TopK { .. } => "top-k",
            Self::Sort { .. } => "sort",
            Self::Custom { name, .. } | Self::Other(name) => name,
        })
    }
}
