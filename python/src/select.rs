//! The largest values of rows, and their local maxima.

use burn::tensor::Tensor;
use firefly_ops::LocalMaximaOptions;
use firefly_ops::options::Interpolation;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::own;
use crate::rows::Rows;

/// Positions and values `[rows, k]` of the largest values of each row of `[rows, length]`.
#[pyfunction]
pub fn top_k<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    k: usize,
    device: &str,
) -> PyResult<[Bound<'py, PyAny>; 2]> {
    let [positions, values] = Rows::of(values, device)?.compute(py, move |rows| {
        let largest = firefly_ops::top_k(rows.tensor::<2>(), k)?;
        Ok([largest.bins.into_data(), largest.power.into_data()])
    })?;
    Ok([own(py, positions)?, own(py, values)?])
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
    let [bins, power, prominence, offset] = power.compute(py, move |rows| {
        let maxima = firefly_ops::local_maxima(rows.tensor::<2>(), &options, k)?;
        let [power, prominence, offset] = [maxima.power, maxima.prominence, maxima.offset].map(Tensor::into_data);
        Ok([maxima.bins.into_data(), power, prominence, offset])
    })?;
    Ok([own(py, bins)?, own(py, power)?, own(py, prominence)?, own(py, offset)?])
}
