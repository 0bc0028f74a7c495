//! Training of learned Welch peaks on recordings or synthetic signals, and comparison with the exact tiers.
//!
//! - [`config`]: the TOML file of a run, checked.
//! - [`data`]: recordings and synthetic signals as frames.
//! - [`batch`], [`loss`], [`step`], [`fit`]: one batch, its loss, one optimisation step, the loop over steps.
//! - [`metrics`], [`checkpoint`], [`manifest`]: what a fit writes as it goes on, and the hashes of it.
//! - [`evaluate`]: recall, power error and time of the exact tiers and of learned models.
//! - [`run_folder`], [`run`], [`sweep`], [`ephemeral`]: a run in a folder, one run per value of a key, a run in memory.
//! - [`report`]: one HTML page per run.
//! - [`cli`]: the command line of `firefly-train`, the only part that prints: a run tells a [`progress::Progress`] how it
//!   gets on.

#![deny(clippy::print_stdout, clippy::print_stderr)]

/// The code of the repository's README, compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

pub mod batch;
pub mod checkpoint;
pub mod cli;
pub mod config;
pub mod data;
pub mod ephemeral;
pub mod evaluate;
pub mod fit;
pub mod loss;
pub mod manifest;
pub mod metrics;
pub mod progress;
pub mod report;
pub mod run;
pub mod run_folder;
pub mod step;
pub mod sweep;
