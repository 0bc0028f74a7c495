//! The `firefly-bench` program. Exit status: 0 if every case that is supported was verified and measured, 1 if one
//! failed or differs, 2 if the command could not be carried out or nothing could be measured.

#![warn(clippy::print_stderr)]

use std::io::Write;
use std::process::ExitCode;

use firefly_app::host::start_threads;
use firefly_app::streams::{COULD_NOT_RUN, StandardOutput, log_to_stderr, note, parse_arguments};
use firefly_bench::cli::{Cli, ExitStatus};
use firefly_models::traces_selections;
use tracing::Level;

fn main() -> ExitCode {
    log_to_stderr(if traces_selections() { Level::INFO } else { Level::WARN });
    let cli = match parse_arguments::<Cli>() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    match run(cli) {
        Ok(status) => ExitCode::from(status.code()),
        Err(error) => {
            note(format_args!("error: {error:#}"));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitStatus> {
    start_threads()?;
    let mut out = StandardOutput::default();
    let status = cli.run(&mut out)?;
    out.flush()?;
    Ok(status)
}
