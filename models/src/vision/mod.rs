//! Image classifiers whose blocks mix patches in the frequency domain: global filter networks, and adaptive Fourier
//! neural operators.

mod config;
mod family;
mod mixers;
mod module;

pub use config::{AfnoConfig, GfNetConfig};
pub use mixers::{AfnoMixer, BlockLinear, GlobalFilter};
pub use module::{Afno, GfNet, PatchMixer, VisionBlock, VisionStack};
