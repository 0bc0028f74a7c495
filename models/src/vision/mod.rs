//! Image classifiers whose blocks mix patches in the frequency domain: global filter networks, and adaptive Fourier
//! neural operators.

mod afno_mixer;
mod config;
mod family;
mod global_filter;
mod module;

pub use afno_mixer::{AfnoMixer, BlockLinear};
pub use config::{AfnoConfig, GfNetConfig};
pub use global_filter::GlobalFilter;
pub use module::{Afno, GfNet, PatchMixer, VisionBlock, VisionStack};
