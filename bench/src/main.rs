//! The `firefly-bench` program. Exit status: 0 if every case that is supported was verified and measured, 1 if one
//! failed or differs, 2 if the command could not be carried out or nothing could be measured.

#![warn(clippy::print_stderr)]

use std::io::Write;
use std::process::ExitCode;

use firefly_app::files::fail_at_size_limit;
use firefly_app::host::start_threads;
use firefly_app::streams::{COULD_NOT_RUN, StandardOutput, log_to_stderr, note_error, parse_arguments};
use firefly_bench::cli::Cli;
use firefly_models::auto::traces_selections;
use tracing::Level;

fn main() -> ExitCode {
    log_to_stderr(if traces_selections() { Level::INFO } else { Level::WARN });
    let cli = match parse_arguments::<Cli>() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    run(cli).unwrap_or_else(|error| {
        note_error(error.as_ref());
        ExitCode::from(COULD_NOT_RUN)
    })
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    fail_at_size_limit();
    start_threads()?;
    let mut out = StandardOutput::default();
    let status = cli.run(&mut out)?;
    out.flush()?;
    Ok(ExitCode::from(status.code()))
}
