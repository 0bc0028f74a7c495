//! FNet: an encoder of tokens whose mixer is a Fourier transform.

mod config;
mod family;
mod module;

pub use config::FNetConfig;
pub use module::{FNet, FNetBlock};
