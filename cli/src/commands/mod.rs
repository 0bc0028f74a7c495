//! The subcommands, one file each.

pub mod devices;
mod outcome;
pub mod peaks;
pub mod spectrogram;
pub mod spectrum;
