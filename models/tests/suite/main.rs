//! The models: their results, gradients, files and rewriting, and every family of the zoo.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arguments;
mod auto;
mod common;
mod gains;
mod gates;
mod mutated_files;
mod nested;
mod placement;
mod rewrite;
mod store;
mod zoo;
