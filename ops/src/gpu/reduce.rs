//! Sums over rows in a fixed order: one partial sum per block of rows, and a tree of them that follows from shapes.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::device::{GpuDevice, elements, empty, floats, launch_checked};

/// Blocks of elementwise kernels, at most.
pub const MAX_ROW_BLOCKS: usize = 2048;
/// f32 that the partial sums of a launch take, at most.
const MAX_PARTIAL_SUMS: usize = 16 << 20;
const FAN_IN: usize = 16;

/// Rows split into blocks of consecutive rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowBlocks {
    pub count: usize,
    /// Rows of a block; the last one may have fewer.
    pub length: usize,
}

impl RowBlocks {
    /// At most `most` blocks of `rows` rows, each with `width` partial sums.
    pub fn of(rows: usize, width: usize, most: usize) -> Self {
        let count = rows.min(most).min((MAX_PARTIAL_SUMS / width).max(1)).max(1);
        let length = rows.div_ceil(count).max(1);
        Self { count: rows.div_ceil(length).max(1), length }
    }

    pub fn argument(self) -> RowBlockShapeLaunch {
        RowBlockShapeLaunch::new(self.count as u32, self.length as u32)
    }
}

/// Blocks of rows as a kernel argument.
#[derive(CubeType, CubeLaunch)]
pub struct RowBlockShape {
    pub count: u32,
    /// Rows of a block; the last one may have fewer.
    pub length: u32,
}

/// Adds each `FAN_IN` of the `count` rows, in order: a unit per column of a sum.
#[cube(launch)]
fn add_rows(rows: &[f32], into: &mut [f32], count: u32, width: u32, groups: u32, #[comptime] accumulate: bool) {
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
    launch_checked!(add_rows(
        device,
        elements(device, groups * width),
        floats(rows, count * width),
        floats(into, groups * width),
        count as u32,
        width as u32,
        groups as u32,
        accumulate,
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_cover_the_rows() {
        for (rows, width) in [(1, 36), (5, 36), (4096, 3072), (1_048_576, 3072), (100, 1_572_864), (0, 36)] {
            let RowBlocks { count, length } = RowBlocks::of(rows, width, MAX_ROW_BLOCKS);
            assert!(count * length >= rows && (count - 1) * length < rows.max(1), "{rows}");
            assert!(count <= MAX_ROW_BLOCKS && (count == 1 || count * width <= MAX_PARTIAL_SUMS), "{rows}");
        }
    }
}
