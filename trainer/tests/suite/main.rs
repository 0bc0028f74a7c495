//! The program as a user runs it, and what it ships.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod band;
mod best_model;
mod cards;
mod command_line;
#[path = "../common/mod.rs"]
mod common;
mod configs;
mod damaged_runs;
mod gates;
#[cfg(unix)]
mod interruption;
mod messages;
mod mixtures;
mod operator;
mod optimizers;
mod other_data;
mod parallel;
mod resume;
mod segment_times;
#[cfg(unix)]
mod streams;
mod tasks;
