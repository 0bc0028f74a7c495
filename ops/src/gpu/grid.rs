//! How work is spread over a device's grid, and batches over launches.

use std::ops::Range;

use cubecl::prelude::*;

use super::limits::Limits;

/// Units of a cube that works element by element.
const UNITS: usize = 256;
/// Bytes of scratch that one launch may take.
const SCRATCH: usize = 256 << 20;
/// Rows are cut where every buffer of 4-byte values starts at a multiple of what devices ask for, 256 bytes.
const ALIGNMENT: usize = 64;

/// At least `cubes` cubes over two dimensions; kernels leave what is past the end.
pub(super) fn cubes(client: &Client, cubes: usize) -> CubeCount {
    let (columns, rows) = over_two(cubes, Limits::of(client).cubes as usize);
    CubeCount::Static(columns, rows, 1)
}

/// The grid of a kernel with a unit an element, and its cubes.
pub(super) fn elements(client: &Client, elements: usize) -> (CubeCount, CubeDim) {
    let units = UNITS.min(Limits::of(client).units as usize);
    (cubes(client, elements.div_ceil(units)), CubeDim::new_1d(units as u32))
}

fn over_two(cubes: usize, limit: usize) -> (u32, u32) {
    let rows = cubes.div_ceil(limit).max(1);
    (cubes.div_ceil(rows) as u32, rows as u32)
}

/// Cuts `rows` rows into launches: `scratch` and `largest` are the values a row takes in all scratch buffers together
/// and in the largest buffer of any kind.
pub(super) fn chunks(
    client: &Client,
    rows: usize,
    scratch: usize,
    largest: usize,
) -> impl Iterator<Item = Range<usize>> {
    let step = rows_at_once(scratch, largest, Limits::of(client).buffer);
    (0..rows).step_by(step).map(move |start| start..rows.min(start + step))
}

fn rows_at_once(scratch: usize, largest: usize, buffer: u64) -> usize {
    // Kernels count elements in 32 bits.
    let elements = (buffer as usize / size_of::<f32>()).min(1 << 31);
    let rows = (SCRATCH / size_of::<f32>() / scratch.max(1)).min(elements / largest.max(1));
    (rows / ALIGNMENT * ALIGNMENT).max(ALIGNMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_cubes_fits_a_grid() {
        assert_eq!(over_two(65_535, 65_535), (65_535, 1));
        assert_eq!(over_two(65_536, 65_535), (32_768, 2));
        for cubes in [1, 204_800, 1_048_576, 40_000_000] {
            let (columns, rows) = over_two(cubes, 65_535);
            assert!(columns <= 65_535 && rows <= 65_535 && columns as usize * rows as usize >= cubes, "{cubes}");
            assert!((columns as usize - 1) * (rows as usize) < cubes, "{cubes}: a column too many");
        }
    }

    #[test]
    fn launches_keep_to_the_largest_buffer() {
        assert_eq!(rows_at_once(1024, 1024, 1 << 40), SCRATCH / 4096);
        assert_eq!(rows_at_once(1, 1024, 1 << 20), 256);
        assert_eq!(rows_at_once(1 << 20, 1 << 20, 1 << 20), ALIGNMENT);
    }
}
