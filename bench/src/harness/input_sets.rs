//! Number of input sets of a problem.

/// Rows of all input sets of a problem, where [`MOST_SETS`] allow: too many for a branch predictor to learn.
const ROWS: usize = 4096;
const FEWEST_SETS: usize = 4;
const MOST_SETS: usize = 256;
/// Bytes of all input sets of a problem, where two of them fit.
const SETS_BYTES: usize = 512 << 20;

/// Number of input sets of a problem with `rows` rows and `bytes` bytes per set: at most `most`, and at least one.
pub fn count_of_sets(rows: usize, bytes: usize, most: usize) -> usize {
    let useful = ROWS.div_ceil(rows).clamp(FEWEST_SETS, MOST_SETS);
    let affordable = (SETS_BYTES / bytes).max(2);
    useful.min(affordable).min(most).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_batches_get_many_sets_and_huge_ones_two() {
        let count = |rows: usize| count_of_sets(rows, rows * 4608, usize::MAX);
        assert_eq!([count(1), count(32), count(1024), count(1 << 20)], [256, 128, 4, 2]);
        assert_eq!((count_of_sets(1, 4, 3), count_of_sets(1, 4, 0)), (3, 1));
    }
}
