//! Fourier neural operators in one to three dimensions.

mod config;
mod family;
mod layer;
mod module;
mod units;

pub use config::{FnoConfig, FnoKind};
pub use layer::{DenseLayer, FactorizedLayer, FnoLayer, SpectralWeights};
pub use module::{Fno, Fno1d, Fno2d, Fno3d};
pub use units::ChannelUnit;
