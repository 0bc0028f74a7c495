//! Peaks of frames that are on one device, beside those of as many frames spread over several:
//! `cargo run --release -p firefly-bench --features cuda --example several_devices -- cuda:0,cuda:1 4194304`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use burn::tensor::{Device, Distribution, Tensor};
use firefly_app::device::DeviceName;
use firefly_app::number::{duration, significant};
use firefly_bench::harness::statistics::Spread;
use firefly_models::{WelchPeaks, WelchPeaksConfig};

const ROUNDS: usize = 31;
/// Calls per round and device, before one synchronisation.
const CALLS: usize = 16;
const FRAME: usize = 384;

/// Frames on a device, and the model there.
struct Resident {
    device: Device,
    model: WelchPeaks,
    frames: Tensor<2>,
}

impl Resident {
    fn new(device: &Device, frames: usize) -> Self {
        let model: WelchPeaks = WelchPeaksConfig::new().init(device);
        let frames = Tensor::random([frames, FRAME], Distribution::Default, device);
        Self { device: device.clone(), model, frames }
    }

    fn run(&self) {
        let peaks: Vec<_> = (0..CALLS).map(|_| self.model.forward(self.frames.clone())).collect();
        self.device.sync().unwrap();
        drop(peaks);
    }
}

fn main() {
    let names = std::env::args().nth(1).unwrap_or("cpu".into());
    let frames: usize = std::env::args().nth(2).unwrap_or("8192".into()).parse().unwrap();
    let devices: Vec<Device> =
        names.split(',').map(|name| name.parse::<DeviceName>().unwrap().open().unwrap()).collect();
    let one = [Resident::new(&devices[0], frames)];
    let several: Vec<Resident> = devices.iter().map(|device| Resident::new(device, frames / devices.len())).collect();
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let times = [time(&one), time(&several)];
        // The first round compiles and allocates.
        if round > 0 {
            alone.push(times[0]);
            together.push(times[1]);
        }
    }
    let ratios: Vec<f64> = alone.iter().zip(&together).map(|(alone, together)| alone / together).collect();
    let [alone, together, ratio] = [alone, together, ratios].map(|samples| Spread::of(samples).unwrap());
    let times =
        |spread: Spread| format!("{} ({} to {})", duration(spread.median), duration(spread.p10), duration(spread.p90));
    println!("{frames} frames, n 256, two segments, K 16; medians of {ROUNDS}, 10th to 90th percentile");
    println!("on {}: {}", DeviceName::of(&devices[0]), times(alone));
    println!("on {names}: {}", times(together));
    println!("speed: {} times", significant(ratio.median, 3));
}

/// Nanoseconds per call of all residents, which start together, each on a thread of its own.
fn time(residents: &[Resident]) -> f64 {
    let start = Barrier::new(residents.len() + 1);
    thread::scope(|scope| {
        for resident in residents {
            scope.spawn(|| {
                start.wait();
                resident.run();
            });
        }
        start.wait();
        // The scope ends when all threads have.
        Instant::now()
    })
    .elapsed()
    .as_nanos() as f64
        / CALLS as f64
}
