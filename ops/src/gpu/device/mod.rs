//! The device as kernels see it: limits, grids, buffers, kept tables, and the check before dispatch.

mod buffers;
mod grid;
mod limits;

use cubecl::client::Client;

pub(super) use buffers::{DeviceCache, buffer, empty, floats, from_row, pairs, upload};
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
