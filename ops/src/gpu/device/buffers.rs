//! Buffers as kernel arguments.

use cubecl::prelude::*;
use cubecl::server::Handle;

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

/// A new buffer of `len` f32, uninitialised.
pub fn empty(client: &Client, len: usize) -> Handle {
    client.empty(len * size_of::<f32>())
}

/// The rows from `row` on of a buffer whose rows are `length` values of 4 bytes long.
pub fn from_row(handle: &Handle, row: usize, length: usize) -> Handle {
    handle.clone().offset_start((row * length * size_of::<f32>()) as u64)
}
