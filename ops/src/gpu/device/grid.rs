//! Work spread over a device's grid, batches over launches, and the macro that launches kernels without bounds checks.

use std::ops::Range;

use cubecl::prelude::*;

use super::GpuDevice;

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

/// The grid of a kernel with a unit per element, and its cubes.
pub fn elements(device: &GpuDevice, elements: usize) -> (CubeCount, CubeDim) {
    let units = UNITS.min(device.limits.units as usize);
    (cubes(device, elements.div_ceil(units)), CubeDim::new_1d(units as u32))
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

/// Launches a kernel: `launch!(device, kernel(client, cubes, units, arguments…))`.
///
/// The launch has no bounds checks, unless [`GpuDevice::bounds_checks`](super::GpuDevice::bounds_checks) is set. The
/// call is therefore in an `unsafe` block, whose comment says why every index is within its buffer and every loop ends.
/// `tests/bounds.rs` fails for a kernel whose results were not compared with and without them.
macro_rules! launch {
    ($device:expr, $($kernel:ident)::+ ($($argument:expr),* $(,)?)) => {{
        #[cfg(test)]
        $crate::gpu::tests::launched::record(stringify!($($kernel)::+), $device.bounds_checks);
        if $device.bounds_checks {
            $($kernel)::+::launch($($argument),*)
        } else {
            $($kernel)::+::launch_unchecked($($argument),*)
        }
    }};
}
pub(in crate::gpu) use launch;

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
