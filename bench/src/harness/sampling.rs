//! Choice of the rows that are compared with the reference.

use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Input sets and their rows: all `batch` rows of the first set where they are at most `most`, a random sample with the
/// first and the last row where they are more, and one row of each of the other sets.
pub fn sampled_rows(batch: usize, sets: usize, most: usize, seed: u64) -> Vec<(usize, usize)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut rows: Vec<(usize, usize)> = if batch <= most {
        (0..batch).map(|row| (0, row)).collect()
    } else {
        let inner = index::sample(&mut random, batch - 2, most - 2);
        inner.iter().map(|row| row + 1).chain([0, batch - 1]).map(|row| (0, row)).collect()
    };
    rows.extend((1..sets).map(|set| (set, random.random_range(0..batch))));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_all_taken_and_of_many_the_ends_are() {
        let few = sampled_rows(5, 3, 256, 1);
        assert_eq!(few[..5], [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)]);
        assert_eq!(few[5..].iter().map(|(set, _)| *set).collect::<Vec<_>>(), [1, 2]);

        let many = sampled_rows(10_000, 1, 256, 1);
        assert_eq!(many.len(), 256);
        assert!(many.contains(&(0, 0)) && many.contains(&(0, 9_999)));
        let mut unique = many.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), many.len());
    }
}
