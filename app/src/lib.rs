//! Code shared by Firefly's programs, `firefly`, `firefly-train` and `firefly-bench`.

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
