//! Runs follow from shapes alone.

use super::plan::MAX_PARTIAL_SUMS;
use super::{MAX_RUNS, Runs};

#[test]
fn runs_cover_the_rows() {
    for (rows, width) in [(1, 36), (5, 36), (4096, 3072), (1_048_576, 3072), (100, 1_572_864), (0, 36)] {
        let Runs { count, length } = Runs::of(rows, width, MAX_RUNS);
        assert!(count * length >= rows && (count - 1) * length < rows.max(1), "{rows}");
        assert!(count <= MAX_RUNS && (count == 1 || count * width <= MAX_PARTIAL_SUMS), "{rows}");
    }
}
