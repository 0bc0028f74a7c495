//! Learned Welch power: windowing, a gated butterfly transform, power and a gain, in one launch each. Peaks of power
//! through exact transforms take one launch in all.

mod backward;
mod exact;
mod kernel;
mod launch;

pub use backward::{LearnedGradients, learned_welch_psd_backward};
pub use exact::{SearchedEstimate, estimate_choice, exact_learned_peaks};
pub use launch::{LearnedWeights, learned_welch_psd};
