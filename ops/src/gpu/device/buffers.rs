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
