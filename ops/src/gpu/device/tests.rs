//! Grids and batches follow from limits alone.

use super::grid::{ALIGNMENT, SCRATCH, over_two_dimensions, rows_per_launch};

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
