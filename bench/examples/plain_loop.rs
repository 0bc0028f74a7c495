//! Times of plain loops over the calls that `firefly-bench` measures, to hold against its figures:
//! `cargo run --release -p firefly-bench --example plain_loop -- cpu`, then
//! `firefly-bench welch-peaks --batch 32,1024,8192` and `firefly-bench butterfly --n 256 --batch 32,1024,8192` on it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use std::time::Instant;

use burn::tensor::{Device, Distribution, FloatDType, Tensor};
use firefly_app::device::DeviceChoice;
use firefly_app::number::duration;
use firefly_bench::harness::statistics::Spread;
use firefly_models::{WelchPeaks, WelchPeaksConfig};
use firefly_ops::{Direction, butterfly, exact_twiddles};

const WARMUP: usize = 10;
const ITERATIONS: usize = 101;
/// Inputs that a loop goes through in turn.
const SETS: usize = 4;

fn main() {
    let choice: DeviceChoice = std::env::args().nth(1).as_deref().unwrap_or("auto").parse().unwrap();
    let device = choice.name().open().unwrap();
    println!("{}: median of {ITERATIONS} calls, each to its end", choice.explained());
    let model: WelchPeaks = WelchPeaksConfig::new().init(&device);
    let twiddles = exact_twiddles(256, Direction::Forward, FloatDType::F32, &device).unwrap();
    for batch in [32, 1024, 8192] {
        let random = |width: usize| Tensor::<2>::random([batch, width], Distribution::Default, &device);
        let frames: Vec<Tensor<2>> = (0..SETS).map(|_| random(384)).collect();
        let median = time(&device, |set| drop(model.forward(frames[set].clone())));
        println!("welch-peaks, n_fft 256, fast, k 16, batch {batch}: {}", duration(median));
        let parts: Vec<[Tensor<2>; 2]> = (0..SETS).map(|_| [random(256), random(256)]).collect();
        let median = time(&device, |set| {
            let [re, im] = parts[set].clone();
            drop(butterfly(re, im, twiddles.clone(), None).unwrap());
        });
        println!("fft, n 256, batch {batch}: {}", duration(median));
    }
}

/// Median nanoseconds of a call that drops its result.
fn time(device: &Device, call: impl Fn(usize)) -> f64 {
    let once = |iteration: usize| {
        let start = Instant::now();
        call(iteration % SETS);
        device.sync().unwrap();
        start.elapsed().as_nanos() as f64
    };
    for iteration in 0..WARMUP {
        once(iteration);
    }
    Spread::of((0..ITERATIONS).map(once)).unwrap().median
}
