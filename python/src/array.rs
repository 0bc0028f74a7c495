//! NumPy arrays as data of tensors and back, without copies.

use burn::tensor::{DType, Shape, TensorData};
use burn_std::{AllocationProperty, Bytes as TensorBytes};
use bytes::Bytes;
use numpy::ndarray::{ArrayView, IxDyn};
use numpy::{Element, PyArrayDescrMethods, PyArrayDyn, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Memory of a NumPy array, which lives as long as this.
struct ArrayMemory {
    start: *const u8,
    bytes: usize,
    #[expect(dead_code, reason = "the reference keeps the memory alive")]
    array: Py<PyUntypedArray>,
}

// SAFETY: the memory may be read by any thread; writing to an array while it is computed with is a race that NumPy's
// own functions leave to their callers, too.
unsafe impl Send for ArrayMemory {}

impl AsRef<[u8]> for ArrayMemory {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: a contiguous array has this many bytes there, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

/// The values of an array, in its own memory: f32, f64 or i64, C-contiguous and aligned.
///
/// # Errors
/// `TypeError` for another type, `ValueError` for another layout.
pub fn borrow(array: &Bound<'_, PyUntypedArray>) -> PyResult<TensorData> {
    let (memory, dtype) = memory(array)?;
    Ok(shared(memory, array.shape().to_vec(), dtype))
}

/// Values in memory that is shared as data of a tensor, which is copied before it is written to.
pub fn shared(memory: Bytes, shape: Vec<usize>, dtype: DType) -> TensorData {
    let bytes = TensorBytes::from_shared(memory, AllocationProperty::Other);
    TensorData::from_bytes(bytes, Shape::from(shape), dtype)
}

/// The memory of an array and the type of its values.
///
/// # Errors
/// As [`borrow`].
pub fn memory(array: &Bound<'_, PyUntypedArray>) -> PyResult<(Bytes, DType)> {
    let (py, given) = (array.py(), array.dtype());
    let types = [(dtype::<f32>(py), DType::F32), (dtype::<f64>(py), DType::F64), (dtype::<i64>(py), DType::I64)];
    let Some((_, dtype)) = types.into_iter().find(|(one, _)| one.is_equiv_to(&given)) else {
        return Err(PyTypeError::new_err(format!("arrays of {given} are not supported")));
    };
    // SAFETY: the pointer is that of a live array.
    let start = unsafe { (*array.as_array_ptr()).data }.cast::<u8>().cast_const();
    if !array.is_c_contiguous() || !start.addr().is_multiple_of(dtype.size()) {
        return Err(PyValueError::new_err("the array is not contiguous, or its memory not aligned"));
    }
    let memory = ArrayMemory { start, bytes: array.len() * dtype.size(), array: array.clone().unbind() };
    Ok((Bytes::from_owner(memory), dtype))
}

/// Memory of a result, which an array refers to.
#[pyclass(frozen)]
struct ResultMemory {
    #[expect(dead_code, reason = "the array refers to its contents")]
    bytes: TensorBytes,
}

/// Data of f32, f64, i32 or i64 as a NumPy array that owns its memory.
///
/// # Errors
/// If the interpreter has no memory for the array itself.
pub fn own(py: Python<'_>, data: TensorData) -> PyResult<Bound<'_, PyAny>> {
    let (bytes, shape, dtype) = data.into_parts();
    let shape = shape.to_vec();
    match dtype {
        DType::F32 => typed::<f32>(py, bytes, &shape),
        DType::F64 => typed::<f64>(py, bytes, &shape),
        DType::I32 => typed::<i32>(py, bytes, &shape),
        DType::I64 => typed::<i64>(py, bytes, &shape),
        dtype => Err(PyRuntimeError::new_err(format!("results of {dtype:?} are not supported"))),
    }
}

fn typed<'py, T: Element>(py: Python<'py>, mut bytes: TensorBytes, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let start = bytes.as_mut_ptr().cast::<T>();
    let memory = Bound::new(py, ResultMemory { bytes })?;
    // SAFETY: `start` is the beginning of the values of that shape, aligned as a tensor's data are. Moving `bytes` has
    // moved no value.
    let values = unsafe { ArrayView::from_shape_ptr(IxDyn(shape), start) };
    // SAFETY: `memory` keeps the values alive and unmoved, and nothing else refers to them.
    Ok(unsafe { PyArrayDyn::borrow_from_array(&values, memory.into_any()) }.into_any())
}
