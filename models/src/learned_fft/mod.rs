//! Learned transform in place of an exact one, before power, mel bands or peaks.

mod config;
mod family;
mod module;
mod sampling;

pub use config::{LearnedFftConfig, SpectralFeatures};
pub use module::LearnedFft;
