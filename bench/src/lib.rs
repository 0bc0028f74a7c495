//! `firefly-bench`: verified measurements of Firefly's operations and models.
//!
//! A case is a problem, such as the peaks of 1,024 frames, a
//! [strategy](harness::BenchStrategy) that solves it, and what it runs on: a device, a number of
//! [host threads and an instruction set](harness::ExecutionConfig). Each case is first compared with a
//! float64 reference and only then timed: strategies on the same problem take turns within one loop,
//! so that what disturbs the machine disturbs them alike. A case that fails is a row of the [table](report::terminal)
//! and of the [JSON report](report::schema::BenchReport) that says so, never a time.

#![warn(clippy::print_stderr)]

mod baselines;
pub mod cli;
pub mod harness;
pub mod report;
pub mod suites;
