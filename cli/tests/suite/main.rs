//! The program as a user runs it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bearings;
mod coherence;
mod common;
mod devices;
mod envelope;
mod help;
#[cfg(unix)]
mod inputs;
mod local_maxima;
mod peaks;
mod recordings;
#[cfg(feature = "remote")]
mod remote;
mod resume;
mod significance;
mod spectra;
