//! Peaks of frames in the memory of several devices at once, beside the first of them alone, interleaved:
//! `cargo run --release -p firefly-bench --features cuda --example devices -- cuda:0,cuda:1 4194304`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use burn::tensor::{Device, Distribution, FloatDType, Tensor};
use firefly_app::device::DeviceName;
use firefly_app::number::duration;
use firefly_bench::harness::{Percentiles, TurnOrder};
use firefly_ops::{WelchOptions, Window, WindowSymmetry, welch_peaks};

const WARMUP: usize = 5;
const ITERATIONS: usize = 41;
const OPTIONS: WelchOptions = WelchOptions::new(256, 2);
const K: usize = 16;
/// Frames of a tensor.
const PIECE: usize = 1 << 20;
/// Frames whose peaks are compared with the CPU's.
const CHECKED: usize = 1000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let names = arguments.next().expect("names of devices, as in cuda:0,cuda:1");
    let names: Vec<DeviceName> = names.split(',').map(|name| name.parse().unwrap()).collect();
    let frames: usize = arguments.next().map_or(4 << 20, |frames| frames.parse().unwrap());

    // A thread per device, since work is queued per thread.
    let (report, reports) = channel();
    let workers: Vec<Sender<bool>> = names
        .iter()
        .enumerate()
        .map(|(place, &name)| {
            let (work, orders) = channel();
            let (report, share) = (report.clone(), frames / names.len());
            // The first device also has all frames.
            let all = if place == 0 { frames } else { 0 };
            thread::spawn(move || serve(name.open().unwrap(), [share, all], &orders, &report));
            work
        })
        .collect();
    workers.iter().for_each(|_| reports.recv().unwrap());

    let run = |all: bool, workers: &[Sender<bool>]| {
        let start = Instant::now();
        workers.iter().for_each(|worker| worker.send(all).unwrap());
        workers.iter().for_each(|_| reports.recv().unwrap());
        start.elapsed().as_nanos() as f64
    };
    let mut times = [const { Vec::new() }; 2];
    let mut order = TurnOrder::new(2, 0);
    for iteration in 0..WARMUP + ITERATIONS {
        for &which in order.draw() {
            let time = if which == 0 { run(true, &workers[..1]) } else { run(false, &workers) };
            if iteration >= WARMUP {
                times[which].push(time);
            }
        }
    }
    let [one, all] = times.map(|times| Percentiles::of(times).unwrap());
    println!("{frames} frames of {} samples, medians of {ITERATIONS} and the range from p10 to p90", OPTIONS.frame());
    for (name, time) in [(names[0].to_string(), one), (format!("{} devices", names.len()), all)] {
        println!("{name}: {} ({} to {})", duration(time.median), duration(time.p10), duration(time.p90));
    }
    println!("{:.2} times the speed", one.median / all.median);
}

/// Thread that holds `share` and `all` frames on a device, and computes the peaks of either on request, of all where an
/// order is true.
fn serve(device: Device, [share, all]: [usize; 2], orders: &Receiver<bool>, report: &Sender<()>) {
    let window =
        |device: &Device| Window::Hann.tensor(OPTIONS.n_fft, WindowSymmetry::Periodic, FloatDType::F32, device);
    let pieces = |frames: usize| -> Vec<Tensor<2>> {
        let piece = |first: usize| [PIECE.min(frames - first), OPTIONS.frame()];
        (0..frames).step_by(PIECE).map(|first| Tensor::random(piece(first), Distribution::Default, &device)).collect()
    };
    let (share, all, on_device) = (pieces(share), pieces(all), window(&device));

    let checked = share[0].clone().narrow(0, 0, CHECKED.min(share[0].dims()[0]));
    let found = welch_peaks(checked.clone(), on_device.clone(), &OPTIONS, K).unwrap().power.into_data();
    let cpu = Device::flex();
    let expected = welch_peaks(Tensor::<2>::from_data(checked.into_data(), &cpu), window(&cpu), &OPTIONS, K).unwrap();
    for (found, expected) in found.iter::<f32>().zip(expected.power.into_data().iter::<f32>()) {
        assert!((found - expected).abs() <= 1e-5 * expected, "{found} is not {expected}");
    }
    report.send(()).unwrap();

    for of_all in orders {
        let frames = if of_all { &all } else { &share };
        let peaks: Vec<_> =
            frames.iter().map(|frames| welch_peaks(frames.clone(), on_device.clone(), &OPTIONS, K).unwrap()).collect();
        device.sync().unwrap();
        drop(peaks);
        report.send(()).unwrap();
    }
}
