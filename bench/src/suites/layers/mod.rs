//! Suite of layers: each as one of Firefly's fused operations and from separate operations, forward and backward.

mod expected;
mod inputs;
mod layer;
mod log_mel;
mod long_conv;
mod problem;
mod routine;
mod spectral_conv;
mod strategies;

pub use expected::ExpectedOutputs;
pub use inputs::LayerInputs;
pub use problem::{Kind, LayerProblem, LogMelShape, LongConvShape, SpectralConvShape};
pub use strategies::catalogue;
