//! Gradients of an operation: how they follow from those of its outputs, and which of them are needed.

#[cfg(feature = "autodiff")]
use super::OpDescriptor;

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
pub struct Needed(pub(super) u8);

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
