//! Causal convolutions of rows with a kernel per channel, and their gradients, by the transforms of pairs of samples.
//!
//! A real row of 2N samples is transformed as N complex values. With He and Ho the transforms of a kernel's even and
//! odd taps and W = exp(−2πi k/N), the spectrum Z of such a row becomes that of its convolution as V[k] = A[k] Z[k] +
//! B[k] Z[N − k]*, where A = He + i (1 − W) Ho/2 and B = i (1 + W) Ho/2. The reversed kernel has A* in the place of A,
//! and −B* in that of B. Rows stay apart: no row depends on what else is in the batch.
//!
//! If N values fit a cube, a row is loaded, transformed, multiplied, transformed back and stored by one launch,
//! after one that transforms the kernels; else by a launch for each step. The gradient of a kernel is the correlation
//! of signal and gradient: their spectra are multiplied and summed over the batch before one transform per channel, or,
//! where that takes too many registers, gradients are convolved with the reversed rows of the signal.

mod backward;
mod kernel;
mod launch;
mod plan;
#[cfg(test)]
pub(super) mod tests;

pub use backward::{ConvolutionGradients, ConvolutionInputs, long_conv_backward};
pub use launch::{ConvolutionShape, long_conv};
pub(super) use plan::LongConvPlan;
