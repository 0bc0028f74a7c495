//! A model as a graph: recorded on Burn's capture device, profiled, and replayed on a real backend.
//!
//! [`capture`] makes a [`Graph`]: plain data, which can as well be built by hand, and [`Replay`] runs it. This is the
//! one place that reads Burn's graph representation (`burn-ir`).
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
mod capture;
mod error;
mod graph_ir;
mod model;
mod operation;
mod recorded;
mod replay;

pub use any_tensor::AnyTensor;
pub use arguments::{Arguments, Input, Outputs, Source};
pub use capture::capture;
pub use error::GraphError;
pub use model::{Graph, Node, Origin, Value, ValueId};
pub use operation::{AxisSlice, Operation, Ranked};
pub use replay::{CustomOperations, Replay};

pub use burn::backend::ir::ScalarIr;
