//! Welch peaks composed of several operations: fixtures of the rewrite rule, and baselines of measurements.
//!
//! Available with the Cargo feature `testing`; not covered by semantic versioning.

mod butterfly_welch;
mod stock_welch;

use burn::tensor::{Device, Tensor};

pub use butterfly_welch::ButterflyWelchPeaks;
pub use stock_welch::{Formulation, StockWelchPeaks};

/// Factors of one-sided power, `[n_fft/2 + 1]`: 2 at interior bins, 1 at DC and Nyquist.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::testing::one_sided;
///
/// let factors = one_sided(8, &Device::flex());
/// assert_eq!(factors.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 2.0, 2.0, 2.0, 1.0]);
/// ```
pub fn one_sided(n_fft: usize, device: &Device) -> Tensor<1> {
    let half = n_fft / 2;
    let factors: Vec<f32> = (0..=half).map(|bin| if bin % half == 0 { 1.0 } else { 2.0 }).collect();
    Tensor::from_data(factors.as_slice(), device)
}
