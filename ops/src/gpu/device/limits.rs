//! The limits of a device that plans are made from, and the error of a kernel that needs more.

use std::fmt;

use cubecl::client::Client;
use cubecl::ir::features::Plane;
use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Units of a plane (warp, subgroup), where planes have one size and exchange values.
    pub plane: Option<u32>,
    /// Whether a plane has a barrier of its own.
    pub plane_barrier: bool,
    /// Units of a cube (block, workgroup).
    pub units: u32,
    /// Bytes of shared memory of a cube.
    pub shared: usize,
    /// Cubes of the first dimension of a grid.
    pub cubes: u32,
    /// Multiprocessors, where the device reports them; CUDA devices do.
    pub processors: Option<u32>,
    /// Bytes of one buffer.
    pub buffer: u64,
}

impl Limits {
    pub fn of(client: &Client) -> Self {
        let properties = client.properties();
        let hardware = &properties.hardware;
        let planes = client.features().plane;
        let fixed = hardware.plane_size_min == hardware.plane_size_max && planes.contains(Plane::Ops);
        Self {
            plane: fixed.then_some(hardware.plane_size_max),
            plane_barrier: planes.contains(Plane::Sync),
            units: hardware.max_units_per_cube.min(hardware.max_cube_dim.0),
            shared: hardware.max_shared_memory_size,
            cubes: hardware.max_cube_count.0,
            processors: hardware.num_streaming_multiprocessors,
            buffer: properties.memory.max_page_size,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceLimit {
    SharedMemory,
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
    pub limit: DeviceLimit,
    pub needed: u64,
    pub available: u64,
}

/// What a plan or a launch yields, unless a limit of the device is too low.
pub type Result<T> = std::result::Result<T, DeviceLimitError>;

impl DeviceLimitError {
    /// `Ok` where `available` is at least `needed`, else the error.
    pub fn unless(limit: DeviceLimit, needed: usize, available: usize) -> Result<()> {
        let enough = needed <= available;
        if enough { Ok(()) } else { Err(Self { limit, needed: needed as u64, available: available as u64 }) }
    }
}
