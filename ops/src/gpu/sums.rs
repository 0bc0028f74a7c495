//! Sums over rows in a fixed order: a tree over runs, no atomics.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::buffers::{empty, floats};
use super::grid;

/// Rows that one unit adds.
const FAN: usize = 16;

/// Adds `count` rows of `width` f32 into `into`, `[width]`, on top of what is there if `accumulate`.
pub(super) fn reduce(client: &Client, rows: Handle, count: usize, width: usize, into: &Handle, accumulate: bool) {
    let (mut rows, mut count) = (rows, count);
    while count > FAN {
        let groups = count.div_ceil(FAN);
        let next = empty(client, groups * width);
        add(client, &rows, count, width, &next, groups, false);
        (rows, count) = (next, groups);
    }
    add(client, &rows, count, width, into, 1, accumulate);
}

fn add(client: &Client, rows: &Handle, count: usize, width: usize, into: &Handle, groups: usize, accumulate: bool) {
    let (cubes, units) = grid::elements(client, groups * width);
    let (from, to) = (floats(rows, count * width), floats(into, groups * width));
    add_rows::launch(client, cubes, units, from, to, count as u32, width as u32, groups as u32, accumulate);
}

#[cube(launch)]
fn add_rows(rows: &[f32], into: &mut [f32], count: u32, width: u32, groups: u32, #[comptime] accumulate: bool) {
    let place = ABSOLUTE_POS as u32;
    if place >= groups * width {
        terminate!();
    }
    let (group, column) = (place / width, place % width);
    let mut sum = 0.0f32;
    if comptime!(accumulate) {
        sum = into[place as usize];
    }
    let first = group * comptime!(FAN as u32);
    for row in first..min(first + comptime!(FAN as u32), count) {
        sum += rows[(row * width + column) as usize];
    }
    into[place as usize] = sum;
}
