//! Tensors of other libraries, copied within a GPU.

use std::ptr::NonNull;
use std::slice;

use burn::tensor::{DType, Device, Tensor};
use firefly_app::device::{DeviceChoice, DeviceName};
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::device_array::{DeviceArray, Element, Resident, resident};
use super::dlpack::{self, Managed, NAME, VERSIONED_NAME, VersionedManaged};
use super::driver::Gpu;
use super::layout::{PitchedRows, pitched_rows};
use super::memory::{Buffer, Values};
use crate::device::open;
use crate::error::{CallError, value_error};

/// Tensor of another library, as its DLPack capsule describes it.
struct Foreign {
    address: u64,
    shape: Vec<usize>,
    element: Element,
    /// Type of the values: f16 or f32; those of a complex value are two.
    dtype: DType,
    /// `None` without values.
    rows: Option<PitchedRows>,
    #[expect(dead_code, reason = "the capsule keeps the memory alive")]
    capsule: Py<PyAny>,
}

/// As [`super::from_dlpack`].
pub fn from_dlpack(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    argument: &str,
    device: Option<&str>,
) -> PyResult<DeviceArray> {
    if let Ok(array) = values.cast::<DeviceArray>() {
        check_device(&array.get().resident().device, argument, device)?;
        return Ok(array.get().clone());
    }
    let (kind, index): (i32, usize) = values.call_method0("__dlpack_device__")?.extract()?;
    if ![dlpack::CUDA, dlpack::CUDA_MANAGED].contains(&kind) {
        return Err(PyValueError::new_err(format!("{argument} is in the memory of DLPack's device type {kind}")));
    }
    let burn = open(&format!("cuda:{index}")).map_err(|error| {
        PyValueError::new_err(format!(
            "{argument} is in the memory of a device that can't be used: {}",
            error.value(py)
        ))
    })?;
    check_device(&burn, argument, device)?;
    let gpu = Gpu::of(index).map_err(CallError::from)?;
    let asked = gpu.current(|| request(values, gpu)).map_err(CallError::from)?;
    let capsule = asked.map_err(|error| {
        let refused = error.is_instance_of::<PyBufferError>(py) || error.is_instance_of::<PyRuntimeError>(py);
        if refused { PyTypeError::new_err(format!("{argument}: {}", error.value(py))) } else { error }
    })?;
    let foreign = Foreign::of(&capsule, argument, (kind, index))?;
    let like = Resident { device: burn, index };
    resident(py, move || foreign.copy(gpu, &like))
}

/// An error for a named device that is not the one that the values are on.
fn check_device(on: &Device, argument: &str, asked: Option<&str>) -> PyResult<()> {
    let Some(asked) = asked else { return Ok(()) };
    match asked.parse().map_err(value_error)? {
        DeviceChoice::Named(name) if name != DeviceName::of(on) => Err(PyValueError::new_err(format!(
            "{argument} is in the memory of a device, {}, but device is {asked:?}: copy it there first",
            DeviceName::of(on)
        ))),
        _ => Ok(()),
    }
}

/// The capsule of a tensor, whose values are complete for work in this package's stream. Versions of the protocol
/// before 1 know no `max_version`.
fn request<'py>(values: &Bound<'py, PyAny>, gpu: &Gpu) -> PyResult<Bound<'py, PyAny>> {
    let py = values.py();
    let arguments = PyDict::new(py);
    arguments.set_item("stream", gpu.stream_number())?;
    arguments.set_item("max_version", (1, 0))?;
    match values.call_method("__dlpack__", (), Some(&arguments)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            arguments.del_item("max_version")?;
            values.call_method("__dlpack__", (), Some(&arguments))
        }
        capsule => capsule,
    }
}

/// The tensor of a capsule that no one has taken over.
fn tensor_of<'a>(capsule: &'a Bound<'_, PyAny>) -> PyResult<&'a dlpack::Tensor> {
    let object = capsule.as_ptr();
    let is = |name: &std::ffi::CStr| {
        // SAFETY: a live object, and a name that ends in a zero.
        unsafe { pyo3::ffi::PyCapsule_IsValid(object, name.as_ptr()) == 1 }
    };
    let pointer = |name: &std::ffi::CStr| {
        // SAFETY: as above; a capsule of this name.
        unsafe { pyo3::ffi::PyCapsule_GetPointer(object, name.as_ptr()) }
    };
    if is(VERSIONED_NAME)
        && let Some(managed) = NonNull::new(pointer(VERSIONED_NAME).cast::<VersionedManaged>())
    {
        // SAFETY: a capsule of this name holds this structure's beginning, whatever its version.
        let version = unsafe { (*managed.as_ptr()).version };
        if version.major != 1 {
            return Err(PyTypeError::new_err(format!("DLPack {}.{} is not known", version.major, version.minor)));
        }
        // SAFETY: as above, of a version with this field; it lives as long as the capsule does.
        return Ok(unsafe { &(*managed.as_ptr()).tensor });
    }
    if is(NAME)
        && let Some(managed) = NonNull::new(pointer(NAME).cast::<Managed>())
    {
        // SAFETY: a capsule of this name holds this structure, which lives as long as the capsule does.
        return Ok(unsafe { &(*managed.as_ptr()).tensor });
    }
    Err(PyTypeError::new_err("__dlpack__ has returned no capsule of a tensor"))
}

impl Foreign {
    /// Reads a capsule. It stays the owner of its tensor, which is freed when the capsule is.
    fn of(capsule: &Bound<'_, PyAny>, argument: &str, (kind, index): (i32, usize)) -> PyResult<Self> {
        let tensor = tensor_of(capsule)?;
        if (tensor.device.kind, usize::try_from(tensor.device.index)) != (kind, Ok(index)) {
            return Err(PyValueError::new_err(format!(
                "{argument} is in the memory of a device of DLPack's {}:{}, but said to be on {kind}:{index}",
                tensor.device.kind, tensor.device.index
            )));
        }
        let (element, dtype, size) = element_of(tensor.data_type, argument)?;
        let dimensions = usize::try_from(tensor.dimensions).unwrap_or(0);
        let lengths: &[i64] = match (dimensions, tensor.shape.is_null()) {
            (0, _) | (_, true) => &[],
            // SAFETY: the structure has as many lengths as dimensions.
            _ => unsafe { slice::from_raw_parts(tensor.shape, dimensions) },
        };
        let shape = lengths.iter().map(|&length| usize::try_from(length).unwrap_or(0)).collect::<Vec<_>>();
        let strides = if tensor.strides.is_null() || dimensions == 0 {
            contiguous_strides(&shape)
        } else {
            // SAFETY: the structure has as many strides as dimensions, if any.
            unsafe { slice::from_raw_parts(tensor.strides, dimensions) }.to_vec()
        };
        let has_values = shape.iter().all(|&length| length > 0);
        let rows = pitched_rows(&shape, &strides, size);
        if has_values && rows.is_none() {
            return Err(PyValueError::new_err(format!(
                "{argument} is strided ({strides:?} for {shape:?}): make it contiguous first, as with `.contiguous()`"
            )));
        }
        let address = tensor.data.addr() as u64 + tensor.byte_offset;
        Ok(Self { address, shape, element, dtype, rows, capsule: capsule.clone().unbind() })
    }

    /// The values in memory of CubeCL's, in f32.
    fn copy(self, gpu: &Gpu, like: &Resident) -> Result<DeviceArray, CallError> {
        let pair = if self.element == Element::Complex64 { 2 } else { 1 };
        let values = self.shape.iter().product::<usize>() * pair;
        let buffer =
            Buffer::of(Values::Float(Tensor::empty([values], (&like.device, self.dtype))), &like.device, like.index)?;
        if let Some(rows) = &self.rows {
            // SAFETY: the producer has ordered this stream after its own work on the tensor, which the capsule keeps
            // alive. The buffer has as many values; what CubeCL did there before is finished, since a buffer is
            // complete.
            unsafe { gpu.copy(self.address, buffer.address(), rows) }?;
        }
        let buffer = match (self.dtype, buffer.values()) {
            (DType::F32, _) | (_, Values::Int(_)) => buffer,
            (_, Values::Float(half)) => {
                Buffer::of(Values::Float(half.clone().cast(DType::F32)), &like.device, like.index)?
            }
        };
        Ok(DeviceArray { buffer: buffer.into(), shape: self.shape, element: self.element })
    }
}

/// The element of a type, the type of its values, and its bytes.
fn element_of(given: dlpack::DataType, argument: &str) -> PyResult<(Element, DType, usize)> {
    let wide = match (given.code, given.bits, given.lanes) {
        (dlpack::FLOAT, 32, 1) => return Ok((Element::F32, DType::F32, 4)),
        (dlpack::FLOAT, 16, 1) => return Ok((Element::F32, DType::F16, 2)),
        (dlpack::COMPLEX, 64, 1) => return Ok((Element::Complex64, DType::F32, 8)),
        (dlpack::FLOAT, 64, 1) | (dlpack::COMPLEX, 128, 1) => true,
        (dlpack::INTEGER | dlpack::UNSIGNED | dlpack::BOOLEAN, _, 1) => true,
        _ => false,
    };
    let name = match given.code {
        dlpack::FLOAT => format!("float{}", given.bits),
        dlpack::BFLOAT => format!("bfloat{}", given.bits),
        dlpack::COMPLEX => format!("complex{}", given.bits),
        dlpack::INTEGER => format!("int{}", given.bits),
        dlpack::UNSIGNED => format!("uint{}", given.bits),
        dlpack::BOOLEAN => "bool".to_string(),
        code => format!("DLPack's type {code}"),
    };
    Err(if wide {
        PyValueError::new_err(format!(
            "{argument} is of {name}, which is computed in float64, but GPUs compute in float32: convert it first, as \
             with `.float()`, or copy it to the host"
        ))
    } else {
        PyTypeError::new_err(format!("{argument} is of {name}: convert it to float32 first, as with `.float()`"))
    })
}

fn contiguous_strides(shape: &[usize]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for index in (1..shape.len()).rev() {
        strides[index - 1] = strides[index] * i64::try_from(shape[index]).unwrap_or(i64::MAX);
    }
    strides
}
