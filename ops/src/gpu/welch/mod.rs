//! Welch power, its strongest bins, and gradients.
//!
//! Powers of two up to the length whose transform fits a cube: one launch reads each sample once and writes the result
//! ([`FusedWelchPlan`]). Other segments, and gradients, take a launch per step ([`segments`](super::segments)).

mod kernel;
mod launch;
mod plan;
mod row_spectra;
#[cfg(test)]
mod tests;

pub use launch::{DeviceEstimate, WelchGradients, fused_plan, welch_peaks, welch_psd, welch_psd_backward};
pub use plan::FusedWelchPlan;
pub use row_spectra::RowGain;
