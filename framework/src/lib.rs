//! What Firefly's operations, models and binaries stand on: devices by name, and a model as a graph.
//!
//! - [`device`]: device names as users type them, opened or refused with a reason.
//! - [`files`]: outputs that are whole or not there.
//! - [`graph`]: a model captured as Burn's graph representation, and replayed on a backend.
//! - [`suggest`]: "did you mean …?".
//!
//! This crate knows nothing of Firefly's operations: what an operation needs to be replayed, it registers.

pub mod device;
pub mod files;
pub mod graph;
pub mod suggest;
