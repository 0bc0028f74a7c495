//! Pinned memory: host memory that a device reads by itself.

use std::mem::MaybeUninit;

use burn::tensor::{DType, Device, Shape, TensorData};
use burn_std::{AccessError, AccessPolicy, AllocationController, AllocationProperty, Bytes};

/// A length without memory. Moving it to pinned memory copies nothing.
struct Unallocated {
    len: usize,
}

impl AllocationController for Unallocated {
    fn alloc_align(&self) -> usize {
        align_of::<u128>()
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Other
    }

    unsafe fn memory_mut(&mut self, _policy: AccessPolicy) -> Result<&mut [MaybeUninit<u8>], AccessError> {
        Err(AccessError::WouldCopy)
    }

    fn memory(&self, _policy: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        Err(AccessError::WouldCopy)
    }

    fn capacity(&self) -> usize {
        self.len
    }

    unsafe fn copy_into(&self, _buf: &mut [u8]) {}
}

/// Values in pinned memory of `device`, with unspecified contents until they are written; none if it has no such memory.
pub(crate) fn pinned_values(device: &Device, shape: impl Into<Shape>, dtype: DType) -> Option<TensorData> {
    let shape = shape.into();
    let len = shape.num_elements() * dtype.size();
    // SAFETY: the bytes can't be reached: access to the memory is an error, `copy_into` leaves the initialised bytes of
    // its destination as they are, and nothing splits or duplicates an `Unallocated`.
    let bytes = unsafe { Bytes::from_controller(Box::new(Unallocated { len }), len) };
    let mut data = TensorData::from_bytes(bytes, shape, dtype);
    device.staging(std::iter::once(&mut data));
    (data.bytes().property() == AllocationProperty::Pinned).then_some(data)
}
