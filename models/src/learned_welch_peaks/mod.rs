//! Welch peaks with learned parameters: taper, twiddles, gates of butterflies, segments and bins, and gain per bin.

mod config;
mod family;
mod gain;
mod gates;
mod halved;
mod module;
mod sampling;
mod store;
mod work;

pub use config::LearnedWelchPeaksConfig;
pub use gates::{GateKind, Gates, HardConcrete};
pub use module::LearnedWelchPeaks;
pub(crate) use sampling::{check_noise, inside_unit_interval};
pub use store::{StoreError, WEIGHTS_FORMAT};
