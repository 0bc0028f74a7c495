//! Recognition of spectral convolutions in models of separate operations.

mod axes;
mod bins;
mod conv_interpretation;
mod layer;
mod rule;
mod transform;
mod value;

pub use rule::SpectralConvRule;
pub(super) use transform::{Fft, FftKind};
