//! Mel spectra: bands of the power or amplitude of frames, and their logarithms.
//!
//! - `plan`: what kernels are compiled for, and whether one launch does it all.
//! - `filters`: sparse filters in device memory.
//! - `kernel`: device code; `launch`: the forward pass, and bins instead of bands; `backward`: the gradients.

mod backward;
mod filters;
mod kernel;
mod launch;
mod plan;
#[cfg(test)]
pub(super) mod tests;

pub use backward::{MelGradients, mel_backward};
pub use launch::{MelCall, mel, row_power};
pub use plan::check_bands;
