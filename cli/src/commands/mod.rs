//! The subcommands, one file each.

pub mod bearings;
pub mod coherence;
pub mod completions;
pub mod devices;
pub mod envelope;
pub mod info;
pub mod outcome;
pub mod peaks;
#[cfg(feature = "remote")]
pub mod serve;
pub mod spectrogram;
pub mod spectrum;
