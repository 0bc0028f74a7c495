//! Devices of a server in another process: the same results as on this process's own, and what is said when a server
//! refuses, differs or dies.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod errors;
mod load;
mod operations;
mod programs;
mod server;
mod training;
