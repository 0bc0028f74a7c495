//! Threads of operations on the CPU, and calls that end where a signal arrives.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use firefly_app::host::MAX_THREADS;
use firefly_interop::host::set_runner;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::runtime_error;

/// Time between two looks at the signals that have arrived.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// The threads of one process: one that was forked from it has none of them.
struct ProcessThreads {
    process: u32,
    threads: Arc<ThreadPool>,
}

static THREADS: Mutex<Option<ProcessThreads>> = Mutex::new(None);

/// The threads of this process, started at the first call.
fn threads() -> PyResult<Arc<ThreadPool>> {
    let mut current = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &*current
        && known.process == process::id()
    {
        return Ok(known.threads.clone());
    }
    replace(&mut current, 0)
}

/// Replaces the current threads; 0 is as many as there are cores, or as `RAYON_NUM_THREADS` says.
fn replace(current: &mut Option<ProcessThreads>, count: usize) -> PyResult<Arc<ThreadPool>> {
    let name = |index| format!("firefly-{index}");
    let threads = ThreadPoolBuilder::new().num_threads(count).thread_name(name).build().map_err(runtime_error)?;
    let threads = Arc::new(threads);
    let replaced = current.replace(ProcessThreads { process: process::id(), threads: threads.clone() });
    // Threads that the process was forked without can't be ended.
    std::mem::forget(replaced.filter(|old| old.process != process::id()));
    Ok(threads)
}

/// Process whose operations on tensors of PyTorch compute on rayon's threads; 0 where they compute on those of this
/// module: in a process that was forked from it, and after [`set_num_threads`].
static ON_RAYON: AtomicU32 = AtomicU32::new(0);

/// Makes operations on tensors of PyTorch in host memory compute on threads that the process has.
pub fn serve_tensors() {
    ON_RAYON.store(process::id(), Ordering::Relaxed);
    set_runner(|work| match (ON_RAYON.load(Ordering::Relaxed) != process::id()).then(threads) {
        Some(Ok(threads)) => threads.install(work),
        _ => work(),
    });
}

/// Number of threads that operations on the CPU use.
///
/// >>> import firefly_fft as ff
/// >>> ff.num_threads() >= 1
/// True
#[pyfunction]
pub fn num_threads() -> PyResult<usize> {
    Ok(threads()?.current_num_threads())
}

/// Sets the number of threads that operations on the CPU use, from 1 to 1024. Results do not depend on it.
///
/// >>> import firefly_fft as ff
/// >>> threads = ff.num_threads()
/// >>> ff.set_num_threads(1)
/// >>> ff.num_threads()
/// 1
/// >>> ff.set_num_threads(threads)
#[pyfunction]
pub fn set_num_threads(count: usize) -> PyResult<()> {
    if !(1..=MAX_THREADS).contains(&count) {
        return Err(PyValueError::new_err(format!("count is {count}, but must be from 1 to {MAX_THREADS}")));
    }
    ON_RAYON.store(0, Ordering::Relaxed);
    replace(&mut THREADS.lock().unwrap_or_else(PoisonError::into_inner), count).map(drop)
}

/// The result of `work`, which runs on the threads, without the interpreter's lock. A signal such as Ctrl-C raises its
/// exception at once, and the result is dropped when it is there.
///
/// # Errors
/// The exception of a signal's handler; `RuntimeError` if `work` panics.
pub fn run<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    run_until(py, work, || false)
}

/// As [`run`], but calls `stop` when the first signal raises an exception; if that returns true, `work` will end soon,
/// and is waited for.
///
/// # Errors
/// As [`run`].
pub fn run_until<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    stop: impl Fn() -> bool,
) -> PyResult<T> {
    let (sender, mut receiver) = sync_channel(1);
    // Sending fails after an interruption, which drops the receiver.
    threads()?.spawn(move || drop(sender.send(catch_unwind(AssertUnwindSafe(work)))));
    let mut interruption = None;
    loop {
        let (received, back) = py.detach(move || (receiver.recv_timeout(SIGNALS_EVERY), receiver));
        receiver = back;
        match (received, py.check_signals()) {
            (Err(RecvTimeoutError::Timeout), Ok(())) => {}
            (Err(RecvTimeoutError::Timeout), Err(exception)) if interruption.is_none() && stop() => {
                interruption = Some(exception);
            }
            (_, Err(exception)) => return Err(exception),
            (Ok(outcome), Ok(())) => {
                return match interruption {
                    Some(exception) => Err(exception),
                    None => outcome.map_err(|panic| PyRuntimeError::new_err(panic_message(&*panic))),
                };
            }
            (Err(RecvTimeoutError::Disconnected), Ok(())) => {
                return Err(PyRuntimeError::new_err("the thread that computes has ended"));
            }
        }
    }
}

/// The message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the computation failed").to_string()
}
