//! The floor of what memory allows: a copy of the input.

use rayon::prelude::*;

use crate::harness::routine::{Produces, Workload};
use crate::harness::verification::Verification;
use crate::harness::verification::{Refusal, Verified, run_and_check};

/// Below so many values, a second thread would cost more than it saves.
const PARALLEL_VALUES: usize = 1 << 18;
/// Values from one that the checksum takes to the next: a page of them.
const STRIDE: usize = 1024;

struct Run<'a> {
    sets: Vec<Vec<&'a [f32]>>,
    copies: Vec<Vec<f32>>,
    threads: usize,
    last: usize,
}

/// Copies input sets within host memory, each of several parts, and checks the copies. `rows` are those of all sets.
///
/// # Errors
/// [`Refusal::Failed`] if a copy is not the input.
pub fn copy(sets: Vec<Vec<&[f32]>>, rows: usize) -> Result<Verified<'_>, Refusal> {
    let copies: Vec<Vec<f32>> = sets[0].iter().map(|part| vec![0.0; part.len()]).collect();
    let values: usize = copies.iter().map(Vec::len).sum();
    let threads = if values < PARALLEL_VALUES { 1 } else { rayon::current_num_threads() };
    let count = sets.len();
    let mut workload = Box::new(Run { sets, copies, threads, last: 0 });
    let checksums = run_and_check(workload.as_mut(), count, |_, right: &bool| {
        if *right { Ok(()) } else { Err("the copy differs from the input".into()) }
    })?;
    let verification = Verification { rows, tolerance: 0.0, error: 0.0, ranking: None };
    Ok(Verified::exact(workload, checksums, verification))
}

impl Workload for Run<'_> {
    fn run(&mut self, set: usize) -> Result<(), String> {
        for (copy, part) in self.copies.iter_mut().zip(&self.sets[set]) {
            if self.threads == 1 {
                copy.copy_from_slice(part);
            } else {
                let chunk = part.len().div_ceil(self.threads);
                let pieces = copy.par_chunks_mut(chunk).zip(part.par_chunks(chunk));
                pieces.for_each(|(copy, part)| copy.copy_from_slice(part));
            }
        }
        self.last = set;
        Ok(())
    }

    fn checksum(&self) -> u64 {
        let values = self.copies.iter().flat_map(|copy| copy.iter().step_by(STRIDE));
        values.fold(0, |sum, value| sum.rotate_left(8) ^ u64::from(value.to_bits()))
    }
}

/// Whether the copy is the input.
impl Produces<bool> for Run<'_> {
    fn output(&self) -> Result<bool, String> {
        Ok(self.copies == self.sets[self.last])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_set_is_copied() {
        let large: Vec<f32> = (0..PARALLEL_VALUES).map(|value| value as f32).collect();
        let (few, many) = ([1.0, 2.0, 3.0], [4.0, 5.0]);
        for sets in [vec![vec![&few[..], &many[..]], vec![&few[..], &many[..]]], vec![vec![&large[..]]]] {
            let count = sets.len();
            let mut copied = copy(sets, 7).unwrap_or_else(|refusal| panic!("{refusal}"));
            assert_eq!((copied.checksums.len(), copied.verification.rows), (count, 7));
            copied.workload.run(0).unwrap();
            assert_eq!(copied.workload.checksum(), copied.checksums[0]);
        }
    }
}
