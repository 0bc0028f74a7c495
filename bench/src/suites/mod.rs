//! Suites: each with its problems, inputs, expected results and strategies.

pub(crate) mod butterfly;
pub(crate) mod fft;
pub(crate) mod graphs;
pub(crate) mod layers;
pub mod models;
pub(crate) mod operation;
pub mod peaks;
pub(crate) mod phases;
pub(crate) mod picker;
pub(crate) mod pipelines;
pub(crate) mod predictions;
