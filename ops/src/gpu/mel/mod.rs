//! Mel spectra: bands of the power or amplitude of frames, and their logarithms.
//!
//! - `plan`: what kernels are compiled for, and whether one launch does it all.
//! - `filters`: sparse filters in device memory.
//! - `kernel`: device code; `launch`: the forward pass; `backward`: the gradients; `frame_power`: bins
//!   in the place of bands.

mod backward;
mod filters;
mod frame_power;
mod kernel;
mod launch;
mod plan;
#[cfg(test)]
pub(super) mod tests;

pub use backward::{MelGradients, mel_backward};
pub use frame_power::row_power;
pub use launch::{MelCall, mel};
pub use plan::check_bands;
