//! The subcommands, one file each.

pub mod devices;
mod outcome;
mod outputs;
pub mod peaks;
#[cfg(feature = "remote")]
pub mod serve;
pub mod spectrogram;
pub mod spectrum;
