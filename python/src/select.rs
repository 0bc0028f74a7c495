//! The largest values of rows, and their local maxima.

use firefly_ops::LocalMaximaOptions;
use firefly_ops::options::Interpolation;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::rows::Rows;

/// Positions and values `[rows, k]` of the largest values of each row of `[rows, length]`.
#[pyfunction]
pub fn top_k<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    k: usize,
    device: &str,
) -> PyResult<[Bound<'py, PyAny>; 2]> {
    let [positions, values] = Rows::of(values, device)?.compute(py, move |rows, memory| {
        let largest = firefly_ops::top_k(rows.tensor::<2>()?, k)?;
        Ok([memory.int(largest.bins)?, memory.float(largest.power)?])
    })?;
    Ok([positions.give(py)?, values.give(py)?])
}

/// Conditions that local maxima must meet, as the entries of a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ConditionsDict {
    height: Option<f64>,
    distance: usize,
    prominence: Option<f64>,
    interpolation: String,
}

impl ConditionsDict {
    fn options(&self) -> PyResult<LocalMaximaOptions> {
        let options = LocalMaximaOptions::new().with_distance(self.distance);
        let options = self.height.map_or(options, |height| options.with_height(height));
        let options = self.prominence.map_or(options, |prominence| options.with_prominence(prominence));
        Ok(options.with_interpolation(match self.interpolation.as_str() {
            "log_parabola" => Interpolation::LogParabola,
            "hann" => Interpolation::Hann,
            other => {
                let text = format!("interpolation is {other:?}, but must be 'log_parabola' or 'hann'");
                return Err(PyValueError::new_err(text));
            }
        }))
    }
}

/// Bins, power, prominence and offsets `[rows, k]` of the strongest local maxima of each row of `[rows, length]`.
#[pyfunction]
pub fn local_maxima<'py>(
    py: Python<'py>,
    power: &Bound<'py, PyAny>,
    k: usize,
    conditions: ConditionsDict,
    device: &str,
) -> PyResult<[Bound<'py, PyAny>; 4]> {
    let (power, options) = (Rows::of(power, device)?, conditions.options()?);
    let [bins, power, prominence, offset] = power.compute(py, move |rows, memory| {
        let maxima = firefly_ops::local_maxima(rows.tensor::<2>()?, &options, k)?;
        let [power, prominence] = [memory.float(maxima.power)?, memory.float(maxima.prominence)?];
        Ok([memory.int(maxima.bins)?, power, prominence, memory.float(maxima.offset)?])
    })?;
    Ok([bins.give(py)?, power.give(py)?, prominence.give(py)?, offset.give(py)?])
}
