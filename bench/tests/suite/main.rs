//! The commands as a user runs them, their tables and their pages.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod butterfly;
mod common;
mod e2e;
mod fft;
mod fusion_phases;
mod layers;
mod max_batch;
mod profile;
mod reports;
#[cfg(unix)]
mod robustness;
mod snapshots;
mod tables;
mod welch_peaks;
