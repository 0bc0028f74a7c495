//! Suite of layers: each as one of Firefly's fused operations and from separate operations, forward and backward.

mod definition;
mod formulations;
mod problem;
mod strategies;

pub use problem::{LayerKind, LayerProblem, MAX_MELS};
pub use strategies::catalogue;
