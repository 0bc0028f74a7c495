//! Code shared by Firefly's two programs, `firefly-train` and `firefly-bench`.
//!
//! - [`device`]: devices by the names that users type.
//! - [`files`]: atomic output files.
//! - [`host`]: facts about the machine.
//! - [`page`]: self-contained HTML pages with charts.
//! - [`progress`]: progress of a command on the error stream.
//! - [`suggest`]: suggestions for misspelled names.
//! - [`table`]: tables for terminals.

pub mod device;
pub mod files;
pub mod host;
pub mod page;
pub mod progress;
pub mod suggest;
pub mod table;
