//! Which rows have a gradient at all: the others must give 0, also where their samples are not finite.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::buffers::{buffer, floats};
use super::grid;

/// Units that look through one row.
const UNITS: u32 = 32;
/// Rows of a cube.
const ROWS: u32 = 4;

/// For every row, 1 where a value of one of the two `parts` (`[rows, length]` each) is not 0, else 0.
pub(super) fn active_rows(client: &Client, parts: &[&Handle; 2], rows: usize, length: usize) -> Handle {
    let active = client.empty(rows.max(1) * size_of::<u32>());
    find::launch(
        client,
        grid::cubes(client, rows.div_ceil(ROWS as usize)),
        CubeDim::new_1d(UNITS * ROWS),
        floats(parts[0], rows * length),
        floats(parts[1], rows * length),
        buffer::<u32>(&active, rows),
        rows as u32,
        length as u32,
    );
    active
}

#[cube(launch)]
fn find(first: &[f32], second: &[f32], active: &mut [u32], rows: u32, length: u32) {
    let row = CUBE_POS as u32 * ROWS + UNIT_POS / UNITS;
    let unit = UNIT_POS % UNITS;
    let mut found = Shared::<[u32]>::new_slice(comptime!((UNITS * ROWS) as usize));
    let mut any = 0u32;
    if row < rows {
        for at in range_stepped(unit, length, UNITS) {
            let at = row as usize * length as usize + at as usize;
            // Bits without the sign: a compiler may take floats for numbers.
            let bits = (u32::reinterpret(first[at]) | u32::reinterpret(second[at])) << 1u32;
            if bits != 0u32 {
                any = 1u32;
            }
        }
    }
    found[UNIT_POS as usize] = any;
    sync_cube();
    if unit == 0u32 && row < rows {
        let mut all = 0u32;
        for other in 0..UNITS {
            all |= found[(UNIT_POS + other) as usize];
        }
        active[row as usize] = all;
    }
}
