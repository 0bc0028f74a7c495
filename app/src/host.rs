//! Facts about the machine, and the threads of operations on the CPU.

pub use firefly_framework::device::{available_cores, cpu_name};
use rayon::ThreadPoolBuilder;
use thiserror::Error;

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
