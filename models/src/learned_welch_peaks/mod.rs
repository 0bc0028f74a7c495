//! Welch peaks with learned parameters: taper, gates of segments, gain per bin, and perhaps the transform.

mod config;
mod estimate;
mod family;
mod gates;
mod module;
mod sampling;
mod transform;

pub use config::LearnedWelchPeaksConfig;
pub use estimate::LearnedEstimate;
pub use gates::{GateKind, Gates, HardConcrete};
pub use module::LearnedWelchPeaks;
pub use transform::LearnedTransform;
