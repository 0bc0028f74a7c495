//! The `firefly-bench` program. Exit status: 0 if every case that is supported was verified and measured, 1 if one
//! failed or differs, 2 if the command could not be carried out or nothing could be measured.

use std::io::{IsTerminal, stderr, stdout};
use std::process::ExitCode;

use clap::Parser;
use firefly_bench::cli::Cli;
use firefly_models::traces_selections;
use tracing_subscriber::filter::LevelFilter;

fn main() -> ExitCode {
    let level = if traces_selections() { LevelFilter::INFO } else { LevelFilter::WARN };
    tracing_subscriber::fmt().with_writer(stderr).with_ansi(stderr().is_terminal()).with_max_level(level).init();
    match Cli::parse().run(&mut stdout().lock()) {
        Ok(status) => ExitCode::from(status.code()),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
