//! Whole pipelines, from frames in host memory to results in host memory: power spectra, mel spectra, peaks.

mod mel;
mod problem;
mod strategies;

pub use mel::filterbank;
pub use problem::{Pipeline, PipelineProblem, grid};
pub use strategies::catalogue;
