//! Exact Welch power, its strongest bins, and gradients.
//!
//! Powers of two up to the length whose transform fits a cube: one launch reads each sample once and writes the result
//! ([`FusedWelchPlan`]). Other segments, and gradients, take a launch per step ([`segments`](super::segments)).

mod backward;
mod exact_transform;
mod kernel;
mod launch;
mod layout;
mod plan;
#[cfg(test)]
mod tests;

pub use backward::{WelchGradients, welch_psd_backward};
pub use launch::{GainedEstimate, gained_peaks, is_fused, welch_peaks, welch_psd};
