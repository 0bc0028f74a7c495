//! Copy of the input within host memory: a lower bound on the time of whatever reads it from there.

use rayon::prelude::*;
use thiserror::Error;

use crate::harness::problem::Problem;
use crate::harness::routine::{Routine, RoutineError, RoutineOutput};
use crate::harness::runner::COPY_BASELINE;
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{CaseError, Verification, Verified, run_and_check};

/// Number of values from which a second thread saves time.
const PARALLEL_VALUES: usize = 1 << 18;
/// Distance in values between those that the checksum reads: a page.
const STRIDE: usize = 1024;

/// Strategy that copies the input. `sets` gives the input sets, each in several parts.
pub fn strategy<P: Problem + 'static>(sets: fn(&P::Inputs) -> Vec<Vec<&[f32]>>) -> BenchStrategy<P> {
    BenchStrategy::new(
        COPY_BASELINE,
        "host: a copy of the input, the floor of what memory allows",
        move |problem: &P, inputs, _| {
            let sets = sets(inputs);
            let rows = problem.size().rows * sets.len();
            copy(sets, rows)
        },
    )
    .without_competing()
}

/// The copy is not the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the copy differs from the input")]
struct CopyMismatch;

struct CopyRoutine<'a> {
    sets: Vec<Vec<&'a [f32]>>,
    copies: Vec<Vec<f32>>,
    threads: usize,
    last: usize,
}

/// Copies input sets, each in several parts, and checks the copies. `rows` are those of all sets.
fn copy(sets: Vec<Vec<&[f32]>>, rows: usize) -> Result<Verified<'_>, CaseError> {
    let copies: Vec<Vec<f32>> = sets[0].iter().map(|part| vec![0.0; part.len()]).collect();
    let values: usize = copies.iter().map(Vec::len).sum();
    let threads = if values < PARALLEL_VALUES { 1 } else { rayon::current_num_threads() };
    let count = sets.len();
    let mut routine = Box::new(CopyRoutine { sets, copies, threads, last: 0 });
    let checksums =
        run_and_check(routine.as_mut(), count, |_, right: &bool| if *right { Ok(()) } else { Err(CopyMismatch) })?;
    let verification = Verification { rows, tolerance: 0.0, error: 0.0, ranking: None };
    Ok(Verified::exact(routine, checksums, verification))
}

impl Routine for CopyRoutine<'_> {
    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
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
impl RoutineOutput<bool> for CopyRoutine<'_> {
    fn output(&self) -> Result<bool, RoutineError> {
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
            let mut copied = copy(sets, 7).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((copied.checksums.len(), copied.verification.rows), (count, 7));
            copied.routine.run(0).unwrap();
            assert_eq!(copied.routine.checksum(), copied.checksums[0]);
        }
    }
}
