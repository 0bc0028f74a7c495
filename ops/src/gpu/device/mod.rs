//! The device as kernels see it: limits, grids, buffers, kept tables, and the check before dispatch.

mod limits;

use std::any::TypeId;
use std::hash::Hash;
use std::ops::Range;

use cubecl::device::DeviceId;
use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::cache::Cache;
pub use limits::{DeviceLimit, DeviceLimitError, Limits, Result};

/// A device to launch on: its client, and the limits that launches are planned from.
#[derive(Clone)]
pub struct GpuDevice {
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

/// A new buffer of numbers of 4 bytes.
pub fn upload<T: bytemuck::NoUninit>(device: &GpuDevice, values: &[T]) -> Handle {
    device.client.create_from_slice(bytemuck::cast_slice(values))
}

/// A device and the runtime that serves it.
type Owner = (DeviceId, TypeId);

/// Values by device and key.
pub struct DeviceCache<K, V>(Cache<(Owner, K), V>);

impl<K: Eq + Hash, V: Clone> DeviceCache<K, V> {
    pub const fn new() -> Self {
        Self(Cache::new())
    }

    /// The value of a key on a device, which `make` makes on first use; nothing is kept of an error.
    pub fn get<E>(
        &self,
        device: &GpuDevice,
        key: K,
        make: impl FnOnce() -> std::result::Result<V, E>,
    ) -> std::result::Result<V, E> {
        let service = device.client.service_id();
        self.0.try_get(((service.device, service.service), key), make)
    }
}

/// Units per cube of an elementwise kernel.
const UNITS: usize = 256;
/// Bytes of scratch memory per launch, at most.
const SCRATCH: usize = 256 << 20;
/// Rows per launch are a multiple of this, so that every buffer of 4-byte values starts at a multiple of the 256 bytes
/// that devices align bindings to.
pub const ALIGNMENT: usize = 64;
/// Elements that a kernel counts in 32 bits.
pub const MAX_ELEMENTS: usize = 1 << 31;

/// A hop in 32 bits. It is longer only where a row has one frame, which nothing follows.
pub fn hop_in_32_bits(hop: usize) -> u32 {
    hop.min(u32::MAX as usize) as u32
}

/// At least `cubes` cubes over two dimensions; kernels leave at once what is past the end.
pub fn cubes(device: &GpuDevice, cubes: usize) -> CubeCount {
    let (columns, rows) = over_two_dimensions(cubes, device.limits.cubes as usize);
    CubeCount::Static(columns, rows, 1)
}

/// The grid of a kernel with at least `count` [`cubes`] of `units` units.
pub fn grid(device: &GpuDevice, count: usize, units: u32) -> (CubeCount, CubeDim) {
    (cubes(device, count), CubeDim::new_1d(units))
}

/// The grid of a kernel with a unit per element.
pub fn elements(device: &GpuDevice, elements: usize) -> (CubeCount, CubeDim) {
    let units = UNITS.min(device.limits.units as usize);
    grid(device, elements.div_ceil(units), units as u32)
}

/// The fewest rows of at most `limit` cubes that hold `cubes`, and their length.
fn over_two_dimensions(cubes: usize, limit: usize) -> (u32, u32) {
    let rows = cubes.div_ceil(limit).max(1);
    (cubes.div_ceil(rows) as u32, rows as u32)
}

/// `rows` rows in launches: `scratch` and `largest` are the values per row in all scratch buffers together, and in the
/// largest buffer of any kind.
pub fn chunks(
    device: &GpuDevice,
    rows: usize,
    scratch: usize,
    largest: usize,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let step = rows_per_launch(scratch, largest, device.limits.buffer);
    (0..rows).step_by(step).map(move |start| start..rows.min(start + step))
}

/// Rows of a launch on a device whose buffers have `buffer` bytes.
fn rows_per_launch(scratch: usize, largest: usize, buffer: u64) -> usize {
    let elements = (buffer as usize / size_of::<f32>()).min(MAX_ELEMENTS);
    let rows = (SCRATCH / size_of::<f32>() / scratch.max(1)).min(elements / largest.max(1));
    (rows / ALIGNMENT * ALIGNMENT).max(ALIGNMENT)
}

/// Launches a kernel over a grid: `launch!(kernel(device, (cubes, units), arguments…))`.
///
/// The launch has no bounds checks, unless [`GpuDevice::bounds_checks`](super::GpuDevice::bounds_checks) is set. The
/// call is therefore in an `unsafe` block, whose comment says why every index is within its buffer and every loop ends.
/// `tests/bounds.rs` fails for a kernel whose results were not compared with and without them.
macro_rules! launch {
    ($($kernel:ident)::+ ($device:expr, $grid:expr, $($argument:expr),* $(,)?)) => {{
        let (client, (cubes, units)) = (&$device.client, $grid);
        #[cfg(test)]
        $crate::gpu::tests::launched::record(stringify!($($kernel)::+), $device.bounds_checks);
        if $device.bounds_checks {
            $($kernel)::+::launch(client, cubes, units, $($argument),*)
        } else {
            $($kernel)::+::launch_unchecked(client, cubes, units, $($argument),*)
        }
    }};
}
pub(in crate::gpu) use launch;

/// Launches a kernel that checks its indices: `launch_checked!(kernel(device, (cubes, units), arguments…))`.
macro_rules! launch_checked {
    ($($kernel:ident)::+ ($device:expr, $grid:expr, $($argument:expr),* $(,)?)) => {{
        let (cubes, units) = $grid;
        $($kernel)::+::launch(&$device.client, cubes, units, $($argument),*)
    }};
}
pub(in crate::gpu) use launch_checked;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_cubes_fits_a_grid() {
        assert_eq!(over_two_dimensions(65_535, 65_535), (65_535, 1));
        assert_eq!(over_two_dimensions(65_536, 65_535), (32_768, 2));
        for cubes in [1, 204_800, 1_048_576, 40_000_000] {
            let (columns, rows) = over_two_dimensions(cubes, 65_535);
            assert!(columns <= 65_535 && rows <= 65_535 && columns as usize * rows as usize >= cubes, "{cubes}");
            assert!((columns as usize - 1) * (rows as usize) < cubes, "{cubes}: a column too many");
        }
    }

    #[test]
    fn launches_keep_to_the_largest_buffer() {
        assert_eq!(rows_per_launch(1024, 1024, 1 << 40), SCRATCH / 4096);
        assert_eq!(rows_per_launch(1, 1024, 1 << 20), 256);
        assert_eq!(rows_per_launch(1 << 20, 1 << 20, 1 << 20), ALIGNMENT);
    }
}
