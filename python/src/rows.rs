//! Arrays that a function computes with, in the host's memory or a GPU's, and results in the same.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use firefly_framework::graph::AnyTensor;
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::array::{borrow, own};
#[cfg(feature = "cuda")]
use crate::cuda::{DeviceArray, Resident, resident};
use crate::device::{open, upload};
use crate::error::CallError;
use crate::threads::run;

/// Rows, and the device that they are computed with on.
pub enum Rows {
    /// A NumPy array, which goes to the device.
    Host(TensorData, Device),
    /// An array that is on the device.
    #[cfg(feature = "cuda")]
    Resident(DeviceArray),
}

/// Memory that results go to: that of the rows.
pub enum Memory {
    Host,
    #[cfg(feature = "cuda")]
    Resident(Resident),
}

/// A result: an array of NumPy, or one in a GPU's memory.
pub enum Output {
    Host(TensorData),
    #[cfg(feature = "cuda")]
    Resident(DeviceArray),
}

impl Rows {
    /// A NumPy array for `device`, or a `DeviceArray` for its own.
    ///
    /// # Errors
    /// `TypeError` for other objects and types, `ValueError` for an array that is not contiguous and for a device that
    /// is not there.
    pub fn of(values: &Bound<'_, PyAny>, device: &str) -> PyResult<Self> {
        Self::on(values, || open(device))
    }

    /// As [`of`](Self::of), for a device that `device` opens if the values are a NumPy array.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn on(values: &Bound<'_, PyAny>, device: impl FnOnce() -> PyResult<Device>) -> PyResult<Self> {
        #[cfg(feature = "cuda")]
        if let Ok(array) = values.cast::<DeviceArray>() {
            return Ok(Self::Resident(array.get().clone()));
        }
        let array = values.cast::<PyUntypedArray>()?;
        Ok(Self::Host(borrow(array)?, device()?))
    }

    /// The result of `work`, which runs without the interpreter's lock.
    ///
    /// # Errors
    /// The error of `work`; the exception of a signal's handler; `RuntimeError` if `work` panics.
    pub fn compute<T: Send + 'static>(
        self,
        py: Python<'_>,
        work: impl FnOnce(Self, Memory) -> Result<T, CallError> + Send + 'static,
    ) -> PyResult<T> {
        self.memory().compute(py, move |memory| work(self, memory))
    }

    /// Memory of the rows, which results go to.
    pub fn memory(&self) -> Memory {
        match self {
            Self::Host(..) => Memory::Host,
            #[cfg(feature = "cuda")]
            Self::Resident(array) => Memory::Resident(array.resident()),
        }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        match self {
            Self::Host(_, device) => device,
            #[cfg(feature = "cuda")]
            Self::Resident(array) => array.device(),
        }
    }

    /// Whether the rows are complex, `[rows, n, 2]` on the host.
    pub fn is_complex(&self) -> bool {
        match self {
            Self::Host(data, _) => data.rank() == 3,
            #[cfg(feature = "cuda")]
            Self::Resident(array) => array.is_complex(),
        }
    }

    /// Type of the values.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Host(data, _) => data.dtype(),
            #[cfg(feature = "cuda")]
            Self::Resident(_) => DType::F32,
        }
    }

    /// The array as a tensor of its own number of dimensions and type on the device.
    ///
    /// # Errors
    /// [`CallError::Device`] for complex values in a GPU's memory, or if it fails.
    pub fn any_tensor(self) -> Result<AnyTensor, CallError> {
        match self {
            Self::Host(data, device) => Ok(AnyTensor::from_data(data, &device)),
            #[cfg(feature = "cuda")]
            Self::Resident(array) => array.any_tensor(),
        }
    }

    /// The rows as a tensor of `D` dimensions on the device.
    ///
    /// # Errors
    /// [`CallError::Device`] for rows in a GPU's memory of another number of dimensions, or if it fails.
    pub fn tensor<const D: usize>(self) -> Result<Tensor<D>, CallError> {
        match self {
            Self::Host(data, device) => Ok(upload(data, &device)),
            #[cfg(feature = "cuda")]
            Self::Resident(array) => array.tensor(),
        }
    }
}

impl Memory {
    /// The result of `work`, which runs without the interpreter's lock.
    ///
    /// # Errors
    /// As [`Rows::compute`].
    pub fn compute<T: Send + 'static>(
        self,
        py: Python<'_>,
        work: impl FnOnce(Self) -> Result<T, CallError> + Send + 'static,
    ) -> PyResult<T> {
        match self {
            Self::Host => Ok(run(py, move || work(Self::Host))??),
            #[cfg(feature = "cuda")]
            Self::Resident(place) => resident(py, move || work(Self::Resident(place))),
        }
    }

    /// A tensor of any number of dimensions as a result.
    ///
    /// # Errors
    /// [`CallError::Device`] if a GPU fails.
    pub fn any(&self, tensor: AnyTensor) -> Result<Output, CallError> {
        match self {
            Self::Host => Ok(Output::Host(tensor.into_data())),
            #[cfg(feature = "cuda")]
            Self::Resident(resident) => DeviceArray::any(tensor, resident).map(Output::Resident),
        }
    }

    /// Floats as a result.
    ///
    /// # Errors
    /// [`CallError::Device`] if a GPU fails.
    pub fn float<const D: usize>(&self, tensor: Tensor<D>) -> Result<Output, CallError> {
        match self {
            Self::Host => Ok(Output::Host(tensor.into_data())),
            #[cfg(feature = "cuda")]
            Self::Resident(resident) => DeviceArray::float(tensor, resident).map(Output::Resident),
        }
    }

    /// Integers as a result.
    ///
    /// # Errors
    /// As [`float`](Self::float).
    pub fn int<const D: usize>(&self, tensor: Tensor<D, Int>) -> Result<Output, CallError> {
        match self {
            Self::Host => Ok(Output::Host(tensor.into_data())),
            #[cfg(feature = "cuda")]
            Self::Resident(resident) => DeviceArray::int(tensor, resident).map(Output::Resident),
        }
    }
}

impl Output {
    /// The result as an object of Python.
    ///
    /// # Errors
    /// Those of [`own`].
    pub fn give(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Host(data) => own(py, data),
            #[cfg(feature = "cuda")]
            Self::Resident(array) => Ok(Bound::new(py, array)?.into_any()),
        }
    }
}
