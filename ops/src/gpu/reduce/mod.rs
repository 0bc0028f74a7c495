//! Sums over rows in a fixed order, and which rows have a gradient at all.

mod kernel;
mod launch;
mod plan;
#[cfg(test)]
mod tests;

pub(super) use kernel::{RowBlockShape, RowBlockShapeLaunch};
pub(super) use launch::{active_rows, sum_rows};
pub(super) use plan::{MAX_ROW_BLOCKS, RowBlocks};
