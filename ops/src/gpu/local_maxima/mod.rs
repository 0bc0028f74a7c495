//! Local maxima of rows in device memory, strongest first, and the bases of their prominence.

mod kernel;
mod launch;

pub use launch::{MaximaBuffers, local_maxima};
