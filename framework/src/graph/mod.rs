//! A model as a graph: recorded on Burn's capture device, replayed on a real backend.
//!
//! The one place that touches Burn's graph representation (`burn-ir`).

mod capture;
mod replay;

pub use capture::{Captured, GraphError, Outputs, capture};
pub use replay::CustomOperations;
