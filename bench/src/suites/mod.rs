//! Suites: the commands that compare strategies, each with its options, problems, expected results and strategies; and what
//! they share. `run` measures the grid that a command's arguments describe and prints the table to `out`; `catalogue` has
//! every strategy, in the order of the table's rows.

pub(crate) mod butterfly;
pub(crate) mod comparison;
pub(crate) mod fft;
pub(crate) mod layers;
pub mod models;
pub(crate) mod operation;
pub(crate) mod options;
pub mod peaks;
pub(crate) mod phases;
pub(crate) mod picker;
pub(crate) mod pipelines;
pub(crate) mod predictions;
