//! `firefly-bench`: verified measurements of Firefly's operations and models.
//!
//! A case is a [problem](problem::Problem), such as the peaks of 1,024 frames, a [strategy](strategy::Strategy) that solves
//! it, and a device. Each case is first [verified](verify) against the float64 reference and only then
//! [timed](measure): strategies on the same problem take turns within one loop, so that what disturbs the machine
//! disturbs them alike. A case that fails is a row of the [table](table::Table) and of the [JSON report](json::Report) that
//! says so, never a time.
//!
//! Each subcommand is one file in [`commands`].

pub mod commands;
pub mod comparison;
pub mod expected;
pub mod host;
pub mod input;
pub mod json;
pub mod lists;
pub mod measure;
pub mod peers;
pub mod problem;
pub mod progress;
pub mod statistics;
pub mod strategy;
pub mod table;
pub mod verify;
