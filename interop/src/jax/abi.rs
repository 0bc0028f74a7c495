//! The C structures of XLA's foreign function interface, after its header `xla/ffi/api/c_api.h` of version 0.3.
//!
//! Every structure begins with its size, since minor versions add fields at the ends.

use std::ffi::{CStr, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;

use burn::tensor::DType;

/// Minor version of the structures.
pub(super) const MINOR: i32 = 3;
/// Kind of an extension by which XLA asks for a handler's properties.
pub(super) const EXTENSION_METADATA: i32 = 1;
/// Stage of a call that computes.
pub(super) const STAGE_EXECUTE: i32 = 3;
/// Kind of an attribute that is text.
pub(super) const STRING: i32 = 4;
/// Code of internal errors.
const INTERNAL: u64 = 13;

/// An error, which its receiver destroys.
#[repr(C)]
pub struct XlaError([u8; 0]);

/// Any function of the interface, on the structure of its arguments.
pub(super) type Function = Option<unsafe extern "C" fn(*mut c_void) -> *mut XlaError>;

/// An extension, which has the last field if it asks for properties.
#[repr(C)]
pub(super) struct Extension {
    size: usize,
    pub kind: i32,
    next: *mut Extension,
    pub metadata: *mut Metadata,
}

/// The beginning of a structure: its size, and extensions of it.
#[repr(C)]
struct Head {
    size: usize,
    extension: *mut Extension,
}

#[repr(C)]
pub(super) struct Version {
    head: Head,
    pub numbers: [i32; 2],
}

/// XLA's functions, in the order of the header; those that are not called have no names.
#[repr(C)]
pub(super) struct Api {
    head: Head,
    pub version: Version,
    internal: *const c_void,
    error_create: Function,
    error_get_message: Function,
    error_destroy: Function,
    registration: Function,
    pub stream_get: Function,
    state: [Function; 4],
    pub allocate: Function,
    pub free: Function,
    threads: [Function; 6],
    pub device_ordinal_get: Function,
}

/// Arguments or results.
#[repr(C)]
pub(super) struct List {
    head: Head,
    pub count: i64,
    kinds: *const i32,
    pub values: *const *const Buffer,
}

#[repr(C)]
pub(super) struct Attributes {
    head: Head,
    pub count: i64,
    pub kinds: *const i32,
    pub names: *const *const Text,
    pub values: *const *const c_void,
}

/// Text without a zero at its end.
#[repr(C)]
pub(super) struct Text {
    start: *const u8,
    length: usize,
}

/// Codes of complex values, whose parts are of f32 and f64.
const COMPLEX: [i32; 2] = [15, 18];

/// A contiguous array.
#[repr(C)]
pub(super) struct Buffer {
    head: Head,
    dtype: i32,
    pub data: *mut c_void,
    rank: i64,
    shape: *const i64,
}

/// A call of a handler.
#[repr(C)]
pub struct CallFrame {
    size: usize,
    pub(super) extension: *mut Extension,
    pub(super) api: *const Api,
    pub(super) context: *mut c_void,
    pub(super) stage: i32,
    pub(super) arguments: List,
    pub(super) results: List,
    pub(super) attributes: Attributes,
    future: *mut c_void,
}

/// Properties of a handler. Later fields keep XLA's values.
#[repr(C)]
pub(super) struct Metadata {
    size: usize,
    pub version: Version,
    pub traits: u32,
}

impl Text {
    /// The text, if it is UTF-8.
    pub fn get(&self) -> Option<&str> {
        // SAFETY: XLA's texts have as many bytes.
        std::str::from_utf8(unsafe { std::slice::from_raw_parts(self.start, self.length) }).ok()
    }
}

impl Buffer {
    /// Type of the values, of complex ones that of their parts, if operations have it.
    pub fn dtype(&self) -> Option<DType> {
        let complex = [(COMPLEX[0], DType::F32), (COMPLEX[1], DType::F64)];
        let mut known =
            [(11, DType::F32), (12, DType::F64), (4, DType::I32), (5, DType::I64)].into_iter().chain(complex);
        known.find_map(|(code, dtype)| (code == self.dtype).then_some(dtype))
    }

    /// Length of each dimension, the last one that of the two parts of complex values.
    pub fn shape(&self) -> Vec<i64> {
        // SAFETY: XLA's buffers have as many lengths as dimensions.
        let lengths = (0..self.rank as usize).map(|dim| unsafe { *self.shape.add(dim) });
        lengths.chain(COMPLEX.contains(&self.dtype).then_some(2)).collect()
    }
}

impl Api {
    /// Whether all functions are there: before version 0.2 some are missing.
    pub fn is_complete(&self) -> bool {
        self.head.size >= offset_of!(Api, device_ordinal_get) + size_of::<Function>()
    }

    /// Calls a function, and returns the fields of its arguments with those that it has written. A field of 32 bits is
    /// the lower half of its word, which XLA's processors store first.
    ///
    /// # Errors
    /// XLA's message.
    ///
    /// # Safety
    /// The function takes a structure of these fields behind size and extension.
    pub unsafe fn call<const N: usize>(&self, function: Function, fields: [u64; N]) -> Result<[u64; N], String> {
        // SAFETY: the caller's.
        match unsafe { called(function, fields) } {
            (error, fields) if error.is_null() => Ok(fields),
            // SAFETY: the error is owned; its message is copied before it is destroyed.
            (error, _) => unsafe {
                let error = error as u64;
                let [_, text] = called(self.error_get_message, [error, c"an error of XLA".as_ptr() as u64]).1;
                let message = CStr::from_ptr(text as *const _).to_string_lossy().into_owned();
                called(self.error_destroy, [error]);
                Err(message)
            },
        }
    }

    /// A new error.
    pub fn error(&self, message: &CStr) -> *mut XlaError {
        // SAFETY: the function has these fields, and copies the message.
        unsafe { called(self.error_create, [message.as_ptr() as u64, INTERNAL]).0 }
    }
}

/// # Safety
/// As [`Api::call`].
unsafe fn called<const N: usize>(function: Function, fields: [u64; N]) -> (*mut XlaError, [u64; N]) {
    #[repr(C)]
    struct Arguments<const N: usize> {
        head: Head,
        fields: [u64; N],
    }
    let mut arguments = Arguments { head: Head { size: size_of::<Arguments<N>>(), extension: null_mut() }, fields };
    // SAFETY: the caller's.
    let error = function.map_or(null_mut(), |function| unsafe { function((&raw mut arguments).cast()) });
    (error, arguments.fields)
}
