//! Errors of calls.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use firefly_ops::ArgumentError;
use thiserror::Error;

/// The reason why a call was not computed.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InteropError {
    /// An argument that the operation does not accept.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// Text that is no operation with its options.
    #[error("`{0}` is no operation with its options")]
    Operation(String),
    /// An array that no operation takes, such as one of another type.
    #[error("{operation}: input {input} is {got}, but must be {expected}")]
    Array {
        /// The operation that was called.
        operation: String,
        /// Position of the array among the inputs.
        input: usize,
        /// The array's fault.
        got: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// An operation that could not be recorded, compiled or launched.
    #[error("{operation}: {reason}")]
    Device {
        /// The operation that was called.
        operation: String,
        /// The reason: a limit of the device, or the compiler's or driver's message.
        reason: String,
    },
    /// A library, or a function in it, that is not there.
    #[error("{0}")]
    Missing(String),
}

/// The result of `work`, or the message that it panicked with.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload: Box<dyn Any + Send>| {
        let text = payload.downcast_ref::<String>().cloned();
        text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_else(|| "a panic".into())
    })
}
