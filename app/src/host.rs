//! Facts about the machine, the threads of operations on the CPU, and the course of a program.

use std::error;
use std::process::ExitCode;

use clap::Parser;
pub use firefly_framework::device::{available_cores, cpu_name};
use rayon::ThreadPoolBuilder;
use thiserror::Error;
use tracing::Level;

use crate::files::fail_at_size_limit;
use crate::streams::{COULD_NOT_RUN, log_to_stderr, note_error, parse_arguments};

/// The greatest number of threads that is accepted.
pub const MAX_THREADS: usize = 1024;

/// The variable that sets the number of threads of operations on the CPU.
const THREADS_VARIABLE: &str = "RAYON_NUM_THREADS";

/// Failure to start threads.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum ThreadError {
    #[error("{THREADS_VARIABLE} is {0}, but must be a number from 1 to {MAX_THREADS}")]
    Number(String),
    #[error("starting the threads of operations on the CPU; {THREADS_VARIABLE} sets their number")]
    Start(#[source] rayon::ThreadPoolBuildError),
}

/// Starts the threads that operations on the CPU share, which otherwise start, or panic, at the first operation.
///
/// # Errors
/// If the variable has another value than a number of threads, or the system refuses a thread.
pub fn start_threads() -> Result<(), ThreadError> {
    let asked = std::env::var_os(THREADS_VARIABLE).map(|value| value.to_string_lossy().into_owned());
    let accepted = |value: &str| value.parse().is_ok_and(|threads: usize| (1..=MAX_THREADS).contains(&threads));
    match asked.filter(|value| !value.is_empty() && !accepted(value)) {
        Some(value) => Err(ThreadError::Number(value)),
        None => ThreadPoolBuilder::new().build_global().map_err(ThreadError::Start),
    }
}

/// Runs a program on its parsed arguments. Events of at least this level and the error go to standard error.
pub fn run_program<P: Parser, E>(level: Level, run: impl FnOnce(P) -> Result<ExitCode, E>) -> ExitCode
where
    E: From<ThreadError> + AsRef<dyn error::Error>,
{
    log_to_stderr(level);
    let program = match parse_arguments() {
        Ok(program) => program,
        Err(status) => return status,
    };
    fail_at_size_limit();
    start_threads().map_err(E::from).and_then(|()| run(program)).unwrap_or_else(|error| {
        note_error(error.as_ref());
        ExitCode::from(COULD_NOT_RUN)
    })
}
