//! Times of the operations that are composed of transforms, each checked against its values in f64 before:
//! `cargo run --release -p firefly-ops --example toolbox`, or with `--features cuda` and the argument `cuda`.
//!
//! All operations take turns, in random order. A time is that of one of several calls that are waited for at once.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example ends at the first error")]

use std::time::Instant;

use burn::tensor::{DType, Device, Distribution, FloatDType, Tensor};
use firefly_ops::audio::griffin_lim;
use firefly_ops::cross_spectra::{coherence_matrix, csd_matrix, most_coherent_pairs};
use firefly_ops::fft::{czt, dct, envelope, fft, hilbert, rfft};
use firefly_ops::multitaper::{MultitaperOptions, multitaper_psd};
use firefly_ops::resampling::{resample, resample_poly};
use firefly_ops::{StftOptions, WelchOptions, Window, WindowSymmetry};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Name, shape on a GPU and on a CPU, and the operation, whose result is one of its parts.
type Case = (&'static str, [usize; 2], [usize; 2], fn(Tensor<2>) -> Tensor<1>);

const ROUNDS: usize = 15;
const CALLS: usize = 10;
const BATCH: [usize; 2] = [4096, 4096];
const SMALL: [usize; 2] = [256, 4096];
/// Channels of a minute at 1 kHz.
const CHANNELS: [usize; 2] = [256, 60_000];

const CASES: &[Case] = &[
    ("fft", BATCH, SMALL, |x| fft(x).unwrap().re.flatten(0, 1)),
    ("rfft", BATCH, SMALL, |x| rfft(x).unwrap().re.flatten(0, 1)),
    ("dct II", BATCH, SMALL, |x| dct(x).unwrap().flatten(0, 1)),
    ("czt, 1,024 points", BATCH, SMALL, |x| czt(x, Some(1024), None, None, -1).unwrap().re.flatten(0, 1)),
    ("hilbert", BATCH, SMALL, |x| hilbert(x, None, -1).unwrap().im.flatten(0, 1)),
    ("envelope", BATCH, SMALL, |x| envelope(x, -1).unwrap().flatten(0, 1)),
    ("resample to 3,000", BATCH, SMALL, |x| resample(x, 3000, -1).unwrap().flatten(0, 1)),
    ("resample_poly 2 / 3", BATCH, SMALL, |x| resample_poly(x, 2, 3, -1, None).unwrap().flatten(0, 1)),
    ("multitaper_psd, 7 tapers", [1024, 4096], [64, 4096], |x| {
        multitaper_psd(x, &MultitaperOptions::new(4.0, 1.0)).unwrap().flatten(0, 1)
    }),
    ("griffin_lim, 4 steps", [1024, 4096], [64, 4096], |x| {
        let rows = x.dims()[0];
        let magnitude = x.reshape([rows, 64, 64]).abs().narrow(1, 0, 33);
        griffin_lim::<3, 2>(magnitude, None, &StftOptions::new(64).with_hop(16), 4, 0.99, None, None)
            .unwrap()
            .flatten(0, 1)
    }),
    ("csd_matrix", CHANNELS, [32, 60_000], |x| {
        csd_matrix::<2, 3>(x.clone(), hann(&x), &options(&x)).unwrap().re.flatten(0, 2)
    }),
    ("coherence_matrix", CHANNELS, [32, 60_000], |x| {
        coherence_matrix::<2, 3>(x.clone(), hann(&x), &options(&x)).unwrap().flatten(0, 2)
    }),
    ("most_coherent_pairs, 16", CHANNELS, [32, 60_000], |x| {
        let k = (x.dims()[0] * (x.dims()[0] - 1) / 2).min(16);
        most_coherent_pairs::<2, 1>(x.clone(), hann(&x), &options(&x), k, false).unwrap().coherence
    }),
];

fn options(x: &Tensor<2>) -> WelchOptions {
    WelchOptions::new(256, (x.dims()[1] - 256) / 128 + 1).with_hop(128)
}

fn hann(x: &Tensor<2>) -> Tensor<1> {
    let window: Tensor<1> = Window::Hann.tensor(256, WindowSymmetry::Periodic, FloatDType::F32, &x.device());
    window.cast(x.dtype())
}

fn numbers(tensor: Tensor<1>) -> Vec<f64> {
    tensor.into_data().iter().collect()
}

fn main() {
    let device = match std::env::args().nth(1).as_deref() {
        None | Some("cpu") => Device::flex(),
        #[cfg(feature = "cuda")]
        Some("cuda") => Device::cuda(0),
        Some(name) => panic!("{name} is not a device of this build"),
    };
    let is_cpu = device == Device::flex();
    let shape = |case: &Case| if is_cpu { case.2 } else { case.1 };
    let calls = if is_cpu { 1 } else { CALLS };
    for case in CASES {
        let few = Tensor::<2>::random([3, shape(case)[1]], Distribution::Normal(0.0, 1.0), &Device::flex());
        let got = numbers((case.3)(Tensor::from_data(few.to_data(), &device)));
        let expected = numbers((case.3)(few.cast(DType::F64)));
        let most = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let is_close = got.iter().zip(&expected).all(|(got, expected)| (got - expected).abs() < 1e-4 * most);
        assert!(got.len() == expected.len() && is_close, "{} is not what it is in f64", case.0);
    }
    let mut inputs = Vec::new();
    for case in CASES {
        if !inputs.iter().any(|input: &Tensor<2>| input.dims() == shape(case)) {
            inputs.push(Tensor::<2>::random(shape(case), Distribution::Normal(0.0, 1.0), &device));
        }
    }
    let mut times = vec![Vec::new(); CASES.len()];
    let mut random = StdRng::seed_from_u64(0);
    let mut order: Vec<usize> = (0..CASES.len()).collect();
    // The first two rounds compile and tune.
    for _ in 0..ROUNDS + 2 {
        order.shuffle(&mut random);
        for &index in &order {
            let case = &CASES[index];
            let input = inputs.iter().find(|input| input.dims() == shape(case)).unwrap();
            device.sync().unwrap();
            let start = Instant::now();
            (0..calls).for_each(|_| drop((case.3)(input.clone())));
            device.sync().unwrap();
            times[index].push(start.elapsed().as_secs_f64() * 1e3 / calls as f64);
        }
    }
    println!("| operation | shape | ms, median (least – greatest) |\n| --- | --- | ---: |");
    for (case, times) in CASES.iter().zip(&mut times) {
        let times = &mut times[2..];
        times.sort_by(f64::total_cmp);
        let [rows, n] = shape(case);
        let [median, least, greatest] = [times[times.len() / 2], times[0], times[times.len() - 1]];
        println!("| {} | {rows} × {n} | {median:.3} ({least:.3} – {greatest:.3}) |", case.0);
    }
}
