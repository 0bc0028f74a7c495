//! The device as kernels see it: limits, grids, buffers, kept tables, and the check before dispatch.

mod grid;
mod limits;

use std::any::TypeId;
use std::hash::Hash;

use cubecl::device::DeviceId;
use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::cache::Cache;
pub use grid::MAX_ELEMENTS;
pub(super) use grid::{ALIGNMENT, chunks, cubes, elements, hop_in_32_bits, launch};
pub use limits::{DeviceLimit, DeviceLimitError, Limits};

/// A device to launch on: its client, and the limits that launches are planned from.
#[derive(Clone)]
pub struct GpuDevice {
    /// The queue that kernels are launched on.
    pub client: Client,
    /// The limits of the device. Tests lower them.
    pub limits: Limits,
    /// Whether every kernel checks its indices, so that an access out of bounds reads 0 and writes nothing. Tests set
    /// it, to compare the bits of both.
    pub bounds_checks: bool,
}

impl GpuDevice {
    /// The device of a client, with the limits it reports and without bounds checks.
    pub fn of(client: &Client) -> Self {
        Self { client: client.clone(), limits: Limits::of(client), bounds_checks: false }
    }
}

/// `len` elements of type `T` at the start of a handle.
///
/// # Panics
/// If the handle is shorter.
pub fn buffer<T>(handle: &Handle, len: usize) -> BufferArg {
    let (needed, size) = ((len * size_of::<T>()) as u64, handle.size_in_used());
    assert!(needed <= size, "a buffer of {size} bytes is used as one of {needed}");
    // SAFETY: the handle holds that many elements, as was just checked.
    unsafe { BufferArg::from_raw_parts(handle.clone(), len) }
}

/// [`buffer`] of f32.
pub fn floats(handle: &Handle, len: usize) -> BufferArg {
    buffer::<f32>(handle, len)
}

/// `len` f32 two at a time, if they are pairs at the alignment of pairs.
pub fn pairs(handle: &Handle, len: usize) -> Option<BufferArg> {
    let offset = handle.offset_start.unwrap_or(0) as usize;
    let is_paired = len.is_multiple_of(2) && offset.is_multiple_of(size_of::<[f32; 2]>());
    is_paired.then(|| buffer::<[f32; 2]>(handle, len / 2))
}

/// A new buffer of `len` f32, uninitialised.
pub fn empty(client: &Client, len: usize) -> Handle {
    client.empty(len * size_of::<f32>())
}

/// The rows from `row` on of a buffer whose rows are `length` values of 4 bytes long.
pub fn from_row(handle: &Handle, row: usize, length: usize) -> Handle {
    handle.clone().offset_start((row * length * size_of::<f32>()) as u64)
}

/// A new buffer of numbers of 4 bytes.
pub fn upload<T: bytemuck::NoUninit>(device: &GpuDevice, values: &[T]) -> Handle {
    device.client.create_from_slice(bytemuck::cast_slice(values))
}

/// A device and the runtime that serves it.
type Owner = (DeviceId, TypeId);

/// Values by device and key.
pub struct DeviceCache<K, V>(Cache<(Owner, K), V>);

impl<K: Eq + Hash, V: Clone> DeviceCache<K, V> {
    /// An empty cache.
    pub const fn new() -> Self {
        Self(Cache::new())
    }

    /// The value of a key on a device, which `make` makes on first use; nothing is kept of an error.
    pub fn get<E>(&self, device: &GpuDevice, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let service = device.client.service_id();
        self.0.try_get(((service.device, service.service), key), make)
    }
}
