//! Welch peaks with learned parameters: taper, twiddles, gates of butterflies and segments, and a per-bin
//! gain.

mod config;
mod gates;
mod module;
mod store;

pub use config::LearnedWelchPeaksConfig;
pub use gates::{Gates, HardConcrete};
pub use module::LearnedWelchPeaks;
pub use store::{StoreError, WEIGHTS_FORMAT};
