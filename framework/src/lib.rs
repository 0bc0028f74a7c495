//! Analysis of models that run on Burn: recording, counting, predicting, rewriting and replaying them.
//!
//! - [`cost`]: device profiles, predicted times, and the fusion gate.
//! - [`device`]: names of devices.
//! - [`files`]: files that are replaced atomically.
//! - [`graph`]: a model captured as data, profiled, and replayed on a backend.
//! - [`host`]: the machine, as device profiles identify it.
//! - [`rewrite`]: rules that replace parts of a graph by Firefly's operations.
//! - [`suggest`]: suggestions for misspelled names.

pub mod cost;
pub mod device;
pub mod files;
pub mod graph;
pub mod host;
pub mod rewrite;
pub mod suggest;
