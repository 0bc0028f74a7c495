//! Tests of the kernels that need no device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compile_only;
mod msl;
