//! Timing: verified routines side by side, in turns.

use std::hint::black_box;
use std::time::Instant;

use super::execution::ExecutionConfig;
use super::routine::{Routine, RoutineError};

/// Number of iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iterations {
    /// Iterations before the first that is timed.
    pub warmup: usize,
    /// Iterations that are timed; each gives a sample.
    pub timed: usize,
}

/// Verified routine that is ready to be timed.
pub struct VerifiedCase<'a> {
    /// Threads and instruction set.
    pub execution: &'a ExecutionConfig,
    /// The routine.
    pub routine: Box<dyn Routine + 'a>,
    /// Checksums of its verified results, one per input set.
    pub checksums: Vec<u64>,
}

/// Nanoseconds of each case's iterations, or the error that ended it: a run that failed, or whose result was not the
/// verified one.
///
/// In each iteration every case runs once; the next iteration starts with the next case and gives each the next input
/// set. Within an iteration their sets differ, so that no case finds its input in the caches because another has just
/// read it. A sample spans the whole of [`Routine::run`], on a thread of the case. `tick` is called after each
/// iteration.
pub fn interleave(
    cases: &mut [VerifiedCase<'_>],
    iterations: Iterations,
    mut tick: impl FnMut(),
) -> Vec<Result<Vec<u64>, RoutineError>> {
    let count = cases.len();
    let mut outcomes: Vec<_> = (0..count).map(|_| Ok(Vec::with_capacity(iterations.timed))).collect();
    for iteration in 0..iterations.warmup + iterations.timed {
        for turn in 0..count {
            let which = (iteration + turn) % count;
            let outcome = &mut outcomes[which];
            let Ok(samples) = outcome else { continue };
            let case = &mut cases[which];
            let set = set_of(which, count, iteration, case.checksums.len());
            match time(case, iteration, set) {
                Ok(nanoseconds) if iteration >= iterations.warmup => samples.push(nanoseconds),
                Ok(_) => (),
                Err(error) => *outcome = Err(error),
            }
        }
        tick();
    }
    outcomes
}

/// The input set of a case in an iteration. Cases are spread evenly over the sets; each is whole iterations behind the
/// one before it.
fn set_of(which: usize, cases: usize, iteration: usize, sets: usize) -> usize {
    let distance = (sets / cases).max(1);
    (iteration + which * (sets - distance % sets)) % sets
}

fn time(case: &mut VerifiedCase<'_>, iteration: usize, set: usize) -> Result<u64, RoutineError> {
    let routine = &mut case.routine;
    let (elapsed, checksum) = case.execution.run(|| {
        routine.restore(set);
        let start = Instant::now();
        black_box(routine.run(black_box(set)))?;
        let elapsed = start.elapsed();
        Ok::<_, RoutineError>((elapsed, routine.checksum()))
    })?;
    if checksum != case.checksums[set] {
        return Err(RoutineError::Changed { iteration, set });
    }
    Ok(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the set as checksum until its runs are used up.
    struct Counting {
        runs: usize,
        good: usize,
        wrong: fn() -> Result<u64, RoutineError>,
        sum: u64,
    }

    impl Routine for Counting {
        fn run(&mut self, set: usize) -> Result<(), RoutineError> {
            self.runs += 1;
            self.sum = if self.runs <= self.good { set as u64 } else { (self.wrong)()? };
            Ok(())
        }

        fn checksum(&self) -> u64 {
            self.sum
        }
    }

    fn case(execution: &ExecutionConfig, good: usize, wrong: fn() -> Result<u64, RoutineError>) -> VerifiedCase<'_> {
        VerifiedCase {
            execution,
            routine: Box::new(Counting { runs: 0, good, wrong, sum: 0 }),
            checksums: vec![0, 1, 2],
        }
    }

    #[test]
    fn cases_read_different_sets_and_each_reads_all() {
        let sets = |iteration| [0, 1, 2].map(|which| set_of(which, 3, iteration, 12));
        assert_eq!([sets(0), sets(1), sets(4)], [[0, 8, 4], [1, 9, 5], [4, 0, 8]]);
        assert_eq!([0, 1, 2, 3].map(|which| set_of(which, 4, 0, 1)), [0; 4]);
        assert_eq!([0, 1, 2, 3].map(|which| set_of(which, 4, 1, 2)), [1, 0, 1, 0]);
    }

    #[test]
    fn every_iteration_counts_and_a_failure_leaves_no_time() {
        let executions = ExecutionConfig::all(&[1, 2], None).unwrap();
        let mut cases = [
            case(&executions[0], 99, || Ok(9)),
            case(&executions[1], 6, || Ok(9)),
            case(&executions[0], 0, || Err(RoutineError::Burn("out of memory".into()))),
            case(&executions[1], 99, || Ok(9)),
        ];
        let mut ticks = 0;
        let outcomes = interleave(&mut cases, Iterations { warmup: 3, timed: 5 }, || ticks += 1);
        assert_eq!(ticks, 8);
        assert_eq!(outcomes[0].as_ref().unwrap().len(), 5);
        assert_eq!(outcomes[3].as_ref().unwrap().len(), 5);
        let changed = outcomes[1].as_ref().unwrap_err().to_string();
        assert_eq!(changed, "iteration 6 on set 2 gave another output than the verified one");
        assert_eq!(outcomes[2].as_ref().unwrap_err().to_string(), "out of memory");
    }
}
