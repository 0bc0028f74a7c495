//! What can go wrong with a graph.

use thiserror::Error;

/// Why a model could not be captured, rewritten or replayed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GraphError {
    /// Burn's capture refused the graph.
    #[error("capture: {0}")]
    Capture(String),
    /// The model did something that capture has no record for: it read a value, or used an operation that needs one.
    #[error("capture: {operation} can't be recorded: {reason}")]
    Unrecordable {
        /// What the model did.
        operation: String,
        /// Burn's reason.
        reason: String,
    },
    /// The model takes another number of inputs, or one of another rank or kind, than were declared.
    #[error("capture: input {place}: the model takes {expected}, but {declared}")]
    Declaration {
        /// Which input, from 0.
        place: usize,
        /// What the model takes.
        expected: String,
        /// What was declared.
        declared: String,
    },
    /// The model itself failed, with its own reason.
    #[error("capture: {0}")]
    Model(String),
    /// A tensor handed to the capture lives on another device.
    #[error("capture: the model returned a tensor that is not on the capture device")]
    ForeignTensor,
    /// The graph holds an operation the registry has no handler for.
    #[error("replay: no handler is registered for the custom operation `{0}`")]
    UnknownOperation(String),
    /// The graph holds an operation that was neither captured nor can be made from its description.
    #[error("replay: `{0}` was not captured")]
    NotCaptured(String),
    /// The inputs are not as many, or not of the shape and type, as the graph was captured with.
    #[error("replay: {what} is {got}, but the graph was captured with {expected}")]
    Input {
        /// Which input, or how many.
        what: String,
        /// What was given.
        got: String,
        /// What is accepted.
        expected: String,
    },
    /// Reading an output back failed.
    #[error("replay: {0}")]
    Read(String),
}
