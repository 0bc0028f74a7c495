//! Blocks follow from shapes alone.

use super::plan::MAX_PARTIAL_SUMS;
use super::{MAX_ROW_BLOCKS, RowBlocks};

#[test]
fn runs_cover_the_rows() {
    for (rows, width) in [(1, 36), (5, 36), (4096, 3072), (1_048_576, 3072), (100, 1_572_864), (0, 36)] {
        let RowBlocks { count, length } = RowBlocks::of(rows, width, MAX_ROW_BLOCKS);
        assert!(count * length >= rows && (count - 1) * length < rows.max(1), "{rows}");
        assert!(count <= MAX_ROW_BLOCKS && (count == 1 || count * width <= MAX_PARTIAL_SUMS), "{rows}");
    }
}
