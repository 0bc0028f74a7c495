//! Welch power, its strongest bins, and gradients.
//!
//! Powers of two up to the length whose transform fits a cube: one launch reads each sample once and writes the result
//! ([`FusedWelchPlan`]). Other segments, and gradients, take a launch per step ([`segments`](super::segments)).

mod backward;
mod kernel;
mod launch;
mod plan;
mod row_gain;
mod row_spectra;
#[cfg(test)]
mod tests;

pub use backward::{WelchGradients, welch_psd_backward};
pub use launch::{DeviceEstimate, fused_plan, welch_peaks, welch_psd};
pub use plan::FusedWelchPlan;
pub use row_gain::RowGain;
