//! Verified workloads timed side by side.

use std::hint::black_box;
use std::time::Instant;

use crate::harness::execution::Lane;
use crate::harness::routine::Workload;

/// How often everything runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Iterations before the first that counts.
    pub warmup: usize,
    /// Iterations that count: all of them.
    pub iterations: usize,
}

/// A workload that was verified and is ready to be timed.
pub struct Contender<'a> {
    /// What it runs on.
    pub lane: &'a Lane,
    /// What runs.
    pub workload: Box<dyn Workload + 'a>,
    /// Checksums of its verified output, one an input set.
    pub checksums: Vec<u64>,
}

/// Nanoseconds of each contender's iterations, or why it was dropped: a run that failed, or whose output was not the
/// one verified.
///
/// In each iteration every contender runs once; the next iteration starts with the next contender and gives each the
/// next input set. Within an iteration their sets differ, so that none finds its input in the caches because another
/// has just read it. A sample spans the whole of [`Workload::run`], on a thread of the contender's lane. `tick` is called
/// after each iteration.
pub fn interleave(
    contenders: &mut [Contender<'_>],
    schedule: Schedule,
    mut tick: impl FnMut(),
) -> Vec<Result<Vec<u64>, String>> {
    let mut outcomes = vec![Ok(Vec::with_capacity(schedule.iterations)); contenders.len()];
    let count = contenders.len();
    for iteration in 0..schedule.warmup + schedule.iterations {
        for turn in 0..count {
            let which = (iteration + turn) % count;
            let outcome = &mut outcomes[which];
            let Ok(samples) = outcome else { continue };
            let contender = &mut contenders[which];
            let set = set_of(which, count, iteration, contender.checksums.len());
            match time(contender, iteration, set) {
                Ok(nanoseconds) if iteration >= schedule.warmup => samples.push(nanoseconds),
                Ok(_) => (),
                Err(error) => *outcome = Err(error),
            }
        }
        tick();
    }
    outcomes
}

/// Contenders are spread evenly over the sets. Each follows the one before it, whole iterations behind.
fn set_of(which: usize, contenders: usize, iteration: usize, sets: usize) -> usize {
    let distance = (sets / contenders).max(1);
    (iteration + which * (sets - distance % sets)) % sets
}

fn time(contender: &mut Contender<'_>, iteration: usize, set: usize) -> Result<u64, String> {
    let workload = &mut contender.workload;
    let (elapsed, checksum) = contender.lane.run(|| {
        workload.restore(set);
        let start = Instant::now();
        black_box(workload.run(black_box(set)))?;
        let elapsed = start.elapsed();
        Ok::<_, String>((elapsed, workload.checksum()))
    })?;
    if checksum != contender.checksums[set] {
        return Err(format!("iteration {iteration} on set {set} gave another output than the verified one"));
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
        wrong: Result<u64, String>,
        sum: u64,
    }

    impl Workload for Counting {
        fn run(&mut self, set: usize) -> Result<(), String> {
            self.runs += 1;
            self.sum = if self.runs <= self.good { set as u64 } else { self.wrong.clone()? };
            Ok(())
        }

        fn checksum(&self) -> u64 {
            self.sum
        }
    }

    fn contender(lane: &Lane, good: usize, wrong: Result<u64, String>) -> Contender<'_> {
        Contender { lane, workload: Box::new(Counting { runs: 0, good, wrong, sum: 0 }), checksums: vec![0, 1, 2] }
    }

    #[test]
    fn contenders_read_different_sets_and_each_reads_all() {
        let sets = |iteration| [0, 1, 2].map(|which| set_of(which, 3, iteration, 12));
        assert_eq!([sets(0), sets(1), sets(4)], [[0, 8, 4], [1, 9, 5], [4, 0, 8]]);
        assert_eq!([0, 1, 2, 3].map(|which| set_of(which, 4, 0, 1)), [0; 4]);
        assert_eq!([0, 1, 2, 3].map(|which| set_of(which, 4, 1, 2)), [1, 0, 1, 0]);
    }

    #[test]
    fn every_iteration_counts_and_a_failure_leaves_no_time() {
        let lanes = Lane::all(&[1, 2], None).unwrap();
        let mut contenders = [
            contender(&lanes[0], 99, Ok(9)),
            contender(&lanes[1], 6, Ok(9)),
            contender(&lanes[0], 0, Err("out of memory".into())),
            contender(&lanes[1], 99, Ok(9)),
        ];
        let mut ticks = 0;
        let outcomes = interleave(&mut contenders, Schedule { warmup: 3, iterations: 5 }, || ticks += 1);
        assert_eq!(ticks, 8);
        assert_eq!(outcomes[0].as_ref().unwrap().len(), 5);
        assert_eq!(outcomes[3].as_ref().unwrap().len(), 5);
        let changed = outcomes[1].as_ref().unwrap_err();
        assert_eq!(changed, "iteration 6 on set 2 gave another output than the verified one");
        assert_eq!(outcomes[2], Err("out of memory".into()));
    }
}
