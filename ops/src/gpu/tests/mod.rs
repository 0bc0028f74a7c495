//! Tests of the engine as a whole: sources for Metal, split batches, bounds checks, and limits that are too low.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
#[cfg(feature = "metal")]
mod compile_only;
mod device_limits;
pub(super) mod devices;
pub(super) mod launched;
#[cfg(feature = "metal")]
mod msl;
mod outputs;
mod split_batches;
