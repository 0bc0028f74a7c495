//! Errors of Firefly as exceptions of Python.

use std::error::Error;

use firefly_models::zoo::ZooError;
use firefly_trainer::run::RunError;
use firefly_trainer::run_folder::FolderError;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileExistsError, PyOSError, PyRuntimeError, PyValueError};

/// `ValueError` with the message of an error and of its causes.
pub fn value_error(error: impl Error) -> PyErr {
    PyValueError::new_err(message(&error))
}

/// `RuntimeError` with the message of an error and of its causes.
pub fn runtime_error(error: impl Error) -> PyErr {
    PyRuntimeError::new_err(message(&error))
}

/// `OSError` with the message of an error and of its causes.
pub fn os_error(error: impl Error) -> PyErr {
    PyOSError::new_err(message(&error))
}

/// `OSError` where a file can't be read or written, else `ValueError`.
pub fn zoo_error(error: ZooError) -> PyErr {
    match error {
        ZooError::File(..) => os_error(error),
        error => value_error(error),
    }
}

/// `ValueError` for a configuration, `FileExistsError` for a folder in use, `OSError` for other failures of folders,
/// else `RuntimeError`.
pub fn run_error(error: RunError) -> PyErr {
    match &error {
        RunError::Config(_) => value_error(error),
        RunError::Folder(FolderError::InUse(..) | FolderError::HoldsRun(..) | FolderError::NotEmpty(..)) => {
            PyFileExistsError::new_err(message(&error))
        }
        RunError::Folder(_) => os_error(error),
        _ => runtime_error(error),
    }
}

/// The message of an error, and those of its causes that add to it.
fn message(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let further = error.to_string();
        if !text.ends_with(&further) {
            text = format!("{text}: {further}");
        }
        cause = error.source();
    }
    text
}
