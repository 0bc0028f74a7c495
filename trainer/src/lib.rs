//! Training of spectral models from a TOML file: tasks, data, the loop over steps, checkpoints, evaluation and reports.
//!
//! - [`config`]: the TOML file of a run, checked; the contract of a task's sections.
//! - [`task`], [`tasks`]: the contract of a task, and the tasks, one folder each: configuration, data, loss,
//!   evaluation.
//! - [`data`]: recordings and synthetic signals as frames.
//! - [`step`], [`fit`]: one optimisation step, the loop over steps, with [`optimizer`], [`gradients`] and [`average`].
//! - [`parallel`]: steps of several devices.
//! - [`metrics`], [`checkpoint`], [`manifest`]: output of a fit while it runs, and its hashes.
//! - [`run_folder`], [`run`], [`sweep`]: a run in a folder, one run per value of a key.
//! - [`report`]: one HTML page per run.
//! - [`shipped`]: the configurations that ship with the program.
//! - [`cli`]: the command line of `firefly-train`, the only part that prints: a run reports its progress to a
//!   [`progress::Progress`].

#![deny(clippy::print_stdout, clippy::print_stderr)]

/// The code of the repository's README, compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

pub mod average;
pub mod checkpoint;
pub mod cli;
pub mod config;
pub mod data;
pub mod fit;
pub mod gradients;
pub mod manifest;
pub mod metrics;
pub mod optimizer;
pub mod parallel;
pub mod progress;
pub mod report;
pub mod run;
pub mod run_folder;
pub mod shipped;
pub mod step;
pub mod sweep;
pub mod task;
pub mod tasks;
