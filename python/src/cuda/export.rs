//! Arrays in a GPU's memory as capsules of DLPack.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;

use super::device_array::{DeviceArray, Element};
use super::dlpack::{self, Managed, NAME, VERSIONED_NAME, Version, VersionedManaged};
use super::memory::Buffer;

/// Owner of a tensor that was given away: its memory, and the lengths and strides that the tensor points to.
struct Owner<T> {
    managed: T,
    lengths: Vec<i64>,
    strides: Vec<i64>,
    #[expect(dead_code, reason = "keeps the memory in place")]
    buffer: Arc<Buffer>,
}

/// Structure that holds a tensor and names its owner.
trait Structure: Sized {
    const NAME: &'static CStr;
    fn of(tensor: dlpack::Tensor) -> Self;
    fn tensor(&mut self) -> &mut dlpack::Tensor;
    fn set_owner(&mut self, owner: *mut c_void);
    fn owner(&self) -> *mut c_void;
    /// The function that frees a structure, if it has one.
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Structure for Managed {
    const NAME: &'static CStr = NAME;

    fn of(tensor: dlpack::Tensor) -> Self {
        Self { tensor, owner: null_mut(), deleter: Some(delete) }
    }

    fn tensor(&mut self) -> &mut dlpack::Tensor {
        &mut self.tensor
    }

    fn set_owner(&mut self, owner: *mut c_void) {
        self.owner = owner;
    }

    fn owner(&self) -> *mut c_void {
        self.owner
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

impl Structure for VersionedManaged {
    const NAME: &'static CStr = VERSIONED_NAME;

    fn of(tensor: dlpack::Tensor) -> Self {
        let version = Version { major: 1, minor: 0 };
        Self { version, owner: null_mut(), deleter: Some(delete), flags: 0, tensor }
    }

    fn tensor(&mut self) -> &mut dlpack::Tensor {
        &mut self.tensor
    }

    fn set_owner(&mut self, owner: *mut c_void) {
        self.owner = owner;
    }

    fn owner(&self) -> *mut c_void {
        self.owner
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

/// Frees a tensor that was given away; on any thread, with or without the interpreter's lock.
unsafe extern "C" fn delete<T: Structure>(managed: *mut T) {
    // SAFETY: whoever took the tensor over calls this once, with the structure that `give` has made.
    drop(unsafe { Box::from_raw((*managed).owner().cast::<Owner<T>>()) });
}

/// Frees the tensor of a capsule that no one has taken over: who does renames the capsule.
unsafe extern "C" fn destroy<T: Structure>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this with the capsule, and holds its lock.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, T::NAME.as_ptr()) != 1 {
            return;
        }
        let managed = ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr()).cast::<T>();
        if let Some(deleter) = (*managed).deleter() {
            deleter(managed);
        }
    }
}

/// The capsule of an array, of the structure that DLPack has from version 1 on or of the one before.
///
/// # Errors
/// `MemoryError`.
pub fn capsule<'py>(py: Python<'py>, array: &DeviceArray, is_versioned: bool) -> PyResult<Bound<'py, PyAny>> {
    if is_versioned { give::<VersionedManaged>(py, array) } else { give::<Managed>(py, array) }
}

fn give<'py, T: Structure>(py: Python<'py>, array: &DeviceArray) -> PyResult<Bound<'py, PyAny>> {
    let (code, bits) = match array.element {
        Element::F32 => (dlpack::FLOAT, 32),
        Element::I32 => (dlpack::INTEGER, 32),
        Element::I64 => (dlpack::INTEGER, 64),
        Element::Complex64 => (dlpack::COMPLEX, 64),
    };
    // Lengths of arrays are below 2⁶³, since their bytes are.
    let lengths: Vec<i64> = array.shape.iter().map(|&length| length as i64).collect();
    let mut strides = vec![1; lengths.len()];
    for index in (1..lengths.len()).rev() {
        strides[index - 1] = strides[index] * lengths[index].max(1);
    }
    let tensor = dlpack::Tensor {
        data: array.buffer.share() as *mut c_void,
        device: dlpack::Device { kind: dlpack::CUDA, index: array.buffer.index() as i32 },
        dimensions: lengths.len() as i32,
        data_type: dlpack::DataType { code, bits, lanes: 1 },
        shape: null_mut(),
        strides: null_mut(),
        byte_offset: 0,
    };
    let mut owner = Box::new(Owner { managed: T::of(tensor), lengths, strides, buffer: array.buffer.clone() });
    let (lengths, strides) = (owner.lengths.as_mut_ptr(), owner.strides.as_mut_ptr());
    owner.managed.tensor().shape = lengths;
    owner.managed.tensor().strides = strides;
    let owner = Box::into_raw(owner);
    // SAFETY: the box was just leaked, and nothing else refers to it.
    let managed = unsafe {
        (*owner).managed.set_owner(owner.cast());
        &raw mut (*owner).managed
    };
    // SAFETY: the name is static, and the destructor frees the structure unless someone has taken it over.
    let object = unsafe { ffi::PyCapsule_New(managed.cast(), T::NAME.as_ptr(), Some(destroy::<T>)) };
    if object.is_null() {
        // SAFETY: there is no capsule that would free it.
        unsafe { delete(managed) };
    }
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, object) }
}
