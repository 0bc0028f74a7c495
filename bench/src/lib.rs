//! `firefly-bench`: verified measurements of Firefly's operations and models.
//!
//! A case is a [problem](strategy::Problem), such as the peaks of 1,024 frames, a [strategy](strategy::Strategy) that solves
//! it, and what it runs on: a device, so many [host threads and an instruction set](lane::Lane). A [grid](grid::Grid) is
//! every case of a command. Each case is first compared with a float64 reference and only then [timed](measure):
//! strategies on the same problem take turns within one loop, so that what disturbs the machine disturbs them alike. A case
//! that fails is a row of the [table](cases) and of the [JSON report](json::Report) that says so, never a time.
//!
//! Each subcommand is one file in [`commands`].

pub mod calibration;
pub mod cases;
pub mod commands;
pub mod copy;
pub mod costs;
pub mod crossover;
pub mod e2e;
pub mod estimates;
pub mod fft;
pub mod grid;
pub mod host;
pub mod json;
pub mod lane;
pub mod lists;
pub mod measure;
pub mod methods;
pub mod movement;
pub mod options;
pub mod page;
pub mod parameters;
pub mod peaks;
pub mod phases;
pub mod progress;
pub mod race;
pub mod sets;
pub mod statistics;
pub mod strategy;
pub mod table;
pub mod workload;
pub mod zoo;
