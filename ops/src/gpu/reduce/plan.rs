//! Blocks of rows: sums over rows are made of one partial sum per block, in an order that follows from shapes alone.

/// Blocks of elementwise kernels, at most.
pub const MAX_ROW_BLOCKS: usize = 2048;
/// f32 that the partial sums of a launch take, at most.
pub(super) const MAX_PARTIAL_SUMS: usize = 16 << 20;

/// Rows split into blocks of consecutive rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowBlocks {
    /// Number of blocks.
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
}
