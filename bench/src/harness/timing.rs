//! Timing: verified routines side by side, in turns.

use std::hint::black_box;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::{ExecutionConfig, Verified};

/// Least time of the untimed runs that precede a timed one. They bring caches and clock speed into the state of a loop
/// over the same calls.
const CONDITIONING: Duration = Duration::from_micros(500);
/// Time of these runs from which they don't go through all input sets any more.
const LONG_CONDITIONING: Duration = Duration::from_millis(2);

/// Exit status of an interrupted command, as shells report SIGINT.
pub const INTERRUPTED: u8 = 130;

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Has a measurement end after the iteration that runs when the process is told to end. A second signal ends the
/// process, as the first one does where the system refuses the handler.
pub fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let _ = ctrlc::set_handler(|| {
            if IS_INTERRUPTED.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(INTERRUPTED));
            }
        });
    });
}

pub fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::Relaxed)
}

/// Number of iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iterations {
    pub warmup: usize,
    /// Iterations after these; each gives a sample.
    pub timed: usize,
}

/// Order in which `count` cases take their turns, drawn anew for each iteration.
///
/// A fixed cycle would give each case the same predecessor in all but one of its turns. A case that follows one that
/// leaves caches and clock speed in a good state would then seem faster.
pub struct TurnOrder {
    random: ChaCha8Rng,
    places: Vec<usize>,
}

impl TurnOrder {
    /// Orders of `count` cases, the same for the same seed.
    pub fn new(count: usize, seed: u64) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed), places: (0..count).collect() }
    }

    /// The order of the next iteration.
    pub fn draw(&mut self) -> &[usize] {
        self.places.shuffle(&mut self.random);
        &self.places
    }
}

/// Nanoseconds of each case's iterations, or the error that ended it: a run that failed, or whose result was not the
/// verified one.
///
/// In each iteration every case has a turn, in an order drawn from `seed`. A turn makes some untimed runs and then one
/// that is timed, as a loop over the same calls would, on input sets that rotate. The time of a run is from dropping
/// the previous result to the end of the routine's `run`, on a thread of the case, of which its `sample` is taken. The
/// result is then read back and its checksum compared; the untimed runs of the next turn keep this out of the next
/// time. `clock` tells the time, and `tick` is called after each iteration. An interrupted measurement has the iterations
/// before that.
pub fn interleave(
    cases: &mut [(&ExecutionConfig, Verified<'_>)],
    iterations: Iterations,
    seed: u64,
    clock: &(dyn Fn() -> Duration + Sync),
    mut tick: impl FnMut(),
) -> Vec<Result<Vec<u64>>> {
    let mut order = TurnOrder::new(cases.len(), seed);
    let mut runs = vec![0; cases.len()];
    let mut outcomes: Vec<_> = cases.iter().map(|_| Ok(Vec::with_capacity(iterations.timed))).collect();
    for iteration in 0..iterations.warmup + iterations.timed {
        if is_interrupted() {
            break;
        }
        for &which in order.draw() {
            let outcome = &mut outcomes[which];
            let Ok(samples) = outcome else { continue };
            match turn(&mut cases[which], &mut runs[which], iteration, clock) {
                Ok(nanoseconds) if iteration >= iterations.warmup => samples.push(nanoseconds),
                Ok(_) => (),
                Err(error) => *outcome = Err(error),
            }
        }
        tick();
    }
    outcomes
}

/// One turn of a case that had so many `runs`, each on the next input set: the untimed ones, the timed one, and the
/// comparison of its result.
fn turn(
    (execution, verified): &mut (&ExecutionConfig, Verified<'_>),
    runs: &mut usize,
    iteration: usize,
    clock: &(dyn Fn() -> Duration + Sync),
) -> Result<u64> {
    let Verified { routine, checksums, .. } = verified;
    let sets = checksums.len();
    let mut next_set = || {
        *runs += 1;
        (*runs - 1) % sets
    };
    let (elapsed, set, checksum) = execution.run(|| {
        let begin = clock();
        for run in 1.. {
            let set = next_set();
            routine.restore(set);
            routine.release();
            black_box(routine.run(black_box(set)))?;
            let elapsed = clock() - begin;
            if elapsed >= LONG_CONDITIONING || (elapsed >= CONDITIONING && run >= sets) {
                break;
            }
        }
        let set = next_set();
        routine.restore(set);
        let start = clock();
        routine.release();
        black_box(routine.run(black_box(set)))?;
        let elapsed = routine.sample(clock() - start);
        let checksum = routine.checksum();
        routine.release();
        Ok::<_, anyhow::Error>((elapsed, set, checksum))
    })?;
    let is_same = checksum == checksums[set];
    ensure!(is_same, "iteration {iteration} on set {set} gave another output than the verified one");
    Ok(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
