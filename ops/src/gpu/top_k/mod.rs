//! The strongest bins of rows of power in device memory, for any length and number of peaks.

mod kernel;
mod launch;

pub(super) use kernel::{PeakOutput, power_key};
pub use launch::{PeakBuffers, SearchedRows, top_k};
