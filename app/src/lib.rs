//! Code shared by Firefly's programs, `firefly`, `firefly-train` and `firefly-bench`.
//!
//! - [`device`]: devices by the names that users type.
//! - [`device_list`]: lists of devices.
//! - [`files`]: atomic output files, and cells of CSV.
//! - [`guard`]: panics as errors.
//! - [`host`]: facts about the machine and its limits.
//! - [`number`]: numbers as text.
//! - [`page`]: self-contained HTML pages with charts.
//! - [`remote`]: devices of servers.
//! - [`progress`]: progress of a command on the error stream.
//! - [`streams`]: standard output and error that may be closed or full.
//! - [`suggest`]: suggestions for misspelled names.
//! - [`table`]: tables for terminals.

#![warn(clippy::print_stderr)]

pub mod device;
pub mod device_list;
pub mod files;
pub mod guard;
pub mod host;
#[cfg(all(feature = "cacheable", feature = "kernel-cache"))]
mod kernel_cache;
pub mod number;
pub mod page;
pub mod progress;
pub mod remote;
pub mod streams;
pub mod suggest;
pub mod table;
