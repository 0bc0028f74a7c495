//! Interruption and outcome of a command.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::progress::Interrupter;
use crate::run_folder::RunFolder;
use crate::task::EvaluationRow;
use anyhow::{Context, Result};
use firefly_app::streams::{StandardOutput, note};

/// Exit status of an interrupted run, as shells report SIGINT.
const INTERRUPTED: u8 = 130;

/// Interrupter that Ctrl-C sets: the run ends at its next step. A second Ctrl-C ends the process.
pub fn interrupter() -> Result<Interrupter> {
    let interrupter = Interrupter::new();
    let handler = interrupter.clone();
    ctrlc::set_handler(move || {
        if handler.should_stop() {
            std::process::exit(i32::from(INTERRUPTED));
        }
        handler.stop();
    })
    .context("listening for Ctrl-C")?;
    Ok(interrupter)
}

/// Prints the evaluation of a finished run and the report's path, or how to continue an interrupted one.
pub fn report_outcome<R: EvaluationRow>(folder: &RunFolder, rows: Option<&[R]>, to_continue: &str) -> Result<ExitCode> {
    let Some(rows) = rows else {
        // Data are opened before the run has a folder.
        match folder.path().exists() {
            true => note(format_args!("interrupted: {} continues with {to_continue}", folder.path().display())),
            false => note("interrupted before the first step: the same command starts again"),
        }
        return Ok(ExitCode::from(INTERRUPTED));
    };
    print(&format!("{}\n{}\n", R::terminal(rows), folder.report().display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes to standard output. A reader that has closed it is no error.
pub fn print(text: &str) -> io::Result<()> {
    let mut output = StandardOutput::default();
    output.write_all(text.as_bytes())?;
    output.flush()
}
