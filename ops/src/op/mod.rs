//! Operations as data: one table, whose rows say everything about an operation but its kernels and its function, and
//! one method that applies any of them.
//!
//! Differentiation, lazy fusion, graph capture and replay read the table alone, so that they cannot differ.
//!
//! ```
//! use burn::tensor::IntDType;
//! use firefly_ops::op::{NAMES, OpDescriptor};
//!
//! // An operation of a recorded graph: its name and its arguments that are not tensors.
//! let operation = OpDescriptor::TopK { k: 5, bins: IntDType::I32 };
//! let (name, scalars) = (operation.name(), operation.scalars());
//! assert!(name == "firefly::top_k" && NAMES.contains(&name));
//! assert_eq!(OpDescriptor::parse(name, &scalars), Some(operation));
//! ```

mod argument;
#[cfg(any(feature = "fusion", feature = "router"))]
mod record;
mod table;
mod tensors;

use burn::backend::{Backend, backend_extension};

#[cfg(any(feature = "fusion", feature = "router"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "fusion", feature = "router"))))]
pub use self::record::TensorSpec;
#[cfg(feature = "fusion")]
pub(crate) use self::record::execute;
#[cfg(feature = "router")]
#[cfg_attr(docsrs, doc(cfg(feature = "router")))]
pub use self::record::register_spectral_ops;
#[cfg(any(feature = "flex", feature = "ndarray", feature = "cube"))]
pub(crate) use self::table::Kernels;
pub use self::table::*;
pub use self::tensors::TensorList;
use crate::options::WelchOptions;

/// Firefly's operations on a backend's own tensors.
///
/// The functions at the crate's root define the operations. They check the arguments and convert them to one float
/// type, f32 or (not on `Cube`) f64, before they apply an operation through its [`inputs`]. A backward pass returns the
/// gradients of its operation's inputs that are [needed](Needed), from the gradients of the outputs. It is not
/// differentiable itself: on `Autodiff` it panics.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Capture: cfg(feature = "capture"),
    Remote: cfg(feature = "remote"),
    Autodiff: cfg(feature = "autodiff")
)]
///
/// ```
/// use burn::backend::Flex;
/// use burn::backend::ops::FloatTensorOps;
/// use burn::tensor::{IntDType, TensorData, read_sync};
/// use firefly_ops::op::inputs;
///
/// let values = Flex::float_from_data(TensorData::from([[1.0f32, 4.0, 3.0]]), &Default::default());
/// let (_, largest) = inputs::TopK { values }.apply::<Flex>(2, IntDType::I64);
/// let largest = read_sync(Flex::float_into_data(largest))?;
/// assert_eq!(largest, TensorData::from([[4.0f32, 3.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SpectralOps: Backend {
    /// The outputs of `operation`, from the inputs in the order of its row.
    fn apply(operation: OpDescriptor, #[extension_type] tensors: TensorList<Self>) -> TensorList<Self>;
}

#[cfg(any(feature = "flex", feature = "ndarray", feature = "cube"))]
impl<B: Kernels> SpectralOps for B {
    fn apply(operation: OpDescriptor, tensors: TensorList<Self>) -> TensorList<Self> {
        operation.run(tensors)
    }
}

#[cfg(any(feature = "flex", feature = "ndarray", feature = "cube"))]
impl<T> inputs::PeakLossBackward<T> {
    /// The inputs of the forward operation, and the gradients of its outputs.
    pub(crate) fn split(self) -> (inputs::PeakLoss<T>, T) {
        let Self { power, strongest, reference_power, peaks, target_power, grad_losses } = self;
        (inputs::PeakLoss { power, strongest, reference_power, peaks, target_power }, grad_losses)
    }
}

impl OpDescriptor {
    /// Parameters of the Welch estimate that the operation computes, if it computes one.
    pub fn welch_options(&self) -> Option<WelchOptions> {
        match *self {
            Self::WelchPsd { options } | Self::WelchPeaks { options, .. } => Some(options),
            _ => None,
        }
    }
}

/// How gradients of an operation's outputs become gradients of its inputs.
///
/// ```
/// use burn::tensor::IntDType;
/// use firefly_ops::op::{Gradient, Needed, OpDescriptor};
///
/// let operation = OpDescriptor::TopK { k: 5, bins: IntDType::I32 };
/// let gradient = operation.gradient(Needed::of([true]), 129);
/// assert_eq!(gradient, Gradient::Selected { length: 129, backward: None });
/// ```
#[cfg(feature = "autodiff")]
#[cfg_attr(docsrs, doc(cfg(feature = "autodiff")))]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gradient {
    /// They do not, since the outputs are bin numbers: the operation does not go on the tape.
    Discrete,
    /// They do not: a backward pass, or a step of an optimizer.
    Unsupported,
    /// By an operation on them alone, for an operation that is linear in all of its inputs. Its outputs have as many
    /// values per row as the transform has points or bins, where the inputs may have been cut or padded.
    Adjoint(OpDescriptor),
    /// By an operation on the inputs and them.
    Backward(OpDescriptor),
    /// Those of selected values are gradients of `length` values per row, which are zero where nothing was selected;
    /// these go through `backward` then, if the values were not inputs.
    Selected {
        /// Values per row of the gradient.
        length: usize,
        /// The operation that it goes through.
        backward: Option<OpDescriptor>,
    },
}

/// Set of an operation's inputs, by their position among the tensors that are there: those whose gradients a backward
/// pass returns, in this order.
///
/// ```
/// use firefly_ops::op::Needed;
///
/// let needed = Needed::of([true, false, true]);
/// assert!(needed.has(0) && !needed.has(1) && needed.has(2) && !needed.has(3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needed(u8);

impl Needed {
    /// The inputs at whose position is `true`, of at most eight.
    pub fn of(needed: impl IntoIterator<Item = bool>) -> Self {
        Self(needed.into_iter().enumerate().fold(0, |bits, (input, needed)| bits | u8::from(needed) << input))
    }

    /// Whether the gradient of the input at this position is needed.
    pub fn has(self, input: usize) -> bool {
        self.0 >> input & 1 == 1
    }

    /// The values of those inputs that are there and whose gradients are needed.
    #[cfg(any(feature = "fusion", feature = "router"))]
    pub(crate) fn select<T, const N: usize>(self, inputs: [Option<T>; N]) -> Vec<T> {
        let present = inputs.into_iter().flatten().enumerate();
        present.filter(|(input, _)| self.has(*input)).map(|(_, value)| value).collect()
    }
}

#[cfg(all(test, feature = "flex", feature = "router"))]
mod tests;
