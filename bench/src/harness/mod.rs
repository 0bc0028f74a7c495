//! Problems, ways to solve them, and how these are verified, timed and recorded.

pub mod case;
pub mod execution;
pub mod format;
pub mod host;
pub mod input_sets;
pub mod movement;
pub mod outcome;
pub mod parameters;
pub mod problem;
pub mod progress;
pub mod routine;
pub mod runner;
pub mod statistics;
pub mod strategy;
pub mod timing;
pub mod verification;
