//! Windows by name.

use firefly_ops::{Window, WindowSymmetry};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::error::value_error;

/// The `n` coefficients of a window such as `hann` or `kaiser(8.6)`, periodic or symmetric.
#[pyfunction]
pub fn window<'py>(py: Python<'py>, name: &str, n: usize, periodic: bool) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let window: Window = name.parse().map_err(value_error)?;
    window.validate("window", n).map_err(value_error)?;
    let symmetry = if periodic { WindowSymmetry::Periodic } else { WindowSymmetry::Symmetric };
    Ok(window.coefficients(n, symmetry).into_pyarray(py))
}
