//! The structures of DLPack 1.0 (<https://dmlc.github.io/dlpack/latest/c_api.html>).

use std::ffi::{CStr, c_void};

/// DLPack's number of the host's memory.
pub const CPU: i32 = 1;
/// DLPack's number of the memory of a CUDA device.
pub const CUDA: i32 = 2;
/// DLPack's number of memory that CUDA moves between host and device.
pub const CUDA_MANAGED: i32 = 13;

/// DLPack's number of signed integers.
pub const INTEGER: u8 = 0;
/// DLPack's number of unsigned integers.
pub const UNSIGNED: u8 = 1;
/// DLPack's number of IEEE floats.
pub const FLOAT: u8 = 2;
/// DLPack's number of bfloat16.
pub const BFLOAT: u8 = 4;
/// DLPack's number of complex values.
pub const COMPLEX: u8 = 5;
/// DLPack's number of booleans.
pub const BOOLEAN: u8 = 6;

/// Names of a capsule before and after its tensor was taken over, of DLPack before version 1 and from it on.
pub const NAME: &CStr = c"dltensor";
pub const VERSIONED_NAME: &CStr = c"dltensor_versioned";

/// Kind of memory, and index among the devices of the kind.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    pub kind: i32,
    pub index: i32,
}

/// Type of the values.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

/// Values in memory that something else owns. Strides are in values, and may be null for contiguous ones.
#[repr(C)]
#[derive(Debug)]
pub struct Tensor {
    pub data: *mut c_void,
    pub device: Device,
    pub dimensions: i32,
    pub data_type: DataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// Tensor with its owner, before version 1.
#[repr(C)]
pub struct Managed {
    pub tensor: Tensor,
    pub owner: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// Version of the structures.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

/// Tensor with its owner, from version 1 on.
#[repr(C)]
pub struct VersionedManaged {
    pub version: Version,
    pub owner: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut VersionedManaged)>,
    pub flags: u64,
    pub tensor: Tensor,
}
