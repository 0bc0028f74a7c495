//! Welch peaks from as many segments as each frame needs.

mod config;
mod family;
mod module;

pub use config::AdaptiveWelchPeaksConfig;
pub use module::{AdaptivePeaks, AdaptiveRounds, AdaptiveWelchPeaks};
