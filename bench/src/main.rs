//! The `firefly-bench` program. Exit status: 0 if every case that is supported was verified and measured, 1 if one
//! failed, 2 if the command could not be carried out.

use std::io::{IsTerminal, stderr, stdout};
use std::process::ExitCode;

use clap::Parser;
use firefly_bench::cli::{Cli, ExitStatus};
use firefly_models::traces_selections;
use tracing_subscriber::filter::LevelFilter;

fn main() -> ExitCode {
    let level = if traces_selections() { LevelFilter::INFO } else { LevelFilter::WARN };
    tracing_subscriber::fmt().with_writer(stderr).with_ansi(stderr().is_terminal()).with_max_level(level).init();
    match Cli::parse().run(&mut stdout().lock()) {
        Ok(ExitStatus::Passed) => ExitCode::SUCCESS,
        Ok(ExitStatus::Failed) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
