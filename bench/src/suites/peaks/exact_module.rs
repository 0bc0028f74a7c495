//! The exact module of a problem.

use burn::tensor::Device;
use firefly_models::{WelchPeaks, WelchPeaksConfig};
use firefly_ops::ArgumentError;

use super::problem::{PeaksProblem, SYMMETRY, WINDOW};

/// The exact module for a problem, on a device.
///
/// # Errors
/// [`ArgumentError`] if the problem is out of the module's range.
pub fn exact_model(problem: &PeaksProblem, device: &Device) -> Result<WelchPeaks, ArgumentError> {
    config(problem).try_init(device)
}

/// The module's configuration for a problem.
pub fn config(problem: &PeaksProblem) -> WelchPeaksConfig {
    WelchPeaksConfig::new()
        .with_n_fft(problem.options.n_fft)
        .with_hop(Some(problem.options.hop))
        .with_tier(problem.tier)
        .with_k(problem.k)
        .with_window(WINDOW)
        .with_symmetry(SYMMETRY)
        .with_scaling(problem.options.scaling)
        .with_detrend(problem.options.detrend)
}
