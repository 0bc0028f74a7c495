//! Mel spectra: bands of the power or amplitude of frames, and their logarithms.
//!
//! - `plan`: what kernels are compiled for, and whether one launch does it all.
//! - `kernel`: device code; `launch`: sparse filters in device memory, the forward pass and the gradients.

mod kernel;
mod launch;
mod plan;
#[cfg(test)]
pub(super) mod tests;

pub use launch::{MelCall, mel, mel_backward};
pub use plan::check_bands;
