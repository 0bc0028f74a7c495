//! Mel spectra: bands of the power or amplitude of frames, and their logarithms.
//!
//! - `plan`: what kernels are compiled for, and whether one launch does it all.
//! - `filters`: sparse filters in device memory.
//! - `kernel`: device code; `launch`: the forward pass; `backward`: the gradients; `row_power`: bins
//!   in the place of bands.

mod backward;
mod filters;
mod kernel;
mod launch;
mod plan;
mod row_power;
#[cfg(test)]
pub(super) mod tests;

pub use backward::{MelGradients, mel_backward};
pub use launch::{MelCall, mel};
pub use plan::check_bands;
pub use row_power::row_power;
