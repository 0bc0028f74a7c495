//! Recognition of spectral convolutions in models of separate operations.

mod axes;
mod interpretation;
mod rule;
mod value;

pub use rule::SpectralConvRule;
