//! How many input sets a problem has.

/// Rows that the input sets of a problem hold together, if they are at most [`MOST_SETS`]: too many for a branch predictor to
/// learn.
const ROWS: usize = 4096;
const FEWEST_SETS: usize = 4;
const MOST_SETS: usize = 256;
/// Memory the input sets of a problem may take, though there are two of them at least.
const SETS_BYTES: usize = 512 << 20;

/// Input sets for a problem of so many rows and bytes: no more than `most`, and at least one.
pub fn count_of_sets(rows: usize, bytes: usize, most: usize) -> usize {
    let wanted = ROWS.div_ceil(rows).clamp(FEWEST_SETS, MOST_SETS);
    let affordable = (SETS_BYTES / bytes).max(2);
    wanted.min(affordable).min(most).max(1)
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
