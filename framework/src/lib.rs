//! What Firefly's operations, models and binaries stand on: devices by name, a model as a graph, and pages that show
//! results.
//!
//! - [`cost`]: what moving data costs on a device, and whether a rewrite pays.
//! - [`device`]: device names as users type them, opened or refused with a reason.
//! - [`files`]: outputs that are whole or not there.
//! - [`graph`]: a model captured as data, profiled, rewritten, and replayed on a backend.
//! - [`host`]: what is known of the machine.
//! - [`page`]: self-contained HTML pages with charts.
//! - [`suggest`]: "did you mean …?".
//!
//! This crate knows nothing of Firefly's operations: what an operation needs to be counted, recognised and
//! replayed, it registers.

pub mod cost;
pub mod device;
pub mod files;
pub mod graph;
pub mod host;
pub mod page;
pub mod suggest;
