//! Suites: each with its problems, inputs, expected results and strategies.

pub mod butterfly;
pub mod fft;
pub mod layers;
pub mod models;
pub mod operations;
pub mod peaks;
pub mod phases;
pub mod picker;
pub mod pipelines;
pub mod predictions;
pub mod zoo_models;
