//! The device as kernels see it: limits, grids, buffers, cached tables, and the check before dispatch.

mod buffers;
mod checked;
mod grid;
mod limit_error;
mod limits;
mod table_cache;
#[cfg(test)]
mod tests;

use cubecl::client::Client;

pub(super) use buffers::{buffer, empty, floats, from_row};
#[cfg(any(test, feature = "testing"))]
pub use checked::set_bounds_checks;
pub(super) use checked::{bounds_checked, launch};
pub(super) use grid::{chunks, cubes, elements};
pub(super) use grid::{ALIGNMENT, MAX_ELEMENTS};
pub use limit_error::{DeviceLimit, DeviceLimitError};
pub use limits::Limits;
pub(super) use table_cache::cached;

/// A device to launch on: its client, and the limits that launches are planned from.
#[derive(Debug, Clone)]
pub struct GpuDevice {
    /// The queue that kernels are launched on.
    pub client: Client,
    /// The limits of the device. Tests lower them.
    pub limits: Limits,
}

impl GpuDevice {
    /// The device of a client, with all that it has.
    pub fn of(client: &Client) -> Self {
        Self { client: client.clone(), limits: Limits::of(client) }
    }
}
