//! A model as a graph: recorded on Burn's capture device, profiled, and replayed on a real backend.
//!
//! [`capture`] makes a [`Graph`]: plain data, which can as well be built by hand, and [`Replay`] runs it. This is the one place that reads Burn's graph representation (`burn-ir`).

mod arguments;
mod capture;
mod dot;
mod error;
mod graph_ir;
mod model;
mod operation;
mod recorded;
mod replay;
mod svg;

pub use arguments::{Arguments, Input, Outputs, Source};
pub use capture::capture;
pub use dot::dot;
pub use error::GraphError;
pub use model::{Graph, Node, Origin, Value, ValueId};
pub use operation::{Operation, Ranked, Step};
pub use replay::{CustomOperations, Replay};
pub use svg::svg;

pub use burn::backend::ir::ScalarIr;
