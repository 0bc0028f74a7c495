//! Order of turns, and what may influence a sample, on a clock that the routines themselves advance.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use anyhow::bail;
use burn::tensor::{Device, Distribution, Tensor};

use super::*;
use crate::harness::routine::Output;
use crate::harness::{Percentiles, Routine, TensorRoutine, failed};

/// Machine whose clock advances by what routines cost.
#[derive(Default)]
struct Machine {
    nanoseconds: AtomicU64,
    /// The routine that ran last, counted from 1.
    last: AtomicUsize,
    /// Nanoseconds that the next turn of another routine takes longer: what one leaves behind for a while.
    heat: AtomicU64,
}

/// Routine that costs 300 µs, more where another ran before, and whose result is the number of its set.
struct Simulated {
    machine: Arc<Machine>,
    number: usize,
    /// Heat that it leaves.
    leaves: u64,
    set: u64,
    /// Whether the result of the last run is still there.
    holds: bool,
}

impl Routine for Simulated {
    fn run(&mut self, set: usize) -> Result<()> {
        assert!(!self.holds, "a result is dropped before the next run");
        let machine = &self.machine;
        let cold = machine.last.swap(self.number, Relaxed) != self.number;
        let cost = 300_000 + if cold { 200_000 } else { 0 } + machine.heat.load(Relaxed);
        machine.nanoseconds.fetch_add(cost, Relaxed);
        (self.set, self.holds) = (set as u64, true);
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        bail!("nothing was computed")
    }

    fn checksum(&self) -> u64 {
        assert!(self.holds);
        self.machine.heat.store(self.leaves, Relaxed);
        // Reading a result back takes long and cools everything down.
        self.machine.nanoseconds.fetch_add(9_000_000, Relaxed);
        self.machine.last.store(0, Relaxed);
        self.set
    }

    fn release(&mut self) {
        self.holds = false;
    }
}

/// Samples of simulated routines that leave so much heat each.
fn simulated(leave: &[u64], timed: usize) -> Vec<Vec<u64>> {
    let executions = ExecutionConfig::all(&[1], None).unwrap();
    let machine = Arc::new(Machine::default());
    let case = |(place, &leaves): (usize, &u64)| {
        let routine = Simulated { machine: machine.clone(), number: place + 1, leaves, set: 0, holds: false };
        (&executions[0], Verified::new(routine, vec![0, 1, 2]))
    };
    let mut cases: Vec<_> = leave.iter().enumerate().map(case).collect();
    let clock = || Duration::from_nanos(machine.nanoseconds.load(Relaxed));
    let outcomes = interleave(&mut cases, Iterations { warmup: 0, timed }, 1, &clock, || ());
    outcomes.into_iter().map(|outcome| outcome.unwrap()).collect()
}

#[test]
fn previous_routines_and_read_backs_are_outside_the_timed_part() {
    for samples in simulated(&[0; 5], 20) {
        assert_eq!(samples, [300_000; 20]);
    }
}

#[test]
fn a_time_is_that_of_one_call_of_an_operation() {
    const NANOSECONDS: u64 = 700_000;
    let device = Device::flex();
    let executions = ExecutionConfig::all(&[1], None).unwrap();
    let sets = [(); 2].map(|()| Tensor::<2>::random([4, 8], Distribution::Default, &device));
    // A clock that the operation alone advances.
    let nanoseconds = AtomicU64::new(0);
    let call = |values: Tensor<2>| {
        nanoseconds.fetch_add(NANOSECONDS, Relaxed);
        Ok(vec![values * 2.0])
    };
    let mut routine = TensorRoutine::new(&device, |set: usize| Ok(sets[set].clone()), call);
    let mut checksum = |set| {
        routine.run(set).unwrap();
        routine.checksum()
    };
    let checksums = (0..sets.len()).map(&mut checksum).collect();
    let mut cases = [(&executions[0], Verified::new(routine, checksums))];
    let clock = || Duration::from_nanos(nanoseconds.load(Relaxed));
    let mut outcomes = interleave(&mut cases, Iterations { warmup: 1, timed: 9 }, 0, &clock, || ());
    assert_eq!(outcomes.remove(0).unwrap(), [NANOSECONDS; 9]);
}

#[test]
fn two_copies_of_a_case_have_a_ratio_of_one() {
    // The third leaves something behind that outlasts the untimed runs of whoever comes next: a third more time.
    let samples = simulated(&[0, 0, 100_000, 0, 0], 4000);
    let disturbed = samples[0].iter().filter(|sample| **sample > 300_000).count();
    assert!((860..1060).contains(&disturbed), "{disturbed} of 4000 samples follow the third; 960 are expected");
    let ratio = Percentiles::of_speed_ratio(&samples[0], &samples[1]).unwrap();
    assert_eq!(ratio.median, 1.0);
    let mean = |samples: &[u64]| samples.iter().sum::<u64>() as f64 / samples.len() as f64;
    // Each mean has a standard error of 0.2 % (33 % · √(0.24 · 0.76 / 4000)); a fixed cycle would be off by 33 %.
    let quotient = mean(&samples[0]) / mean(&samples[1]);
    assert!((quotient - 1.0).abs() < 0.01, "{quotient}");
}

#[test]
fn each_case_follows_each_other_equally_often_and_a_seed_repeats_the_order() {
    let (cases, iterations) = (5, 5000);
    let orders = |seed| {
        let mut order = TurnOrder::new(cases, seed);
        (0..iterations).map(|_| order.draw().to_vec()).collect::<Vec<_>>()
    };
    let drawn = orders(7);
    assert!(drawn == orders(7) && drawn != orders(8));
    let mut follows = vec![vec![0u32; cases]; cases];
    for pair in drawn.iter().flat_map(|order| order.windows(2)) {
        follows[pair[0]][pair[1]] += 1;
    }
    // 4 pairs per iteration, over 20 ordered pairs of cases.
    let expected = f64::from(iterations) * 4.0 / 20.0;
    let terms = (0..cases).flat_map(|a| (0..cases).filter(move |b| *b != a).map(move |b| (a, b)));
    let chi: f64 = terms.map(|(a, b)| (f64::from(follows[a][b]) - expected).powi(2) / expected).sum();
    // 43.8 is the 99.9th percentile of chi-squared with 19 degrees of freedom.
    assert!(chi < 43.8, "{chi}: {follows:?}");
    assert!((0..cases).all(|case| follows[case][case] == 0));
}

/// Gives the set as checksum until its runs are used up.
struct Counting {
    runs: usize,
    good: usize,
    wrong: fn() -> Result<u64>,
    sum: u64,
}

impl Routine for Counting {
    fn run(&mut self, set: usize) -> Result<()> {
        self.runs += 1;
        self.sum = if self.runs <= self.good { set as u64 } else { (self.wrong)()? };
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        bail!("nothing was computed")
    }

    fn checksum(&self) -> u64 {
        self.sum
    }
}

fn case(execution: &ExecutionConfig, good: usize, wrong: fn() -> Result<u64>) -> (&ExecutionConfig, Verified<'_>) {
    (execution, Verified::new(Counting { runs: 0, good, wrong, sum: 0 }, vec![0, 1, 2]))
}

#[test]
fn every_iteration_counts_and_a_failure_leaves_no_time() {
    let executions = ExecutionConfig::all(&[1, 2], None).unwrap();
    let mut cases = [
        case(&executions[0], 99, || Ok(9)),
        case(&executions[1], 18, || Ok(9)),
        case(&executions[0], 0, || Err(failed("out of memory"))),
        case(&executions[1], 99, || Ok(9)),
    ];
    let mut ticks = 0;
    // On a clock that is a millisecond ahead at each look there are two untimed runs per turn.
    let looks = AtomicU64::new(0);
    let clock = || Duration::from_millis(looks.fetch_add(1, Relaxed));
    let outcomes = interleave(&mut cases, Iterations { warmup: 3, timed: 5 }, 0, &clock, || ticks += 1);
    assert_eq!(ticks, 8);
    assert_eq!(outcomes[0].as_ref().unwrap().len(), 5);
    assert_eq!(outcomes[3].as_ref().unwrap().len(), 5);
    let changed = outcomes[1].as_ref().unwrap_err().to_string();
    assert_eq!(changed, "iteration 6 on set 2 gave another output than the verified one");
    assert_eq!(outcomes[2].as_ref().unwrap_err().to_string(), "out of memory");
}
