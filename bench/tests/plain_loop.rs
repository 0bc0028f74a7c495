//! The program's times are those of a plain loop around the same call.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;
use std::time::Instant;

use burn::tensor::{Device, Distribution, FloatDType, Tensor};
use firefly_bench::harness::outcome::CaseOutcome;
use firefly_bench::report::schema::BenchReport;
use firefly_ops::{Direction, butterfly, exact_twiddles};
use rayon::ThreadPoolBuilder;

const N: usize = 256;
const BATCH: usize = 1024;
/// Inputs that the loop goes through in turn.
const SETS: usize = 4;
const ITERATIONS: usize = 200;
/// Measurements of both, in turn, of which the least times count: other programs may run during any of them.
const RUNS: usize = 10;
const GREATEST_DIFFERENCE: f64 = 0.05;

/// The least time of a call in a plain loop on one thread, in nanoseconds.
fn plain_loop() -> f64 {
    let device = Device::flex();
    let random = || Tensor::<2>::random([BATCH, N], Distribution::Default, &device);
    let sets = [(); SETS].map(|()| [random(), random()]);
    let twiddles = exact_twiddles(N, Direction::Forward, FloatDType::F32, &device).unwrap();
    let mut kept = None;
    let mut once = |iteration: usize| {
        let [re, im] = sets[iteration % SETS].clone();
        let start = Instant::now();
        // The new result takes the memory of the last one.
        drop(kept.take());
        kept = Some(butterfly(re, im, twiddles.clone(), None).unwrap());
        start.elapsed().as_nanos() as f64
    };
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| (0..ITERATIONS).map(&mut once).fold(f64::INFINITY, f64::min))
}

/// The least time of the same call that the program reports.
fn program() -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let (n, batch, iterations) = (N.to_string(), BATCH.to_string(), ITERATIONS.to_string());
    let output = Command::new(env!("CARGO_BIN_EXE_firefly-bench"))
        .args(["butterfly", "--device", "cpu", "--strategy", "firefly", "--baseline", "firefly", "--threads", "1"])
        .args(["--n", &n, "--batch", &batch, "--iters", &iterations, "--json", path.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let report = BenchReport::read(&path).unwrap();
    let CaseOutcome::Measured(measured) = &report.cases[0].outcome else { panic!("{:?}", report.cases[0].outcome) };
    measured.time_ns.min
}

#[test]
fn times_are_those_of_a_plain_loop() {
    let (mut program_least, mut loop_least) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..RUNS {
        program_least = program_least.min(program());
        loop_least = loop_least.min(plain_loop());
    }
    let ratio = program_least / loop_least;
    assert!((ratio - 1.0).abs() <= GREATEST_DIFFERENCE, "{program_least} ns, in a plain loop {loop_least}: {ratio}");
}
