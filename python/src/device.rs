//! Devices by name, and tensors that go there.

use burn::tensor::{DType, Device, Tensor, TensorData};
use firefly_app::device::DeviceChoice;
use pyo3::PyResult;

use crate::error::value_error;

/// The device of a name such as `cpu`, `cuda:1` or `auto`.
///
/// # Errors
/// `ValueError` for a name that is not a device's, or a device that this build or machine lacks.
pub fn open(name: &str) -> PyResult<Device> {
    let choice: DeviceChoice = name.parse().map_err(value_error)?;
    choice.name().open().map_err(value_error)
}

/// Numbers of Python, such as a window's coefficients, as a vector of a type.
pub fn vector(values: Vec<f64>, dtype: DType) -> TensorData {
    let shape = [values.len()];
    TensorData::new(values, shape).convert_dtype(dtype)
}

/// Data as a tensor on `device`, in the data's own type.
pub fn upload<const D: usize>(data: TensorData, device: &Device) -> Tensor<D> {
    let dtype = data.dtype();
    Tensor::from_data(data, (device, dtype))
}
