//! The C functions of `include/firefly.h`, which describes them.
#![allow(missing_docs, reason = "the header has the documentation")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null;
use std::sync::Arc;

use burn::tensor::DType;

use crate::plan::Plan;
use crate::{Array, Call, InteropError, operation, plans};

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Keeps the message of an error for `firefly_error`.
pub(crate) fn note(error: &InteropError) {
    let text = error.to_string().replace('\0', " ");
    LAST_ERROR.with(|last| *last.borrow_mut() = CString::new(text).unwrap_or_default());
}

/// As `firefly_array`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FireflyArray {
    pub address: u64,
    pub shape: *const i64,
    pub strides: *const i64,
    pub dimensions: u32,
}

#[unsafe(no_mangle)]
pub extern "C" fn firefly_error() -> *const c_char {
    LAST_ERROR.with(|last| last.borrow().as_ptr())
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_plan(
    operation: *const c_char,
    device: u32,
    inputs: *const FireflyArray,
    count: u32,
) -> *const Plan {
    // SAFETY: the caller's.
    let plan = unsafe { text(operation) }.and_then(|operation| {
        // SAFETY: the caller's.
        let arrays = unsafe { slice(inputs, count) };
        // SAFETY: the caller's.
        let inputs: Vec<Array> = arrays.iter().map(|array| unsafe { array.array() }).collect();
        plans::plan(&Call { operation, device, inputs: &inputs })
    });
    plan.inspect_err(note).map_or(null(), Arc::into_raw)
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_plan_free(plan: *const Plan) {
    if !plan.is_null() {
        // SAFETY: `firefly_plan` made it, and the caller frees it once.
        drop(unsafe { Arc::from_raw(plan) });
    }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_plan_workspace(plan: *const Plan) -> u64 {
    // SAFETY: the caller's.
    unsafe { &*plan }.workspace
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_plan_outputs(plan: *const Plan) -> u32 {
    // SAFETY: the caller's.
    unsafe { &*plan }.outputs.len() as u32
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_plan_output(
    plan: *const Plan,
    index: u32,
    shape: *mut i64,
    room: u32,
    dtype: *mut u32,
) -> i32 {
    // SAFETY: the caller's.
    let outputs = &unsafe { &*plan }.outputs;
    let Some(output) = outputs.get(index as usize) else { return -1 };
    for (dim, &length) in output.shape.iter().take(room as usize).enumerate() {
        // SAFETY: the caller has this room.
        unsafe { *shape.add(dim) = length };
    }
    let code = match output.dtype {
        DType::I32 => 1,
        DType::I64 => 2,
        _ => 0,
    };
    // SAFETY: the caller's.
    unsafe { *dtype = code };
    output.shape.len() as i32
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_plan_launch(
    plan: *const Plan,
    inputs: *const u64,
    outputs: *const u64,
    workspace: u64,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the caller's.
    let plan = unsafe { &*plan };
    // SAFETY: the caller's.
    let (inputs, outputs) = unsafe { (slice(inputs, plan.inputs as u32), slice(outputs, plan.outputs.len() as u32)) };
    // SAFETY: the caller's.
    let launched = unsafe { plan.launch(inputs, outputs, workspace, stream) };
    i32::from(launched.inspect_err(note).is_err())
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_gradient(
    operation: *const c_char,
    needed: u8,
    width: u64,
    buffer: *mut c_char,
    room: u64,
) -> i32 {
    // SAFETY: the caller's.
    let gradient = unsafe { text(operation) }
        .and_then(operation::parse)
        .map(|operation| operation::gradient(operation, needed, width as usize));
    // SAFETY: the caller's.
    unsafe { write(gradient, buffer, room) }
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_outputs(
    operation: *const c_char,
    inputs: *const FireflyArray,
    count: u32,
    dtype: u32,
    buffer: *mut c_char,
    room: u64,
) -> i32 {
    // SAFETY: the caller's.
    let outputs = unsafe { text(operation) }.and_then(|operation| {
        // SAFETY: the caller's.
        let (arrays, shape) = unsafe { (slice(inputs, count), |of: &FireflyArray| slice(of.shape, of.dimensions)) };
        let shapes: Vec<&[i64]> = arrays.iter().map(shape).collect();
        operation::outputs(operation, &shapes, if dtype == 3 { DType::F64 } else { DType::F32 })
    });
    // SAFETY: the caller's.
    unsafe { write(outputs, buffer, room) }
}

/// Writes a text with a zero at its end if there is room for all, and returns its length, or −1 for an error.
///
/// # Safety
/// The buffer has this room.
unsafe fn write(text: Result<String, InteropError>, buffer: *mut c_char, room: u64) -> i32 {
    let Ok(bytes) = text.inspect_err(note).map(String::into_bytes) else { return -1 };
    if (bytes.len() as u64) < room {
        for (at, byte) in bytes.iter().chain(&[0]).enumerate() {
            // SAFETY: the caller has this room.
            unsafe { *buffer.add(at) = *byte as c_char };
        }
    }
    bytes.len() as i32
}

/// A text in UTF-8.
///
/// # Safety
/// The pointer is null, or of a text that ends in a zero and outlives the result.
unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str, InteropError> {
    if pointer.is_null() {
        return Err(InteropError::Operation(String::new()));
    }
    // SAFETY: the caller's.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| InteropError::Operation(text.to_string_lossy().into_owned()))
}

/// Values at a pointer, which may be null where there are none.
///
/// # Safety
/// There are as many values, and they outlive the result.
unsafe fn slice<'a, T>(pointer: *const T, count: u32) -> &'a [T] {
    // SAFETY: the caller's.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(pointer, count as usize) } }
}

impl FireflyArray {
    /// # Safety
    /// Shape and strides have as many numbers as there are dimensions, and outlive the result.
    unsafe fn array<'a>(&self) -> Array<'a> {
        // SAFETY: the caller's.
        let (shape, strides) = unsafe { (slice(self.shape, self.dimensions), slice(self.strides, self.dimensions)) };
        Array { address: self.address, shape, strides, dtype: DType::F32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gradient(operation: &CStr, room: u64) -> (i32, String) {
        let mut buffer = [1 as c_char; 64];
        // SAFETY: the buffer has more than this room.
        let length = unsafe { firefly_gradient(operation.as_ptr(), 1, 9, buffer.as_mut_ptr(), room) };
        let bytes: Vec<u8> = buffer.iter().map(|&byte| byte as u8).take_while(|&byte| byte > 1).collect();
        (length, String::from_utf8(bytes).expect("names are ASCII"))
    }

    #[test]
    fn text_is_written_where_there_is_room() {
        assert_eq!(gradient(c"top_k 2 0", 64), (10, "selected 9".into()));
        assert_eq!(gradient(c"top_k 2 0", 10), (10, String::new()));
    }

    #[test]
    fn errors_are_kept_for_the_thread() {
        assert_eq!(gradient(c"top", 64).0, -1);
        // SAFETY: the text is that of this thread's last error.
        let error = unsafe { CStr::from_ptr(firefly_error()) };
        assert_eq!(error.to_str(), Ok("`top` is no operation with its options"));
    }
}
