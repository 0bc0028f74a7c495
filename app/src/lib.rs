//! Code shared by Firefly's two programs, `firefly-train` and `firefly-bench`.
//!
//! - [`device`]: devices by the names that users type.
//! - [`files`]: atomic output files.
//! - [`page`]: self-contained HTML pages with charts.
//! - [`suggest`]: suggestions for misspelled names.

pub mod files;
pub mod page;

pub use firefly_framework::{device, suggest};
