//! Errors of arguments.

use std::fmt::Display;

use thiserror::Error;

pub(crate) type Result<T> = std::result::Result<T, ArgumentError>;

/// An argument that an operation does not accept: which one, what it got, and what it accepts.
///
/// ```
/// use firefly_ops::WelchOptions;
///
/// let error = WelchOptions::new(100, 0).validate("welch_psd").unwrap_err();
/// assert_eq!((error.operation, error.argument), ("welch_psd", "segments"));
/// assert_eq!(error.to_string(), "welch_psd: `segments` is 0, but must be at least 1");
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{operation}: `{argument}` is {got}, but must be {expected}")]
pub struct ArgumentError {
    /// The operation that was called, such as `welch_peaks`.
    pub operation: &'static str,
    /// The argument's name in its signature.
    pub argument: &'static str,
    /// The value that was passed.
    pub got: String,
    /// The values that are accepted.
    pub expected: String,
}

impl ArgumentError {
    /// An error from displayable parts.
    ///
    /// ```
    /// use firefly_ops::ArgumentError;
    ///
    /// let error = ArgumentError::new("my_model", "layers", 0, "at least 1");
    /// assert_eq!(error.to_string(), "my_model: `layers` is 0, but must be at least 1");
    /// ```
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
) -> Result<()> {
    if holds { Ok(()) } else { Err(ArgumentError::new(operation, argument, got, expected)) }
}
