//! The one error an operation's arguments can cause.

use std::fmt::Display;

use thiserror::Error;

/// An argument an operation does not accept: which, what it got, and what it takes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{operation}: `{argument}` is {got}, but must be {expected}")]
pub struct ArgumentError {
    /// The operation that was called, such as `welch_peaks`.
    pub operation: &'static str,
    /// The argument's name in its signature.
    pub argument: &'static str,
    /// What was passed.
    pub got: String,
    /// What is accepted.
    pub expected: String,
}

impl ArgumentError {
    /// An error from what can be displayed.
    pub fn new(operation: &'static str, argument: &'static str, got: impl Display, expected: impl Display) -> Self {
        Self { operation, argument, got: got.to_string(), expected: expected.to_string() }
    }
}

/// `Ok` where `holds`, else the error.
pub(crate) fn ensure(
    holds: bool,
    operation: &'static str,
    argument: &'static str,
    got: impl Display,
    expected: impl Display,
) -> Result<(), ArgumentError> {
    if holds { Ok(()) } else { Err(ArgumentError::new(operation, argument, got, expected)) }
}
