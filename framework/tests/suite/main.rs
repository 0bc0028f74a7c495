//! Graphs that are replayed, and the rules that rewrite them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod complex_fft_rule;
mod long_conv_rule;
mod mel_rule;
mod replay;
mod rules;
mod spectral_conv_dimensions;
mod spectral_conv_rule;
mod welch_psd_rule;
