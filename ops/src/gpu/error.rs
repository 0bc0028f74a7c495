//! Why a kernel can't run on a device.

use thiserror::Error;

/// Something an operation needs more of than the device has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{operation} needs {needed} bytes for {what}; the device has {available} for one buffer")]
pub struct KernelError {
    /// The operation.
    pub operation: &'static str,
    /// What is too large.
    pub what: &'static str,
    /// Bytes it takes.
    pub needed: u64,
    /// Bytes a buffer of the device can have.
    pub available: u64,
}
