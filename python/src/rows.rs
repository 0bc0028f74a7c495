//! Rows that a function computes with.

use burn::tensor::{DType, Device, Tensor, TensorData};
use firefly_framework::graph::AnyTensor;
use firefly_ops::ArgumentError;
use firefly_ops::fft::ComplexTensor;
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::array::borrow;
use crate::batch::Values;
use crate::device::{open, upload};
use crate::error::value_error;
use crate::threads::run;

/// Values of a NumPy array, and the device that they go to.
pub struct Rows {
    data: TensorData,
    device: Device,
}

impl Rows {
    /// A NumPy array for the device of a name.
    ///
    /// # Errors
    /// `TypeError` for other objects and types, `ValueError` for an array that is not contiguous and for a device that
    /// is not there.
    pub fn of(values: &Bound<'_, PyAny>, device: &str) -> PyResult<Self> {
        Self::on(values, open(device)?)
    }

    /// As [`of`](Self::of), for a device that is open.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn on(values: &Bound<'_, PyAny>, device: Device) -> PyResult<Self> {
        Ok(Self { data: borrow(values.cast::<PyUntypedArray>()?)?, device })
    }

    /// The result of `work`, which runs without the interpreter's lock.
    ///
    /// # Errors
    /// `ValueError` with the error of `work`; the exception of a signal's handler; `RuntimeError` if `work` panics.
    pub fn compute<T: Send + 'static>(
        self,
        py: Python<'_>,
        work: impl FnOnce(Self) -> Result<T, ArgumentError> + Send + 'static,
    ) -> PyResult<T> {
        run(py, move || work(self))?.map_err(value_error)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether the rows are complex, `[rows, n, 2]`.
    pub fn is_complex(&self) -> bool {
        self.data.rank() == 3
    }

    /// Type of the values.
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// The values, and the device.
    pub fn into_parts(self) -> (TensorData, Device) {
        (self.data, self.device)
    }

    /// Rows `[rows, m]` or pairs `[rows, m, 2]` as a complex tensor.
    pub fn complex(self) -> ComplexTensor<2> {
        Values::of(self.data, &self.device).complex()
    }

    /// The array as a tensor of its own number of dimensions and type on the device.
    pub fn any_tensor(self) -> AnyTensor {
        AnyTensor::from_data(self.data, &self.device)
    }

    /// The rows as a tensor of `D` dimensions on the device.
    pub fn tensor<const D: usize>(self) -> Tensor<D> {
        upload(self.data, &self.device)
    }
}
