//! Times of calls in plain loops, beside those of Burn's operations, for comparison with the figures of
//! `firefly-bench`: `cargo run --release -p firefly-bench --example plain_loop -- cpu 32,1024,8192`, then
//! `firefly-bench welch-peaks --batch 32,1024,8192` and `firefly-bench butterfly --n 256 --batch 32,1024,8192` on it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use std::time::Instant;

use burn::tensor::{Device, Distribution, FloatDType, Tensor};
use firefly_app::device::DeviceChoice;
use firefly_app::number::duration;
use firefly_bench::harness::statistics::Percentiles;
use firefly_models::{LearnedWelchPeaksConfig, WelchPeaks, WelchPeaksConfig};
use firefly_ops::{Direction, butterfly, exact_twiddles};

const WARMUP: usize = 10;
const ITERATIONS: usize = 101;
/// Inputs that a loop goes through in turn.
const SETS: usize = 4;
/// Calls before one synchronisation, where calls are in flight.
const IN_FLIGHT: usize = 64;
/// Bytes of results that are kept until then.
const KEPT: usize = 8 << 30;
const FRAME: usize = 384;
const N: usize = 256;
const K: usize = 16;

fn main() {
    let choice: DeviceChoice = std::env::args().nth(1).as_deref().unwrap_or("auto").parse().unwrap();
    let batches = std::env::args().nth(2).unwrap_or("32,1024,8192".into());
    let device = choice.name().open().unwrap();
    println!("{}: medians of {ITERATIONS}", choice.explained());
    println!("{:48} {:>10} {:>10} {:>10}", "", "one call", "its issue", "in flight");
    report(&device, "synchronisation alone", 1, |_| {});
    let random = |shape: [usize; 2]| Tensor::<2>::random(shape, Distribution::Default, &device);
    let model: WelchPeaks = WelchPeaksConfig::new().init(&device);
    let learned = LearnedWelchPeaksConfig::new().with_n_fft(N).with_segments(2).init(&device);
    let gates = learned.hard_gates();
    let twiddles = exact_twiddles(N, Direction::Forward, FloatDType::F32, &device).unwrap();
    for batch in batches.split(',').map(|batch| batch.parse::<usize>().unwrap()) {
        let frames = [(); SETS].map(|()| random([batch, FRAME]));
        let name = |operation: &str| format!("{operation}, batch {batch}");
        report(&device, &name("Burn: frames + 1"), 4 * FRAME * batch, |set| frames[set].clone() + 1.0);
        report(&device, &name("Burn: argmax of frames"), 8 * batch, |set| frames[set].clone().argmax(1));
        report(&device, &name("welch-peaks, two segments"), 12 * K * batch, |set| model.forward(frames[set].clone()));
        report(&device, &name("learned welch-peaks, two segments"), 12 * K * batch, |set| {
            learned.forward(frames[set].clone(), &gates)
        });
        let parts = [(); SETS].map(|()| [(); 2].map(|()| random([batch, N])));
        report(&device, &name("butterfly, n 256"), 8 * N * batch, |set| {
            let [re, im] = parts[set].clone();
            butterfly(re, im, twiddles.clone(), None).unwrap()
        });
    }
}

/// Prints the times of a call whose result of `bytes` is kept, because Burn computes no result that is dropped before
/// it is needed: with a synchronisation, until it returns, and one of several in flight.
fn report<T>(device: &Device, name: &str, bytes: usize, call: impl Fn(usize) -> T) {
    let once = |iteration: usize| {
        let start = Instant::now();
        let result = call(iteration % SETS);
        let issued = start.elapsed();
        device.sync().unwrap();
        let whole = start.elapsed();
        drop(result);
        (whole.as_nanos() as f64, issued.as_nanos() as f64)
    };
    for iteration in 0..WARMUP {
        once(iteration);
    }
    let (calls, issues): (Vec<f64>, Vec<f64>) = (0..ITERATIONS).map(once).unzip();
    let count = (KEPT / bytes).clamp(1, IN_FLIGHT);
    let in_flight = (0..ITERATIONS).step_by(10).map(|_| {
        let start = Instant::now();
        let results: Vec<T> = (0..count).map(|iteration| call(iteration % SETS)).collect();
        device.sync().unwrap();
        let each = start.elapsed().as_nanos() as f64 / count as f64;
        drop(results);
        each
    });
    let median = |times: Vec<f64>| duration(Percentiles::of(times).unwrap().median);
    println!("{name:48} {:>10} {:>10} {:>10}", median(calls), median(issues), median(in_flight.collect()));
}
