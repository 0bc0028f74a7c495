//! Code shared by Firefly's two programs, `firefly-train` and `firefly-bench`.
//!
//! - [`device`]: devices by the names that users type.
//! - [`files`]: atomic output files.
//! - [`host`]: facts about the machine.
//! - [`page`]: self-contained HTML pages with charts.
//! - [`suggest`]: suggestions for misspelled names.

pub mod device;
pub mod files;
pub mod host;
pub mod page;
pub mod suggest;
