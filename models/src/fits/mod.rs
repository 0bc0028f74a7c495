//! FITS: forecasting by interpolation in the frequency domain.

mod config;
mod family;
mod module;

pub use config::FitsConfig;
pub use module::Fits;
