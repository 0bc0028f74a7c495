//! The subcommands, one file each.

pub mod devices;
mod outcome;
mod outputs;
pub mod peaks;
pub mod spectrogram;
pub mod spectrum;
