//! The `firefly-bench` program. Exit status: 0 if every case that is supported was verified and measured, 1 if one
//! failed or differs, 2 if the command could not be carried out or nothing could be measured.

#![warn(clippy::print_stderr)]

use std::process::ExitCode;

use firefly_app::host::run_program;
use firefly_bench::cli::Cli;
use firefly_models::auto::traces_selections;
use tracing::Level;

fn main() -> ExitCode {
    run_program(if traces_selections() { Level::INFO } else { Level::WARN }, Cli::run)
}
