//! Errors of calls.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use firefly_ops::ArgumentError;
use thiserror::Error;

/// The reason why a call was not computed.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum InteropError {
    /// An argument that the operation does not accept.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// Text that is no operation with its options.
    #[error("`{0}` is no operation with its options")]
    Operation(String),
    /// An array that no operation takes, such as one of another type, by its position among the inputs.
    #[error("{operation}: input {input} is {got}, but must be {expected}")]
    Array { operation: String, input: usize, got: String, expected: &'static str },
    /// An operation that could not be recorded, compiled or launched, by a limit of the device, or with the compiler's
    /// or driver's message.
    #[error("{operation}: {reason}")]
    Device { operation: String, reason: String },
    /// A library, or a function in it, that is not there.
    #[error("{0}")]
    Missing(String),
}

impl InteropError {
    /// Error of an array.
    pub(crate) fn array(operation: &str, input: usize, got: impl Into<String>, expected: &'static str) -> Self {
        Self::Array { operation: operation.into(), input, got: got.into(), expected }
    }

    /// Error of an operation on a CUDA device in a build that is not for them.
    #[cfg(not(feature = "cuda"))]
    pub(crate) fn without_cuda(operation: &str) -> Self {
        Self::Missing(format!("{operation}: this build of Firefly is not for CUDA"))
    }
}

/// Result of a part of a call.
pub(crate) type Result<T, E = InteropError> = std::result::Result<T, E>;

/// The result of `work`, or the message that it panicked with.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload: Box<dyn Any + Send>| {
        let text = payload.downcast_ref::<String>().cloned();
        text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_else(|| "a panic".into())
    })
}
