//! The times that the harness takes are those of a plain loop around the same call.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::array;
use std::time::Instant;

use burn::tensor::{Device, Distribution, FloatDType, Tensor};
use firefly_bench::harness::{ExecutionConfig, Iterations, Routine, TensorRoutine, VerifiedCase, interleave};
use firefly_ops::{Direction, butterfly, exact_twiddles};

const N: usize = 256;
/// So many rows that a result's place in memory matters little. Where 64 rows lie changes a call's time by a tenth, in
/// the plain loop as in the harness.
const BATCH: usize = 1024;
/// Inputs that both go through in turn.
const SETS: usize = 4;
const ITERATIONS: usize = 40;
/// Measurements of both, in turn, each much shorter than what other programs take of a processor at a time. The fastest
/// of each counts: whatever else runs makes a measurement slower, never faster.
const RUNS: usize = 50;
const MAX_DIFFERENCE: f64 = 0.1;

/// The median; of an even number of values, the upper one.
fn median<T: Copy + PartialOrd>(mut values: Vec<T>) -> T {
    values.sort_by(|left, right| left.partial_cmp(right).unwrap());
    values[values.len() / 2]
}

#[test]
fn times_are_those_of_a_plain_loop() {
    let device = Device::flex();
    let random = || Tensor::<2>::random([BATCH, N], Distribution::Default, &device);
    let sets = [(); SETS].map(|()| [random(), random()]);
    let twiddles = exact_twiddles(N, Direction::Forward, FloatDType::F32, &device).unwrap();
    let call = |[re, im]: [Tensor<2>; 2]| butterfly(re, im, twiddles.clone(), None).unwrap();
    let execution = &ExecutionConfig::all(&[1], None).unwrap()[0];

    let run = |set| Ok(<[_; 2]>::from(call(set)).to_vec());
    let mut routine = TensorRoutine::new(&device, |set| Ok(sets[set].clone()), run);
    let mut checksum = |set| {
        routine.run(set).unwrap();
        routine.checksum()
    };
    let checksums = (0..SETS).map(&mut checksum).collect();
    let mut cases = [VerifiedCase { execution, routine: Box::new(routine), checksums }];
    let mut harness = || {
        let mut outcomes = interleave(&mut cases, Iterations { warmup: 1, timed: ITERATIONS }, 0, || ());
        median(outcomes.remove(0).unwrap()) as f64
    };
    let plain_loop = || {
        let mut kept = None;
        let mut once = |iteration: usize| {
            let set = sets[iteration % SETS].clone();
            let start = Instant::now();
            // The new result takes the memory of the last one.
            drop(kept.take());
            kept = Some(call(set));
            start.elapsed().as_nanos()
        };
        median(execution.run(|| (0..ITERATIONS).map(&mut once).collect())) as f64
    };

    let [of_harness, of_plain_loop] = (0..RUNS)
        .map(|_| [harness(), plain_loop()])
        .reduce(|fastest, times| array::from_fn(|which| fastest[which].min(times[which])))
        .unwrap();
    let ratio = of_harness / of_plain_loop;
    assert!((ratio - 1.0).abs() <= MAX_DIFFERENCE, "{ratio}: {of_harness} and {of_plain_loop} ns");
}
