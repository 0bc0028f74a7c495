//! The operations against SciPy, rustfft in double precision, and the float64 references.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and says how close it came")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, Tensor, TensorData};
use common::devices::{DeviceTest, Trials, computed, takes, tests};
use common::fixtures::Fixtures;
use common::tape::{LeafInput, gradients, input, taper};
use common::weights::{WeightNumbers, every_segment, gained_peaks, gained_psd};
use common::{
    definition, integers, noise, relative_error, rounded, same, tensor, transform_tolerance, values, worst_row_error,
};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::from_host::{host_chunks, welch_peaks_from_host};
use firefly_ops::options::SegmentSet;
use firefly_ops::rustfft_plans::Planned;
use firefly_ops::twiddles::exact_twiddles;
use firefly_ops::{
    Band, Detrend, Direction, Peaks, Scaling, WelchOptions, WelchWeights, butterfly, welch_peaks, welch_psd,
};
use firefly_reference::peaks::top_k;
use firefly_reference::welch::{welch_psd as reference_psd, welch_psd_bins};
use firefly_reference::window::{Symmetry, WindowShape, window};
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

const ROWS: usize = 3;

fn main() -> ExitCode {
    let tests = tests![DeviceTest:
        welch_psd_equals_scipy,
        the_exact_butterfly_equals_rustfft,
        welch_psd_and_peaks_equal_the_reference,
        peaks_of_a_band_are_the_strongest_of_its_bins,
        windows_and_gains_equal_the_reference,
        a_gain_of_one_changes_nothing,
        peaks_from_host_memory_are_those_on_the_device,
        gradients_that_are_needed_equal_those_in_double_precision,
    ];
    Trials::default().on_devices(tests).run()
}

/// Of f32 power, relative to the row's maximum: squaring doubles a transform's relative error.
fn power_tolerance(n: usize) -> f64 {
    2.0 * transform_tolerance(n)
}

fn welch_psd_equals_scipy(device: &Device) {
    let fixtures = Fixtures::load();
    for &dtype in computed(device) {
        let tolerance = if dtype == DType::F32 { 1e-5 } else { 1e-12 };
        let (mut count, mut worst) = (0, 0f64);
        for case in fixtures.cases.iter().filter(|case| takes(device, case.options().n_fft)) {
            let options = case.options();
            let signal = tensor(fixtures.samples(case), [1, case.frame], device, dtype);
            let window = tensor(&case.window(), [options.n_fft], device, dtype);
            let power = welch_psd(signal, window, &options).unwrap();
            assert_eq!((power.dims(), power.dtype()), ([1, options.bins()], dtype));
            let error = relative_error(&values(power), &case.power);
            assert!(error <= tolerance, "{dtype:?}, {}: relative error {error:.1e}", case.describe());
            (count, worst) = (count + 1, worst.max(error));
        }
        println!("{device:?}, {dtype:?}: {count} cases, worst relative error {worst:.1e}");
    }
}

/// Rows of complex numbers through rustfft in double precision.
fn transformed(re: &[f64], im: &[f64], n: usize, direction: FftDirection) -> Vec<Complex<f64>> {
    let mut rows: Vec<_> = re.iter().zip(im).map(|(&re, &im)| Complex { re, im }).collect();
    f64::plan(n, direction).process(&mut rows);
    rows
}

/// max |error| / max |reference| over the rows' complex numbers.
fn complex_error(re: &[f64], im: &[f64], expected: &[Complex<f64>], n: usize) -> f64 {
    let rows = re.chunks(n).zip(im.chunks(n)).zip(expected.chunks(n));
    rows.map(|((re, im), expected)| {
        let errors: Vec<f64> =
            re.iter().zip(im).zip(expected).map(|((&re, &im), e)| (Complex { re, im } - e).norm()).collect();
        let maximum = expected.iter().map(|e| e.norm()).fold(0.0, f64::max);
        assert!(errors.iter().all(|error| error.is_finite()));
        errors.into_iter().fold(0.0, f64::max) / maximum
    })
    .fold(0.0, f64::max)
}

fn the_exact_butterfly_equals_rustfft(device: &Device) {
    for &dtype in computed(device) {
        let mut worst: (f64, usize) = (0.0, 0);
        for stages in (3..=16).filter(|stages| takes(device, 1 << stages)) {
            let n = 1 << stages;
            let tolerance = if dtype == DType::F32 { transform_tolerance(n) } else { 1e-14 };
            let (re, im) = (noise(ROWS * n, n as u64), noise(ROWS * n, n as u64 + 1));
            let input =
                || ComplexTensor::new(tensor(&re, [ROWS, n], device, dtype), tensor(&im, [ROWS, n], device, dtype));
            let expected = transformed(&re, &im, n, FftDirection::Forward);
            let mut check = |what: &str, re: &[f64], im: &[f64], expected: &[Complex<f64>]| {
                let error = complex_error(re, im, expected, n);
                assert!(error <= tolerance, "{dtype:?}, n {n}, {what}: relative error {error:.1e} > {tolerance:.1e}");
                worst = if error / tolerance > worst.0 { (error / tolerance, n) } else { worst };
            };
            let twiddles = exact_twiddles(n, Direction::Forward, dtype.into(), device).unwrap();
            let inverse = exact_twiddles(n, Direction::Inverse, dtype.into(), device).unwrap();
            let open = tensor(&vec![1.0; stages * n / 2], [stages, n / 2], device, dtype);
            for gates in [None, Some(open)] {
                let name = if gates.is_some() { "gates of 1" } else { "no gates" };
                let out = butterfly(input(), twiddles.clone(), gates.clone()).unwrap();
                check(name, &values(out.re.clone()), &values(out.im.clone()), &expected);

                let back = butterfly(out.map(|part| part / n as f64), inverse.clone(), gates).unwrap();
                let original: Vec<_> = re.iter().zip(&im).map(|(&re, &im)| Complex { re, im }).collect();
                check("round trip", &values(back.re), &values(back.im), &original);
            }
            let out = butterfly(input(), inverse, None).unwrap().map(|part| part / n as f64);
            let expected: Vec<_> =
                transformed(&re, &im, n, FftDirection::Inverse).iter().map(|z| z / n as f64).collect();
            check("inverse", &values(out.re), &values(out.im), &expected);
        }
        println!("{dtype:?}: at worst {:.2} of the tolerance, at n {}", worst.0, worst.1);
    }
}

/// Checks peaks against float64 power `[rows, bins]`: the order may differ only among powers within the tolerance.
fn assert_peaks(label: &str, peaks: Peaks<2>, power: &[f64], bins: usize, k: usize, tolerance: f64) {
    let (expected_bins, expected_power) = top_k(power, bins, k);
    let (found_bins, found_power) = (integers(peaks.bins), values(peaks.power));
    assert_eq!((found_bins.len(), found_power.len()), (expected_bins.len(), expected_power.len()));
    for (row, power) in power.chunks(bins).enumerate() {
        let close = tolerance * power.iter().copied().fold(0.0, f64::max);
        let ranks = row * k..(row + 1) * k;
        let mut seen = vec![false; bins];
        for rank in ranks {
            let (found, expected) = (found_bins[rank] as usize, expected_bins[rank] as usize);
            assert!(!std::mem::replace(&mut seen[found], true), "{label}: bin {found} twice in row {row}");
            let apart = (power[found] - power[expected]).abs();
            assert!(found == expected || apart <= close, "{label}: row {row} has bin {found}, not {expected}");
            let error = (found_power[rank] - power[found]).abs();
            assert!(error <= close, "{label}: row {row}, bin {found}: power is off by {error:.1e}, not {close:.1e}");
            let from_expected = (found_power[rank] - expected_power[rank]).abs();
            assert!(from_expected <= 2.0 * close, "{label}: row {row}, rank {}", rank - row * k);
        }
    }
}

/// n from 8 to 65,536 with segments, hops, scalings and detrendings that differ.
fn settings() -> Vec<WelchOptions> {
    let density = Scaling::Density { sample_rate: 48_000.0 };
    let setting = |n_fft, segments, hop, scaling, detrend| {
        WelchOptions::new(n_fft, segments).with_hop(hop).with_scaling(scaling).with_detrend(detrend)
    };
    vec![
        setting(8, 3, 5, Scaling::Power, Detrend::None),
        setting(16, 1, 8, Scaling::Spectrum, Detrend::Constant),
        setting(64, 8, 32, density, Detrend::Constant),
        setting(128, 5, 150, Scaling::Power, Detrend::Constant),
        setting(256, 2, 128, Scaling::Power, Detrend::None),
        setting(512, 4, 100, Scaling::Spectrum, Detrend::None),
        setting(1024, 3, 256, density, Detrend::None),
        setting(4096, 2, 2048, Scaling::Power, Detrend::Constant),
        setting(4096, 3, 1000, Scaling::Spectrum, Detrend::None),
        setting(65_536, 1, 32_768, Scaling::Power, Detrend::None),
    ]
}

/// Noise with two tones and an offset.
fn signal(options: &WelchOptions) -> Vec<f64> {
    let noise = noise(ROWS * options.frame(), 7);
    let tone = |i: usize, frequency: f64| (std::f64::consts::TAU * frequency * i as f64).sin();
    rounded(noise.iter().enumerate().map(|(i, x)| x + 3.0 * tone(i, 0.11) + tone(i, 0.31) + 0.5).collect())
}

fn welch_psd_and_peaks_equal_the_reference(device: &Device) {
    let mut worst: f64 = 0.0;
    for options in settings().into_iter().filter(|options| takes(device, options.n_fft)) {
        let (n, frame, bins) = (options.n_fft, options.frame(), options.bins());
        let samples = signal(&options);
        for shape in [WindowShape::Hann, WindowShape::Hamming, WindowShape::Blackman, WindowShape::Rectangular] {
            let label = format!("{device:?}, {shape:?}, {options:?}");
            let taper = rounded(window(shape, Symmetry::Periodic, n));
            let signal = tensor(&samples, [ROWS, frame], device, DType::F32);
            let window = tensor(&taper, [n], device, DType::F32);
            let power = values(welch_psd(signal.clone(), window.clone(), &options).unwrap());
            if n > 1024 {
                // Some bins are enough where the reference takes n²: the ends, both tones, and others.
                let asked: Vec<usize> = [0, 1, n / 2 - 1, n / 2]
                    .into_iter()
                    .chain([0.11, 0.31].map(|frequency: f64| (frequency * n as f64).round() as usize))
                    .chain((0..58).map(|i| 17 + i * 35))
                    .collect();
                let expected = reference_psd_at(&samples, &taper, &options, &asked);
                let actual: Vec<f64> = power.chunks(bins).flat_map(|row| asked.iter().map(|&k| row[k])).collect();
                let error = worst_row_error(&actual, &expected, asked.len());
                assert!(error <= power_tolerance(n), "{label}: relative error {error:.1e}");
                worst = worst.max(error / power_tolerance(n));
                continue;
            }
            let expected = reference_psd(&samples, frame, &taper, &definition(&options));
            let error = worst_row_error(&power, &expected, bins);
            assert!(error <= power_tolerance(n), "{label}: relative error {error:.1e}");
            worst = worst.max(error / power_tolerance(n));
            for k in [1, bins.min(16), bins] {
                let peaks = welch_peaks(signal.clone(), window.clone(), &options, k).unwrap();
                assert_peaks(&label, peaks, &expected, bins, k, power_tolerance(n));
            }
        }
    }
    println!("at worst {worst:.2} of the tolerance");
}

fn peaks_of_a_band_are_the_strongest_of_its_bins(device: &Device) {
    for n in [16, 64, 100, 256, 1024, 4096].into_iter().filter(|&n| takes(device, n)) {
        let bins = n / 2 + 1;
        let whole = WelchOptions::new(n, 3);
        let samples = noise(ROWS * whole.frame(), n as u64);
        let signal = tensor(&samples, [ROWS, whole.frame()], device, DType::F32);
        let window = tensor(&rounded(window(WindowShape::Hann, Symmetry::Periodic, n)), [n], device, DType::F32);
        let power = values(welch_psd(signal.clone(), window.clone(), &whole).unwrap());
        // Bands of one bin, of few, of any number, without DC, and the upper half.
        for (first, end) in [(3, 4), (bins / 3, bins / 3 + 5), (1, bins * 3 / 4), (1, bins), (bins / 2, bins)] {
            let options = whole.with_band(Some(Band::new(first..end)));
            let in_band: Vec<f64> = power.chunks(bins).flat_map(|row| &row[first..end]).copied().collect();
            let weights = WeightNumbers::perturbed(&whole, 8);
            let gain = tensor(&weights.gain, [bins, 3], device, DType::F32);
            let gained = WelchWeights::new(window.clone()).with_gain(Some(gain));
            let gained_power = values(welch_psd(signal.clone(), gained.clone(), &options).unwrap());
            for k in [1, (end - first).min(16), end - first] {
                let label = format!("{device:?}, n {n}, {first}..{end}, k {k}");
                let (expected, strength) = top_k(&in_band, end - first, k);
                let expected: Vec<i64> = expected.into_iter().map(|bin| bin + first as i64).collect();
                let peaks = welch_peaks(signal.clone(), window.clone(), &options, k).unwrap();
                assert_eq!(integers(peaks.bins), expected, "{label}");
                assert!(same(&values(peaks.power), &strength), "{label}");
                let peaks = welch_peaks(signal.clone(), gained.clone(), &options, k).unwrap();
                let found = integers(peaks.bins);
                assert!(found.iter().all(|&bin| (first as i64..end as i64).contains(&bin)), "{label}: {found:?}");
                let of_bins = found.iter().enumerate().map(|(at, &bin)| gained_power[at / k * bins + bin as usize]);
                assert!(worst_row_error(&values(peaks.power), &of_bins.collect::<Vec<_>>(), k) <= power_tolerance(n));
            }
        }
    }
}

fn reference_psd_at(samples: &[f64], taper: &[f64], options: &WelchOptions, bins: &[usize]) -> Vec<f64> {
    welch_psd_bins(samples, options.frame(), taper, &definition(options), bins)
}

fn windows_and_gains_equal_the_reference(device: &Device) {
    let mut worst: f64 = 0.0;
    let settings =
        settings().into_iter().filter(|options| takes(device, options.n_fft) && options.n_fft.is_power_of_two());
    for (case, options) in settings.enumerate() {
        let (samples, bins, tolerance) = (signal(&options), options.bins(), power_tolerance(options.n_fft));
        let perturbed = WeightNumbers::perturbed(&options, 200 * case as u64 + 3).rounded();
        let positive = perturbed.gain.iter().map(|gain| gain.abs()).collect();
        let positive = WeightNumbers { gain: positive, ..perturbed.clone() };
        let products = perturbed.clone().with_products(&options, 9).rounded();
        // All segments, every second or third one, and, which are not evenly spaced, the first two and the last.
        let apart = (options.segments > 3).then(|| SegmentSet::new([0, 1, options.segments - 1]).unwrap());
        let chosen = [1, 2, 3].map(|step| every_segment(step, &options));
        for options in chosen.into_iter().chain([options.with_chosen(apart)]) {
            for weights in [&perturbed, &positive, &products] {
                let label = format!("{device:?}, {} factors, {options:?}", weights.gain.len() / bins);
                let expected = weights.expected_power(&samples, options.frame(), &options);
                let signal = tensor(&samples, [ROWS, options.frame()], device, DType::F32);
                let parameters = weights.tensors(&options, device, DType::F32);
                let power = values(gained_psd(signal.clone(), &parameters, &options).unwrap());
                let error = worst_row_error(&power, &expected, bins);
                assert!(error <= tolerance, "{label}: relative error {error:.1e}");
                worst = worst.max(error / tolerance);
                for k in [1, bins.min(16), bins] {
                    let peaks = gained_peaks(signal.clone(), &parameters, &options, k).unwrap();
                    assert_peaks(&label, peaks, &expected, bins, k, tolerance);
                }
            }
        }
    }
    println!("at worst {worst:.2} of the tolerance");
}

fn a_gain_of_one_changes_nothing(device: &Device) {
    for &dtype in computed(device) {
        for options in settings().into_iter().filter(|options| takes(device, options.n_fft)) {
            let (frame, bins) = (options.frame(), options.bins());
            let parameters = WeightNumbers::exact(&options).tensors(&options, device, dtype);
            let signal = tensor(&signal(&options), [ROWS, frame], device, dtype);
            let expected = values(welch_psd(signal.clone(), parameters.window.clone(), &options).unwrap());
            let power = values(gained_psd(signal.clone(), &parameters, &options).unwrap());
            assert!(same(&power, &expected), "{dtype:?}, {options:?}");
            let exact = welch_peaks(signal.clone(), parameters.window.clone(), &options, bins).unwrap();
            let peaks = gained_peaks(signal, &parameters, &options, bins).unwrap();
            assert_eq!(integers(peaks.bins), integers(exact.bins), "{dtype:?}, {options:?}");
            assert!(same(&values(peaks.power), &values(exact.power)), "{dtype:?}, {options:?}");
        }
    }
}

/// Checks gradients on a device, of all inputs together and of each alone, against those of the CPU in f64.
fn assert_gradients(
    device: &Device,
    label: &str,
    inputs: &[LeafInput],
    coefficients: &[Vec<f64>],
    run: impl Fn(&[Tensor<1>]) -> Vec<Tensor<2>>,
) {
    let all = vec![true; inputs.len()];
    let expected = gradients(inputs, &all, coefficients, &Device::flex().autodiff(), DType::F64, &run);
    let alone = (0..inputs.len()).map(|only| (0..inputs.len()).map(|input| input == only).collect());
    for tracked in std::iter::once(all).chain(alone) {
        let found = gradients(inputs, &tracked, coefficients, &device.clone().autodiff(), DType::F32, &run);
        for ((input, found), expected) in inputs.iter().zip(found).zip(&expected) {
            if let (Some(found), Some(expected)) = (found, expected) {
                let error = relative_error(&found, expected);
                assert!(error <= 1e-5, "{device:?}, {label}, {tracked:?}, {}: relative error {error:.1e}", input.name);
            }
        }
    }
}

fn gradients_that_are_needed_equal_those_in_double_precision(device: &Device) {
    let density = Scaling::Density { sample_rate: 48_000.0 };
    let detrended = WelchOptions::new(64, 3).with_hop(20).with_detrend(Detrend::Constant).with_scaling(density);
    for (options, taps) in [(detrended, 0), (WelchOptions::new(60, 3).with_hop(70), 5), (WelchOptions::new(15, 2), 0)] {
        let (frame, bins) = (options.frame(), options.bins());
        let mut inputs = vec![input("signal", noise(ROWS * frame, 1)), input("window", taper(options.n_fft))];
        inputs.extend((taps > 0).then(|| input("gain", noise(bins * taps, 5))));
        assert_gradients(device, &format!("{options:?}"), &inputs, &[noise(ROWS * bins, 9)], |leaves| {
            let gain = leaves.get(2).map(|gain| gain.clone().reshape([bins, taps]));
            let weights = WelchWeights::new(leaves[1].clone()).with_gain(gain);
            vec![welch_psd(leaves[0].clone().reshape([ROWS, frame]), weights, &options).unwrap()]
        });
    }
    let (n, stages) = (16, 4);
    let gates = noise(stages * n / 2, 4).iter().map(|gate| 0.5 + 0.3 * gate).collect();
    let (re, im) = (input("re", noise(ROWS * n, 1)), input("im", noise(ROWS * n, 2)));
    let inputs = [re, im, input("twiddles", noise(stages * n, 3)), input("gates", gates)];
    assert_gradients(device, "butterfly", &inputs, &[noise(ROWS * n, 9), noise(ROWS * n, 10)], |leaves| {
        let [re, im] = [0, 1].map(|part: usize| leaves[part].clone().reshape([ROWS, n]));
        let twiddles = leaves[2].clone().reshape([stages, n / 2, 2]);
        let gates = leaves[3].clone().reshape([stages, n / 2]);
        let out = butterfly(ComplexTensor::new(re, im), twiddles, Some(gates)).unwrap();
        vec![out.re, out.im]
    });
}

fn peaks_from_host_memory_are_those_on_the_device(device: &Device) {
    let options = WelchOptions::new(64, 2).with_detrend(Detrend::Constant);
    let frame = options.frame() + 3;
    // More chunks than are under way at once, the last one smaller.
    let rows = 200_000;
    let samples: Vec<f32> = noise(rows * frame, 3).into_iter().map(|sample| sample as f32).collect();
    let taper = window(WindowShape::Hann, Symmetry::Periodic, 64);
    let window = tensor(&taper, [64], device, DType::F32);
    let chunks: Vec<_> = host_chunks(&samples, frame, device).unwrap().collect();
    assert!(chunks.len() > 4);
    assert_eq!(chunks.iter().map(|chunk| chunk.shape()[0]).sum::<usize>(), rows);
    let collected = welch_peaks_from_host(chunks, window.clone(), &options, 7).unwrap();
    // Chunks in memory that is not pinned, on devices that have such memory, and of other sizes.
    let pageable = samples.chunks(7_000 * frame);
    let pageable = pageable.map(|chunk| TensorData::new(chunk.to_vec(), [chunk.len() / frame, frame]));
    let pageable = welch_peaks_from_host(pageable, window.clone(), &options, 7).unwrap();
    let lazy = host_chunks(&samples, frame, device).unwrap();
    let lazy = welch_peaks_from_host(lazy, window.clone(), &options, 7).unwrap();
    assert!(collected == lazy && pageable == lazy);

    let whole = Tensor::<2>::from_data(TensorData::new(samples.clone(), [rows, frame]), device);
    let whole = welch_peaks(whole, window.clone(), &options, 7).unwrap();
    assert_eq!((lazy.bins, lazy.power.len()), (integers(whole.bins), rows * 7));
    let power: Vec<f64> = lazy.power.into_iter().map(f64::from).collect();
    assert!(same(&power, &values(whole.power)));

    let none = welch_peaks_from_host(host_chunks::<f32>(&[], frame, device).unwrap(), window.clone(), &options, 7);
    assert!(none.unwrap().bins.is_empty());
    assert!(welch_peaks_from_host([], window.clone(), &options, 0).is_err(), "no chunks, and no peaks");
    let short = host_chunks(&samples[..60], 60, device).unwrap();
    let error = welch_peaks_from_host(short, window, &options, 7).unwrap_err().to_string();
    assert!(error.starts_with("welch_peaks: `signal` is 60 samples per row"), "{error}");
    let error = host_chunks(&samples[..100], 60, device).err().unwrap();
    assert_eq!((error.argument, error.expected.as_str()), ("samples", "whole frames of 60 samples"));
}
