//! Learned Welch power: windowing, a gated butterfly transform, power and a gain, in one launch each.

mod backward;
mod kernel;
mod launch;

pub use backward::{LearnedGradients, learned_welch_psd_backward};
pub use launch::{LearnedWeights, learned_welch_psd};
