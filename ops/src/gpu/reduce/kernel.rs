//! Sums of a few rows per unit, and the search for rows that are not all zero.

use cubecl::prelude::*;

/// Rows that one unit adds.
pub(super) const FAN_IN: usize = 16;
/// Units that search one row.
pub(super) const SEARCH_UNITS: u32 = 32;
/// Rows that a cube searches.
pub(super) const SEARCH_ROWS: u32 = 4;

/// Blocks of rows as a kernel argument.
#[derive(CubeType, CubeLaunch)]
pub struct RowBlockShape {
    /// Number of blocks.
    pub count: u32,
    /// Rows of a block; the last one may have fewer.
    pub length: u32,
}

/// Adds each `FAN_IN` of the `count` rows, in order: a unit per column of a sum.
#[cube(launch)]
pub(super) fn add_rows(
    rows: &[f32],
    into: &mut [f32],
    count: u32,
    width: u32,
    groups: u32,
    #[comptime] accumulate: bool,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= groups * width {
        terminate!();
    }
    // Adjacent units take adjacent columns; a sum that accumulates goes on from what is there.
    let (group, column) = (at / width, at % width);
    let mut sum = 0.0f32;
    if comptime!(accumulate) {
        sum = into[at as usize];
    }
    // Few rows per unit, in order: a tree of such levels fills the device, and its bits follow from the shapes alone.
    let first = group * comptime!(FAN_IN as u32);
    for row in first..min(first + comptime!(FAN_IN as u32), count) {
        sum += rows[(row * width + column) as usize];
    }
    into[at as usize] = sum;
}

/// Marks the rows of `first` or `second` that have a value other than 0: `SEARCH_UNITS` units per row.
#[cube(launch)]
pub(super) fn find_active(first: &[f32], second: &[f32], active: &mut [u32], rows: u32, length: u32) {
    let row = CUBE_POS as u32 * SEARCH_ROWS + UNIT_POS / SEARCH_UNITS;
    let unit = UNIT_POS % SEARCH_UNITS;
    let mut found = Shared::<[u32]>::new_slice(comptime!((SEARCH_UNITS * SEARCH_ROWS) as usize));
    // Each unit searches a share of its row.
    let mut any = 0u32;
    if row < rows {
        for at in range_stepped(unit, length, SEARCH_UNITS) {
            let at = row as usize * length as usize + at as usize;
            // The bits without the sign: under fast-math, a comparison of floats may miss NaN.
            let bits = (u32::reinterpret(first[at]) | u32::reinterpret(second[at])) << 1u32;
            if bits != 0u32 {
                any = 1u32;
            }
        }
    }
    found[UNIT_POS as usize] = any;
    sync_cube();
    // The first unit of a row combines them.
    if unit == 0u32 && row < rows {
        let mut all = 0u32;
        for other in 0..SEARCH_UNITS {
            all |= found[(UNIT_POS + other) as usize];
        }
        active[row as usize] = all;
    }
}
