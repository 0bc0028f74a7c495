//! The error of a kernel that a device can't run.

use std::fmt;

use thiserror::Error;

/// A limit of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceLimit {
    /// Bytes of shared memory of a cube.
    SharedMemory,
    /// Units of a cube.
    UnitsPerCube,
    /// Elements of the rows of one launch, which kernels count in 32 bits.
    LaunchElements,
}

impl fmt::Display for DeviceLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SharedMemory => "bytes of shared memory per cube",
            Self::UnitsPerCube => "units per cube",
            Self::LaunchElements => "elements per launch",
        })
    }
}

/// A device has less of something than a kernel needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{needed} {limit} are needed, there are {available}")]
pub struct DeviceLimitError {
    /// The limit.
    pub limit: DeviceLimit,
    /// The amount that the kernel needs.
    pub needed: u64,
    /// The amount that the device has.
    pub available: u64,
}

impl DeviceLimitError {
    /// `Ok` where `available` is at least `needed`, else the error.
    pub fn unless(limit: DeviceLimit, needed: usize, available: usize) -> Result<(), Self> {
        let enough = needed <= available;
        if enough { Ok(()) } else { Err(Self { limit, needed: needed as u64, available: available as u64 }) }
    }
}
