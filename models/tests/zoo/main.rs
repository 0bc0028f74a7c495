//! The zoo: every variant through the registry, and each family against its definition in float64 and
//! against implementations elsewhere.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adaptive_welch_peaks;
mod butterfly;
mod common;
mod denoiser;
mod fits;
mod fno;
mod learned_fft;
mod mel;
mod mel_classifier;
mod mixers;
mod parity;
mod ranks;
mod registry;
mod sequence;
mod timesnet;
