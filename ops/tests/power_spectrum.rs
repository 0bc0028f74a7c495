//! Power of rows and of segments of any length: against the definition, SciPy, and differences in float64.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, Tensor};
use common::devices::{CpuTest, DeviceTest, Trials, computed, is_software, tests};
use common::tape::{frame, gradients, rows, run_psd, welch_inputs};
use common::{definition, integers, noise, relative_error, tensor, transform_tolerance, values, worst_row_error};
use firefly_ops::instruction_sets::InstructionSet;
use firefly_ops::{
    Detrend, PowerSpectrumOptions, Scaling, WelchOptions, Window, WindowSymmetry, power_spectrum, top_k, welch_peaks,
    welch_psd,
};
use firefly_reference::welch;
use serde::Deserialize;

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        segments_of_any_length_match_the_definition,
        gradients_match_those_in_float64,
        peaks_are_the_strongest_bins,
        spectra_are_those_of_one_segment,
    ];
    let on_cpu = tests![CpuTest:
        any_number_of_rows_is_right_to_the_last,
        gradients_match_differences,
        spectra_are_those_of_scipy,
        a_row_that_is_not_finite_changes_no_other,
        wrong_arguments_are_refused_by_name,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}

/// Lengths that are no power of two, or too short for butterflies: of small factors, primes, and with a large factor.
const LENGTHS: [usize; 14] = [1, 2, 3, 4, 5, 6, 12, 15, 60, 97, 100, 211, 446, 1000];

/// Settings of a length in which segments, scalings and detrendings alternate.
fn settings(device: &Device) -> impl Iterator<Item = WelchOptions> {
    let lengths = LENGTHS.into_iter().filter(|n| !is_software(device) || [1, 15, 60].contains(n));
    lengths.enumerate().flat_map(|(i, n)| {
        let scalings = [Scaling::Power, Scaling::Spectrum, Scaling::Density { sample_rate: 2.5 }];
        (1..=3).map(move |segments| {
            let options = WelchOptions::new(n, segments).with_hop([n / 2, n, n + 3][(i + segments) % 3].max(1));
            let detrend = [Detrend::None, Detrend::Constant][segments % 2 * usize::from(n > 1)];
            options.with_scaling(scalings[(i + segments) % 3]).with_detrend(detrend)
        })
    })
}

/// A window without zeros or symmetry.
fn taper(n: usize) -> Vec<f64> {
    if n == 1 { vec![0.5] } else { common::tape::taper(n) }
}

/// Checks rows of a setting, of which each has samples past its last segment.
fn check(device: &Device, dtype: DType, count: usize, options: &WelchOptions) {
    let (n, length) = (options.n_fft, frame(options));
    let (signal, window) = (noise(count * length, (n + count) as u64), taper(n));
    let expected = welch::welch_psd(&signal, length, &window, &definition(options));
    let power =
        welch_psd(tensor::<2>(&signal, [count, length], device, dtype), tensor(&window, [n], device, dtype), options);
    let found = values(power.unwrap());
    let tolerance = if dtype == DType::F64 { 1e-13 } else { 4.0 * transform_tolerance(n) };
    let error = worst_row_error(&found, &expected, options.bins());
    assert!(error <= tolerance, "{options:?}, {count} rows, {dtype:?}: relative error {error:.1e}");
}

fn segments_of_any_length_match_the_definition(device: &Device) {
    for options in settings(device) {
        for &dtype in computed(device) {
            check(device, dtype, 3, &options);
            check(device, dtype, 20, &options);
        }
    }
}

fn any_number_of_rows_is_right_to_the_last() {
    for set in InstructionSet::available() {
        set.force(|| {
            for count in [1, 6, 7, 8, 9, 15, 16, 17, 33, 70] {
                for n in [6, 15, 60] {
                    check(&Device::flex(), DType::F32, count, &WelchOptions::new(n, 2).with_detrend(Detrend::Constant));
                }
            }
        });
    }
}

fn gradients_match_those_in_float64(device: &Device) {
    for options in settings(device).filter(|options| options.n_fft > 1) {
        let signal = noise(9 * frame(&options), 1);
        let inputs = welch_inputs(&options, signal);
        let on = |device: &Device, dtype| {
            let coefficients = [noise(9 * options.bins(), 5)];
            let tape = device.clone().autodiff();
            gradients(&inputs, &[true, true], &coefficients, &tape, dtype, |leaves| run_psd(leaves, &options))
        };
        let (found, expected) = (on(device, DType::F32), on(&Device::flex(), DType::F64));
        for ((found, expected), input) in found.into_iter().zip(expected).zip(&inputs) {
            let error = relative_error(&found.unwrap(), &expected.unwrap());
            assert!(error <= 2e-5, "{options:?}, {}: relative error {error:.1e}", input.name);
        }
    }
}

fn gradients_match_differences() {
    const STEP: f64 = 1e-6;
    for options in settings(&Device::flex()).filter(|options| (2..100).contains(&options.n_fft)) {
        let inputs = welch_inputs(&options, noise(2 * frame(&options), 1));
        let plain: Vec<Vec<f64>> = inputs.iter().map(|input| input.values.clone()).collect();
        let weights = noise(2 * options.bins(), 3);
        let loss = |inputs: &[Vec<f64>]| -> f64 {
            let leaves: Vec<_> =
                inputs.iter().map(|x| tensor::<1>(x, [x.len()], &Device::flex(), DType::F64)).collect();
            let power = run_psd(&leaves, &options).into_iter().flat_map(values);
            power.zip(&weights).map(|(power, weight)| power * weight).sum()
        };
        let tape = Device::flex().autodiff();
        let run = |leaves: &[Tensor<1>]| run_psd(leaves, &options);
        let found = gradients(&inputs, &[true, true], std::slice::from_ref(&weights), &tape, DType::F64, run);
        for (which, found) in found.into_iter().enumerate() {
            let found = found.unwrap();
            let largest = found.iter().fold(0.0, |largest: f64, g| largest.max(g.abs()));
            for i in 0..found.len() {
                let at = |step: f64| {
                    let mut moved = plain.clone();
                    moved[which][i] += step;
                    loss(&moved)
                };
                let difference = (at(STEP) - at(-STEP)) / (2.0 * STEP);
                let error = (found[i] - difference).abs();
                assert!(error < 1e-6 * largest + 1e-9, "{options:?}, {which}[{i}]: {} is not {difference}", found[i]);
            }
        }
    }
}

fn peaks_are_the_strongest_bins(device: &Device) {
    for options in settings(device) {
        let (n, length) = (options.n_fft, frame(&options));
        let signal = tensor::<2>(&noise(19 * length, 2), [19, length], device, DType::F32);
        let window = tensor::<1>(&taper(n), [n], device, DType::F32);
        let k = options.bins().min(5);
        let peaks = welch_peaks(signal.clone(), window.clone(), &options, k).unwrap();
        let expected = top_k(welch_psd(signal, window, &options).unwrap(), k).unwrap();
        assert_eq!(integers(peaks.bins), integers(expected.bins), "{options:?}");
        assert_eq!(values(peaks.power), values(expected.power), "{options:?}");
    }
}

fn spectra_are_those_of_one_segment(device: &Device) {
    for n in LENGTHS.into_iter().filter(|n| !is_software(device) || [15, 60].contains(n)) {
        let signal = tensor::<2>(&noise(9 * n, 2), [9, n], device, DType::F32);
        for window in [None, Some(tensor::<1>(&taper(n), [n], device, DType::F32))] {
            let options = PowerSpectrumOptions::new().with_scaling(Scaling::Density { sample_rate: 4.0 });
            let welch = WelchOptions::new(n, 1).with_hop(1).with_scaling(options.scaling);
            let ones = window.clone().unwrap_or_else(|| Tensor::ones([n], device));
            let expected = values(welch_psd(signal.clone(), ones, &welch).unwrap());
            let found = power_spectrum(signal.clone().reshape([3, 3, n]), window, &options).unwrap();
            assert_eq!(found.dims(), [3, 3, n / 2 + 1]);
            assert_eq!(values(found), expected);
        }
    }
}

/// A case of `fixtures/make_power_spectrum.py`.
#[derive(Deserialize)]
struct Fixture {
    window: String,
    scaling: String,
    constant: bool,
    samples: Vec<f64>,
    power: Vec<f64>,
}

fn spectra_are_those_of_scipy() {
    let fixtures: Vec<Fixture> = serde_json::from_str(include_str!("fixtures/power_spectrum.json")).unwrap();
    assert_eq!(fixtures.len(), 8);
    let device = Device::flex();
    for Fixture { window, scaling, constant, samples, power } in fixtures {
        let scaling = match scaling.as_str() {
            "density" => Scaling::Density { sample_rate: 2.5 },
            _ => Scaling::Spectrum,
        };
        let detrend = if constant { Detrend::Constant } else { Detrend::None };
        let n = samples.len();
        let options = PowerSpectrumOptions::new().with_scaling(scaling).with_detrend(detrend);
        let window = (window != "boxcar").then(|| {
            let coefficients = window.parse::<Window>().unwrap().coefficients(n, WindowSymmetry::Periodic);
            tensor::<1>(&coefficients, [n], &device, DType::F64)
        });
        let found = power_spectrum(tensor::<1>(&samples, [n], &device, DType::F64), window, &options).unwrap();
        let largest = power.iter().copied().fold(0.0, f64::max);
        for (found, expected) in values(found).into_iter().zip(power) {
            assert!((found - expected).abs() <= 1e-13 * largest, "{n} samples: {found} is not {expected}");
        }
    }
}

fn a_row_that_is_not_finite_changes_no_other() {
    for n in [60, 211, 446] {
        let mut signal = noise(20 * n, 1);
        let of = |signal: &[f64]| {
            let signal = tensor::<2>(signal, [20, n], &Device::flex(), DType::F32);
            values(power_spectrum(signal, None, &PowerSpectrumOptions::new()).unwrap())
        };
        let clean = of(&signal);
        signal[7 * n + 3] = f64::NAN;
        for (row, (found, clean)) in of(&signal).chunks(n / 2 + 1).zip(clean.chunks(n / 2 + 1)).enumerate() {
            assert_eq!(found == clean, row != 7, "row {row} of {n}");
        }
    }
}

fn wrong_arguments_are_refused_by_name() {
    let device = Device::flex();
    let run = |n: usize, window: usize| {
        let window = Some(Tensor::ones([window], &device));
        power_spectrum(rows(&Tensor::zeros([3 * n.max(1)], &device), n.max(1)), window, &PowerSpectrumOptions::new())
    };
    let error = run(5, 4).unwrap_err().to_string();
    assert_eq!(error, "power_spectrum: `window` is [4], but must be [5]");
    let empty = power_spectrum(Tensor::<2>::zeros([3, 0], &device), None, &PowerSpectrumOptions::new());
    let expected = "power_spectrum: `signal` is 0 samples per row, but must be at least 1";
    assert_eq!(empty.unwrap_err().to_string(), expected);
    let options = PowerSpectrumOptions::new().with_scaling(Scaling::Density { sample_rate: 0.0 });
    let error = power_spectrum(Tensor::<1>::zeros([4], &device), None, &options).unwrap_err();
    assert_eq!((error.operation, error.argument), ("power_spectrum", "sample_rate"));
}
