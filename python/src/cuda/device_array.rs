//! Array in a GPU's memory, as Python sees it.

use std::sync::Arc;

use burn::tensor::{DType, Device, Int, Tensor};
use firefly_app::device::DeviceName;
use firefly_framework::graph::AnyTensor;
use numpy::{Complex32, PyArrayDescr, dtype};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::export::capsule;
use super::memory::{Buffer, Values, collect, stream};
use super::{dlpack, import};
use crate::array::own;
use crate::error::CallError;
use crate::threads::run;

/// Name of the class in errors.
const NAME: &str = "DeviceArray";

/// Type of the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    F32,
    I32,
    I64,
    /// Pairs of f32.
    Complex64,
}

/// Contiguous array in the memory of a CUDA device, with complete values. Other libraries take it by DLPack, without a
/// copy.
///
/// >>> x = torch.ones(5, 384, device="cuda")           # doctest: +SKIP
/// >>> power = ff.welch_peaks(x).power            # doctest: +SKIP
/// >>> power.shape, torch.from_dlpack(power).device    # doctest: +SKIP
/// ((5, 16), device(type='cuda', index=0))
#[pyclass(frozen, module = "firefly_fft", skip_from_py_object)]
#[derive(Clone)]
pub struct DeviceArray {
    pub(super) buffer: Arc<Buffer>,
    pub(super) shape: Vec<usize>,
    pub(super) element: Element,
}

impl DeviceArray {
    /// Floats as an array of their shape. To be called in [`resident`].
    ///
    /// # Errors
    /// [`CallError::Device`] if they can't be computed.
    pub fn float<const D: usize>(tensor: Tensor<D>, like: &Resident) -> Result<Self, CallError> {
        let shape = tensor.dims().to_vec();
        let flat = match shape.iter().product() {
            // Burn reads a length of 0 as the one that a dimension had.
            0 => Tensor::empty([0], (&like.device, DType::F32)),
            elements => tensor.reshape([elements]),
        };
        like.array(Values::Float(flat), shape, Element::F32)
    }

    /// Integers as an array of their shape. To be called in [`resident`].
    ///
    /// # Errors
    /// As [`float`](Self::float).
    pub fn int<const D: usize>(tensor: Tensor<D, Int>, like: &Resident) -> Result<Self, CallError> {
        let shape = tensor.dims().to_vec();
        let element = if tensor.dtype() == DType::I64 { Element::I64 } else { Element::I32 };
        let flat = match shape.iter().product() {
            0 => Tensor::empty([0], (&like.device, tensor.dtype())),
            elements => tensor.reshape([elements]),
        };
        like.array(Values::Int(flat), shape, element)
    }

    /// Floats or integers as an array of their shape. To be called in [`resident`].
    ///
    /// # Errors
    /// As [`float`](Self::float).
    pub fn any(tensor: AnyTensor, like: &Resident) -> Result<Self, CallError> {
        let shape = tensor.dims();
        let flat = tensor.clone().try_reshape(NAME, "output", [shape.iter().product::<usize>()])?;
        let flat = if tensor.is_float() {
            Self::float(flat.try_float::<1>(NAME, "output")?, like)
        } else {
            Self::int(flat.try_int::<1>(NAME, "output")?, like)
        };
        flat.map(|array| Self { shape, ..array })
    }

    /// Pairs `[.., 2]` as an array of complex values. To be called in [`resident`].
    ///
    /// # Errors
    /// As [`float`](Self::float).
    pub fn complex<const D: usize>(pairs: Tensor<D>, like: &Resident) -> Result<Self, CallError> {
        let mut array = Self::float(pairs, like)?;
        array.shape.pop();
        array.element = Element::Complex64;
        Ok(array)
    }

    /// Floats of the array's shape, or pairs with one dimension more for complex values, as a tensor of `D` dimensions.
    ///
    /// # Errors
    /// [`CallError::Device`] if the array has another number of dimensions or is of integers, or the device fails.
    pub fn tensor<const D: usize>(&self) -> Result<Tensor<D>, CallError> {
        self.buffer.settle()?;
        let mut shape = self.shape.clone();
        if self.element == Element::Complex64 {
            shape.push(2);
        }
        match (self.buffer.values(), <[usize; D]>::try_from(shape)) {
            (Values::Float(_), Ok(shape)) if self.elements() == 0 => {
                Ok(Tensor::empty(shape, (self.device(), DType::F32)))
            }
            (Values::Float(tensor), Ok(shape)) => Ok(tensor.clone().reshape(shape)),
            (_, shape) => {
                Err(CallError::Device(format!("an array of {:?} as {D} dimensions: {shape:?}", self.element)))
            }
        }
    }

    /// The array as a tensor of its number of dimensions and its type.
    ///
    /// # Errors
    /// [`CallError::Device`] for complex values, or if the device fails.
    pub fn any_tensor(&self) -> Result<AnyTensor, CallError> {
        self.buffer.settle()?;
        if self.is_complex() {
            return Err(CallError::Device("complex values as a tensor of real ones".into()));
        }
        let flat = match self.buffer.values().clone() {
            Values::Float(tensor) => AnyTensor::from(tensor),
            Values::Int(tensor) => AnyTensor::from(tensor),
        };
        Ok(flat.try_reshape(NAME, "input", self.shape.clone())?)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    /// Device of further arrays beside this one.
    pub fn resident(&self) -> Resident {
        Resident { device: self.buffer.device().clone(), index: self.buffer.index() }
    }

    /// Whether the values are pairs.
    pub fn is_complex(&self) -> bool {
        self.element == Element::Complex64
    }

    fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The same values in another shape.
    fn in_shape(&self, shape: Vec<usize>) -> PyResult<Self> {
        if shape.iter().product::<usize>() != self.elements() {
            return Err(PyValueError::new_err(format!("{:?} can't be reshaped to {shape:?}", self.shape)));
        }
        Ok(Self { buffer: self.buffer.clone(), shape, element: self.element })
    }
}

/// Device of results.
#[derive(Clone)]
pub struct Resident {
    pub device: Device,
    pub index: usize,
}

impl Resident {
    fn array(&self, values: Values, shape: Vec<usize>, element: Element) -> Result<DeviceArray, CallError> {
        Ok(DeviceArray { buffer: Arc::new(Buffer::of(values, &self.device, self.index)?), shape, element })
    }
}

/// The result of `work` on tensors that stay on a GPU, without the interpreter's lock.
///
/// # Errors
/// Those of `work`, and of [`run`].
pub fn resident<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, CallError> + Send + 'static,
) -> PyResult<T> {
    let in_stream = move || {
        collect();
        stream().executes(work)
    };
    Ok(run(py, in_stream)??)
}

#[pymethods]
impl DeviceArray {
    /// Lengths of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.elements()
    }

    /// NumPy's type of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        match self.element {
            Element::F32 => dtype::<f32>(py),
            Element::I32 => dtype::<i32>(py),
            Element::I64 => dtype::<i64>(py),
            Element::Complex64 => dtype::<Complex32>(py),
        }
    }

    /// Name of the device.
    #[getter(device)]
    fn device_name(&self) -> String {
        DeviceName::of(self.buffer.device()).to_string()
    }

    fn __len__(&self) -> PyResult<usize> {
        self.shape.first().copied().ok_or_else(|| PyTypeError::new_err("a scalar has no length"))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (shape, dtype) = (self.shape(py)?.repr()?, self.dtype(py));
        Ok(format!("DeviceArray(shape={shape}, dtype={dtype}, device='{}')", self.device_name()))
    }

    /// Copy in the host's memory.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let buffer = self.buffer.clone();
        let data = resident(py, move || {
            buffer.settle()?;
            Ok(match buffer.values().clone() {
                Values::Float(tensor) => tensor.into_data(),
                Values::Int(tensor) => tensor.into_data(),
            })
        })?;
        let flat = own(py, data)?;
        let typed = if self.is_complex() { flat.call_method1("view", (self.dtype(py),))? } else { flat };
        typed.call_method1("reshape", (self.shape(py)?,))
    }

    /// Copy in the host's memory, as NumPy asks for it.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err("an array in a GPU's memory can't be a NumPy array without a copy"));
        }
        let array = self.numpy(py)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// DLPack's kind of the device, CUDA, and its index.
    fn __dlpack_device__(&self) -> (i32, usize) {
        (dlpack::CUDA, self.buffer.index())
    }

    /// DLPack capsule of the array's own memory. Values are complete when an array exists, so that there is nothing
    /// that `stream` would have to wait for.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, usize)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = stream;
        match dl_device {
            Some((dlpack::CPU, _)) if copy != Some(false) => self.numpy(py)?.call_method0("__dlpack__"),
            Some(device) if device != self.__dlpack_device__() => {
                Err(PyBufferError::new_err(format!("an array of {} is not on device {device:?}", self.device_name())))
            }
            _ if copy == Some(true) => Err(PyBufferError::new_err(
                "copies in a GPU's memory are not made here: take the array without one, and copy that",
            )),
            _ => capsule(py, self, max_version.is_some_and(|(major, _)| major >= 1)),
        }
    }
}

/// A tensor of another library in a GPU's memory, copied within it, or a `DeviceArray` itself. `argument` is the name
/// in errors; `device` the name of a device that must be the tensor's, if given.
#[pyfunction]
pub fn from_dlpack(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    argument: &str,
    device: Option<&str>,
) -> PyResult<DeviceArray> {
    import::from_dlpack(py, values, argument, device)
}

/// An array's values in another shape, without a copy.
#[pyfunction]
pub fn reshaped(array: &Bound<'_, DeviceArray>, shape: Vec<usize>) -> PyResult<DeviceArray> {
    array.get().in_shape(shape)
}

/// An array of `[a, m, n, b]` values as `[a, n, m, b]`, in memory of its own.
#[pyfunction]
pub fn swapped(py: Python<'_>, array: &Bound<'_, DeviceArray>, shape: [usize; 4]) -> PyResult<DeviceArray> {
    let array = array.get().in_shape(shape.to_vec())?;
    resident(py, move || {
        let like = array.resident();
        if array.is_complex() {
            return DeviceArray::complex(array.tensor::<5>()?.swap_dims(1, 2), &like);
        }
        match array.buffer.values() {
            Values::Float(_) => DeviceArray::float(array.tensor::<4>()?.swap_dims(1, 2), &like),
            Values::Int(tensor) if array.elements() == 0 => {
                let [a, m, n, b] = shape;
                DeviceArray::int(Tensor::<4, Int>::empty([a, n, m, b], (&like.device, tensor.dtype())), &like)
            }
            Values::Int(tensor) => {
                array.buffer.settle()?;
                DeviceArray::int(tensor.clone().reshape(shape).swap_dims(1, 2), &like)
            }
        }
    })
}
