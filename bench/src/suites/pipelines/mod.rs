//! Pipelines suite: power spectra, mel spectra and peaks from host memory to host memory.

mod mel;
mod problem;
mod strategies;

pub use problem::{Pipeline, PipelineProblem, grid};
pub use strategies::catalogue;
