//! Work spread over a device's grid, and batches over launches.

use std::ops::Range;

use cubecl::prelude::*;

use super::GpuDevice;

/// Units per cube of an elementwise kernel.
const UNITS: usize = 256;
/// Bytes of scratch memory per launch, at most.
pub(super) const SCRATCH: usize = 256 << 20;
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

/// The grid of a kernel with a unit per element, and its cubes.
pub fn elements(device: &GpuDevice, elements: usize) -> (CubeCount, CubeDim) {
    let units = UNITS.min(device.limits.units as usize);
    (cubes(device, elements.div_ceil(units)), CubeDim::new_1d(units as u32))
}

/// The fewest rows of at most `limit` cubes that hold `cubes`, and their length.
pub(super) fn over_two_dimensions(cubes: usize, limit: usize) -> (u32, u32) {
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
pub(super) fn rows_per_launch(scratch: usize, largest: usize, buffer: u64) -> usize {
    let elements = (buffer as usize / size_of::<f32>()).min(MAX_ELEMENTS);
    let rows = (SCRATCH / size_of::<f32>() / scratch.max(1)).min(elements / largest.max(1));
    (rows / ALIGNMENT * ALIGNMENT).max(ALIGNMENT)
}
