//! Peaks of frames in host memory on a device of a server beside the processor of this process, interleaved:
//! `firefly serve --device cpu`, and in another terminal
//! `cargo run --release -p firefly-bench --features remote --example remote -- remote:127.0.0.1:7700 8192`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use std::time::Instant;

use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use firefly_app::device::DeviceName;
use firefly_app::number::duration;
use firefly_bench::harness::statistics::Percentiles;
use firefly_ops::{HostPeaks, WelchOptions, Window, WindowSymmetry, host_chunks, welch_peaks, welch_peaks_from_host};

const WARMUP: usize = 5;
const ITERATIONS: usize = 101;
const N_FFT: usize = 256;
const SEGMENTS: usize = 2;
const K: usize = 16;

/// A way to compute the peaks of frames.
type Call = fn(&Place, &[f32]) -> HostPeaks;

fn main() {
    let name: DeviceName = std::env::args().nth(1).expect("the name of a server's device").parse().unwrap();
    let batch: usize = std::env::args().nth(2).map_or(8_192, |batch| batch.parse().unwrap());
    let options = WelchOptions::new(N_FFT, SEGMENTS);
    let samples: Vec<f32> = (0..batch * options.frame()).map(|index| (index as f32 * 0.37).sin()).collect();
    let places = [DeviceName::CPU, name].map(|name| Place::new(name.open().unwrap(), options));

    println!("{batch} frames of {} samples, medians of {ITERATIONS} and the range from p10 to p90", options.frame());
    let calls: [(&str, Call); 2] =
        [("from host, in chunks", Place::in_chunks), ("one upload, one call", Place::at_once)];
    for (call_name, call) in calls {
        let expected = call(&places[0], &samples);
        assert!(call(&places[1], &samples) == expected, "the results differ");
        let mut times = [const { Vec::new() }; 2];
        for iteration in 0..WARMUP + ITERATIONS {
            for (place, times) in places.iter().zip(&mut times) {
                let start = Instant::now();
                let peaks = call(place, &samples);
                let elapsed = start.elapsed();
                assert_eq!(peaks.bins.len(), batch * K);
                if iteration >= WARMUP {
                    times.push(elapsed.as_nanos() as f64);
                }
            }
        }
        let [local, remote] = times.map(|times| Percentiles::of(times).unwrap());
        let text =
            |time: Percentiles| format!("{} ({} to {})", duration(time.median), duration(time.p10), duration(time.p90));
        let speed = local.median / remote.median;
        println!("{call_name}: cpu {}, {name} {}, {speed:.2} of the speed", text(local), text(remote));
    }
}

/// A device with the window on it.
struct Place {
    device: Device,
    window: Tensor<1>,
    options: WelchOptions,
}

impl Place {
    fn new(device: Device, options: WelchOptions) -> Self {
        let window = Window::Hann.tensor(N_FFT, WindowSymmetry::Periodic, FloatDType::F32, &device);
        Self { device, window, options }
    }

    fn in_chunks(&self, samples: &[f32]) -> HostPeaks {
        let chunks = host_chunks(samples, self.options.frame(), &self.device).unwrap();
        welch_peaks_from_host(chunks, self.window.clone(), &self.options, K).unwrap()
    }

    fn at_once(&self, samples: &[f32]) -> HostPeaks {
        let shape = [samples.len() / self.options.frame(), self.options.frame()];
        let signal = Tensor::<2>::from_data(TensorData::new(samples.to_vec(), shape), &self.device);
        HostPeaks::read(welch_peaks(signal, self.window.clone(), &self.options, K).unwrap()).unwrap()
    }
}
