//! A model as a graph: recorded on Burn's capture device, profiled, and replayed on a real backend.
//!
//! [`capture`] makes a [`Graph`]: plain data, which can as well be built by hand, and [`Replay`] runs it. This and
//! [`onnx`](crate::onnx) are the places that read Burn's graph representation (`burn-ir`).
//!
//! ```
//! use burn::backend::Flex;
//! use burn::tensor::{Device, Tensor, TensorData};
//! use firefly_framework::graph::{CustomOperations, Input, Replay, capture};
//!
//! let graph = capture(&[Input::new("x", [3])], |x: Tensor<1>, _: &Device| x * 2.0)?;
//! let mut replay = Replay::new(&graph, &Default::default(), &CustomOperations::<Flex>::spectral())?;
//! let outputs = replay.run(vec![TensorData::from([1f32, 2.0, 3.0])])?;
//! assert_eq!(outputs, [TensorData::from([2f32, 4.0, 6.0])]);
//! # Ok::<_, firefly_framework::graph::GraphError>(())
//! ```

mod any_tensor;
mod arguments;
mod burn_ir;
mod capture;
mod model;
mod operation;
mod replay;

pub(crate) use burn_ir::{named_record, operation_of};

pub use any_tensor::AnyTensor;
pub use arguments::{Arguments, Input, Outputs, Source};
pub use capture::capture;
pub use model::{Graph, Node, Origin, Value, ValueId};
pub use operation::{AxisSlice, Operation, Ranked};
pub use replay::{CustomOperations, Replay};

pub use burn::backend::ir::ScalarIr;
use thiserror::Error;

/// Error of capturing or replaying a graph.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants and name the fields")]
pub enum GraphError {
    /// Burn's capture refused the graph.
    #[error("capture: {0}")]
    Capture(String),
    /// The model read a computed value, or used an operation that can't be recorded, with Burn's reason.
    #[error("capture: {operation} can't be recorded: {reason}")]
    CaptureUnsupported { operation: String, reason: String },
    /// The model takes another number of inputs, or one of another rank or kind, than were declared.
    #[error("capture: input {place}: the model takes {expected}, but {declared}")]
    Declaration { place: usize, expected: String, declared: String },
    /// The model returned an error.
    #[error("capture: {0}")]
    Model(String),
    #[error("capture: the model returned a tensor that is not on the capture device")]
    ForeignTensor,
    #[error("replay: no handler is registered for the custom operation `{0}`")]
    UnknownOperation(String),
    /// The graph has an operation that was not captured and can't be constructed.
    #[error("replay: `{0}` was not captured")]
    NotCaptured(String),
    /// The inputs differ in number, shape or type from those that the graph was captured with.
    #[error("replay: {what} is {got}, but the graph was captured with {expected}")]
    Input { what: String, got: String, expected: String },
    /// An output could not be read back.
    #[error("replay: {0}")]
    Read(String),
}
