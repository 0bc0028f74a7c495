//! Launches of sums over rows and of the search for active rows.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::{FAN_IN, SEARCH_ROWS, SEARCH_UNITS, add_rows, find_active};
use crate::gpu::device::{GpuDevice, buffer, cubes, elements, empty, floats};

/// Adds `count` rows of `width` f32 into `into`, `[width]`, on top of its contents if `accumulate`.
///
/// The order of the sum is a tree that follows from `count` alone, without atomics: the same bits in every run.
pub fn sum_rows(device: &GpuDevice, rows: Handle, count: usize, width: usize, into: &Handle, accumulate: bool) {
    let (mut rows, mut count) = (rows, count);
    while count > FAN_IN {
        let groups = count.div_ceil(FAN_IN);
        let next = empty(&device.client, groups * width);
        add_groups(device, [&rows, &next], count, width, false);
        (rows, count) = (next, groups);
    }
    add_groups(device, [&rows, into], count, width, accumulate);
}

/// One level of the tree, from the first handle to the second.
fn add_groups(device: &GpuDevice, [rows, into]: [&Handle; 2], count: usize, width: usize, accumulate: bool) {
    let groups = count.div_ceil(FAN_IN).max(1);
    let (cubes, units) = elements(device, groups * width);
    let (from, to) = (floats(rows, count * width), floats(into, groups * width));
    add_rows::launch(&device.client, cubes, units, from, to, count as u32, width as u32, groups as u32, accumulate);
}

/// 1 for every row where a value of one of the two `parts` (`[rows, length]` each) is not 0, else 0: `[rows]` u32.
///
/// A row without a gradient must give zeros, also where its samples are not finite.
pub fn active_rows(device: &GpuDevice, parts: [&Handle; 2], rows: usize, length: usize) -> Handle {
    let active = device.client.empty(rows.max(1) * size_of::<u32>());
    find_active::launch(
        &device.client,
        cubes(device, rows.div_ceil(SEARCH_ROWS as usize)),
        CubeDim::new_1d(SEARCH_UNITS * SEARCH_ROWS),
        floats(parts[0], rows * length),
        floats(parts[1], rows * length),
        buffer::<u32>(&active, rows),
        rows as u32,
        length as u32,
    );
    active
}
