//! Power of rows and of segments of any length: against the definition, SciPy, and differences in float64.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use common::devices::{CpuTest, DeviceTest, Trials, computed, is_software, tests};
use common::tape::{LeafInput, frame, gradients, input, rows, run_psd, welch_inputs};
use common::{definition, integers, noise, relative_error, same, tensor, transform_tolerance, values, worst_row_error};
use firefly_ops::fft::{ComplexTensor, fftfreq, fftshift};
use firefly_ops::instruction_sets::InstructionSet;
use firefly_ops::options::{Interpolation, SegmentSet};
use firefly_ops::{
    ArgumentError, Band, Detrend, LocalMaximaOptions, PowerSpectrumOptions, Scaling, WelchOptions, Window,
    WindowSymmetry, local_maxima, power_spectrum, power_spectrum_complex, top_k, welch_peaks, welch_peaks_complex,
    welch_psd, welch_psd_complex,
};
use firefly_reference::{Complex, dft, welch};
use serde::Deserialize;

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        segments_of_any_length_match_the_definition,
        gradients_match_those_in_float64,
        peaks_are_the_strongest_bins,
        spectra_are_those_of_one_segment,
        complex_estimates_match_the_definition,
        complex_peaks_are_the_strongest_bins_of_a_band,
        complex_gradients_match_those_in_float64,
    ];
    let on_cpu = tests![CpuTest:
        any_number_of_rows_is_right_to_the_last,
        gradients_match_differences,
        spectra_are_those_of_scipy,
        a_row_that_is_not_finite_changes_no_other,
        wrong_arguments_are_refused_by_name,
        complex_gradients_match_differences,
        complex_bins_are_in_the_order_of_fftfreq,
        complex_peaks_keep_the_contract,
        complex_signals_of_any_rank_and_type_are_taken,
        maxima_of_two_sided_power_have_signed_frequencies,
        wrong_complex_arguments_are_refused_by_name,
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

/// Two-sided power of rows of a complex signal by its definition.
fn two_sided(parts: [&[f64]; 2], length: usize, window: &[f64], options: &WelchOptions) -> Vec<f64> {
    let definition = definition(options);
    let scale = welch::power_scale(window, definition.scaling) / options.averaged() as f64;
    let row = |(re, im): (&[f64], &[f64])| {
        let mut power = vec![0.0; options.n_fft];
        for segment in options.indices() {
            let [re, im] = [re, im].map(|row| welch::tapered_segment(row, window, &definition, segment));
            let values: Vec<Complex> = re.iter().zip(&im).map(|(re, im)| Complex::new(re.re, im.re)).collect();
            dft::dft(&values).iter().zip(&mut power).for_each(|(x, power)| *power += scale * x.norm_sqr());
        }
        power
    };
    parts[0].chunks(length).zip(parts[1].chunks(length)).flat_map(row).collect()
}

/// Settings of complex estimates: those of real ones, and some of the segments.
fn complex_settings(device: &Device) -> impl Iterator<Item = WelchOptions> {
    let some = SegmentSet::new([0, 2]).unwrap();
    settings(device).map(move |options| if options.segments == 3 { options.with_chosen(Some(some)) } else { options })
}

fn complex<const D: usize>(
    parts: &[Vec<f64>; 2],
    shape: [usize; D],
    device: &Device,
    dtype: DType,
) -> ComplexTensor<D> {
    let [re, im] = [0, 1].map(|part| tensor(&parts[part], shape, device, dtype));
    ComplexTensor::new(re, im)
}

fn complex_estimates_match_the_definition(device: &Device) {
    for options in complex_settings(device) {
        let (n, length) = (options.n_fft, frame(&options));
        for &dtype in computed(device) {
            let tolerance = if dtype == DType::F64 { 1e-13 } else { 4.0 * transform_tolerance(n) };
            let check = |found: Tensor<2>, expected: &[f64], name: &str| {
                let error = worst_row_error(&values(found), expected, n);
                assert!(error <= tolerance, "{name}, {options:?}, {dtype:?}: relative error {error:.1e}");
            };
            let parts = [noise(5 * length, 1), noise(5 * length, 2)];
            let window = || tensor(&taper(n), [n], device, dtype);
            let found = welch_psd_complex(complex(&parts, [5, length], device, dtype), window(), &options).unwrap();
            check(found, &two_sided([&parts[0], &parts[1]], length, &taper(n), &options), "welch_psd_complex");
            let row = PowerSpectrumOptions::new().with_scaling(options.scaling).with_detrend(options.detrend);
            let whole = WelchOptions::new(n, 1).with_scaling(options.scaling).with_detrend(options.detrend);
            let parts = [noise(5 * n, 3), noise(5 * n, 4)];
            for (window, coefficients) in [(None, vec![1.0; n]), (Some(window()), taper(n))] {
                let found = power_spectrum_complex(complex(&parts, [5, n], device, dtype), window, &row).unwrap();
                let expected = two_sided([&parts[0], &parts[1]], n, &coefficients, &whole);
                check(found, &expected, "power_spectrum_complex");
            }
        }
    }
}

fn complex_peaks_are_the_strongest_bins_of_a_band(device: &Device) {
    for options in complex_settings(device) {
        let (n, length) = (options.n_fft, frame(&options));
        let parts = [noise(7 * length, 1), noise(7 * length, 2)];
        let signal = || complex(&parts, [7, length], device, DType::F32);
        let window = || tensor::<1>(&taper(n), [n], device, DType::F32);
        let power = values(welch_psd_complex(signal(), window(), &options).unwrap());
        let half = n / 2;
        for band in
            [None, Some(0..n), Some(half.saturating_sub(2)..(half + 3).min(n)), Some(0..half.max(1)), Some(half..n)]
        {
            // Signed frequencies of the band as bins, lower bins first.
            let mut bins: Vec<usize> = band.clone().unwrap_or(0..n).map(|place| (place + n - half) % n).collect();
            bins.sort_unstable();
            let k = bins.len().min(4);
            let options = options.with_band(band.map(Band::new));
            let found = welch_peaks_complex(signal(), window(), &options, k).unwrap();
            let (found_bins, found_power) = (integers(found.bins), values(found.power));
            for (row, power) in power.chunks(n).enumerate() {
                let mut expected = bins.clone();
                expected.sort_by(|a, b| power[*b].total_cmp(&power[*a]));
                for (rank, bin) in expected[..k].iter().enumerate() {
                    assert_eq!(found_bins[row * k + rank], *bin as i64, "{options:?}, row {row}");
                    // A device may fuse the steps otherwise.
                    let error = (found_power[row * k + rank] - power[*bin]).abs();
                    assert!(error <= 1e-6 * power[*bin], "{options:?}, row {row}: {error:.1e}");
                }
            }
        }
    }
}

/// Leaves of a complex estimate: real and imaginary part of two rows, and the window.
fn complex_inputs(options: &WelchOptions) -> Vec<LeafInput> {
    let part = |seed| noise(2 * frame(options), seed);
    vec![input("re", part(1)), input("im", part(2)), input("window", taper(options.n_fft))]
}

/// Power of complex estimates of these leaves: of all bins, of the strongest of a band, and of whole rows.
fn run_complex(leaves: &[Tensor<1>], options: &WelchOptions) -> Vec<Tensor<2>> {
    let (n, length) = (options.n_fft, frame(options));
    let signal = ComplexTensor::new(rows(&leaves[0], length), rows(&leaves[1], length));
    let band = options.with_band(Some(Band::new(n / 2 - n / 3..n / 2 + 1)));
    let peaks = welch_peaks_complex(signal.clone(), leaves[2].clone(), &band, (n / 3).min(3) + 1).unwrap();
    let row = PowerSpectrumOptions::new().with_scaling(options.scaling).with_detrend(options.detrend);
    vec![
        welch_psd_complex(signal.clone(), leaves[2].clone(), options).unwrap(),
        peaks.power,
        power_spectrum_complex(signal.clone(), None, &row).unwrap(),
        power_spectrum_complex(signal.map(|part| part.narrow(1, 0, n)), Some(leaves[2].clone()), &row).unwrap(),
    ]
}

/// Coefficients of the loss: one for each value of the outputs.
fn coefficients(options: &WelchOptions) -> Vec<Vec<f64>> {
    let n = options.n_fft;
    let lengths = [n, (n / 3).min(3) + 1, frame(options), n];
    lengths.iter().zip(5..).map(|(length, seed)| noise(2 * length, seed)).collect()
}

fn complex_gradients_match_those_in_float64(device: &Device) {
    for options in complex_settings(device).filter(|options| options.n_fft > 1) {
        let (inputs, coefficients) = (complex_inputs(&options), coefficients(&options));
        let on = |device: &Device, dtype| {
            let tape = device.clone().autodiff();
            gradients(&inputs, &[true; 3], &coefficients, &tape, dtype, |leaves| run_complex(leaves, &options))
        };
        let (found, expected) = (on(device, DType::F32), on(&Device::flex(), DType::F64));
        for ((found, expected), input) in found.into_iter().zip(expected).zip(&inputs) {
            let error = relative_error(&found.unwrap(), &expected.unwrap());
            assert!(error <= 2e-5, "{options:?}, {}: relative error {error:.1e}", input.name);
        }
    }
}

fn complex_gradients_match_differences() {
    const STEP: f64 = 1e-6;
    for options in complex_settings(&Device::flex()).filter(|options| (2..50).contains(&options.n_fft)) {
        let (inputs, coefficients) = (complex_inputs(&options), coefficients(&options));
        let plain: Vec<Vec<f64>> = inputs.iter().map(|input| input.values.clone()).collect();
        let loss = |inputs: &[Vec<f64>]| -> f64 {
            let leaves: Vec<_> =
                inputs.iter().map(|x| tensor::<1>(x, [x.len()], &Device::flex(), DType::F64)).collect();
            let outputs = run_complex(&leaves, &options).into_iter().flat_map(values);
            outputs.zip(coefficients.iter().flatten()).map(|(power, coefficient)| power * coefficient).sum()
        };
        let tape = Device::flex().autodiff();
        let run = |leaves: &[Tensor<1>]| run_complex(leaves, &options);
        let found = gradients(&inputs, &[true; 3], &coefficients, &tape, DType::F64, run);
        for (which, found) in found.iter().enumerate() {
            let found = found.as_ref().unwrap();
            let largest = found.iter().fold(0.0, |largest: f64, g| largest.max(g.abs()));
            for i in 0..found.len() {
                let at = |step: f64| {
                    let mut moved = plain.clone();
                    moved[which][i] += step;
                    loss(&moved)
                };
                let difference = (at(STEP) - at(-STEP)) / (2.0 * STEP);
                let error = (found[i] - difference).abs();
                assert!(error < 1e-6 * largest + 1e-8, "{options:?}, {which}[{i}]: {} is not {difference}", found[i]);
            }
        }
        // An input that is not tracked changes no gradient of the others.
        let window = gradients(&inputs, &[false, false, true], &coefficients, &tape, DType::F64, run);
        let error = relative_error(window[2].as_ref().unwrap(), found[2].as_ref().unwrap());
        assert!(window[0].is_none() && error < 1e-13, "{options:?}: {error:.1e}");
    }
}

/// A complex tone of `n` samples at a frequency in bins, in rows of one.
fn complex_tone(frequency: f64, n: usize, device: &Device) -> ComplexTensor<1> {
    let angle = |time: usize| std::f64::consts::TAU * frequency * time as f64 / n as f64;
    let part = |part: fn(f64) -> f64| (0..n).map(|time| part(angle(time))).collect();
    complex(&[part(f64::cos), part(f64::sin)], [n], device, DType::F32)
}

fn complex_bins_are_in_the_order_of_fftfreq() {
    let device = Device::flex();
    for n in [15, 16] {
        let frequencies = values(fftfreq(n, 1.0 / n as f64, FloatDType::F64, &device).unwrap());
        for (bin, frequency) in frequencies.into_iter().enumerate() {
            let signal = complex_tone(frequency, n, &device);
            let ones = Tensor::ones([n], &device);
            let peaks = welch_peaks_complex(signal.clone(), ones, &WelchOptions::new(n, 1), 1).unwrap();
            assert_eq!(integers(peaks.bins), [bin as i64], "{frequency} of {n}");
            let power = power_spectrum_complex(signal, None, &PowerSpectrumOptions::new()).unwrap();
            assert_eq!(integers(top_k(power, 1).unwrap().bins), [bin as i64], "{frequency} of {n}");
        }
    }
}

fn complex_peaks_keep_the_contract() {
    let device = Device::flex();
    let options = WelchOptions::new(8, 1);
    let of = |parts: [[f32; 8]; 3], options: &WelchOptions, k| {
        let re = Tensor::<2>::from_floats(parts, &device);
        let peaks = welch_peaks_complex(re, Tensor::ones([8], &device), options, k).unwrap();
        (integers(peaks.bins), values(peaks.power))
    };
    let impulse = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let mut bad = impulse;
    bad[3] = f32::NAN;
    let (bins, power) = of([impulse, bad, impulse], &options, 8);
    let all: Vec<i64> = (0..8).collect();
    assert_eq!(bins, [&all[..], &[-1; 8], &all].concat());
    assert!(power[8..16].iter().all(|power| power.is_nan()) && power[..8] == [1.0; 8] && power[16..] == [1.0; 8]);
    let band = options.with_band(Some(Band::new(3..6)));
    assert_eq!(of([impulse, bad, impulse], &band, 3).0, [0, 1, 7, -1, -1, -1, 0, 1, 7]);
    // The power of the frequency 0 overflows, that of the others is 0.
    let (bins, power) = of([impulse, [3e19; 8], impulse], &band, 3);
    assert_eq!((&bins[3..6], &power[3..5]), (&[1, 7, -1][..], &[0.0, 0.0][..]));
}

fn complex_signals_of_any_rank_and_type_are_taken() {
    let device = Device::flex();
    let options = WelchOptions::new(16, 3).with_hop(5).with_detrend(Detrend::Constant);
    let length = options.frame() + 3;
    let ones = || Tensor::<1>::ones([16], &device);
    let row = PowerSpectrumOptions::new();
    let parts = [1, 2].map(|seed| noise(6 * length, seed).iter().map(|x| (x * 100.0).round()).collect::<Vec<f64>>());
    let expected =
        values(welch_psd_complex(complex(&parts, [6, length], &device, DType::F32), ones(), &options).unwrap());
    let whole = values(power_spectrum_complex(complex(&parts, [6, length], &device, DType::F32), None, &row).unwrap());
    let cube = complex(&parts, [2, 3, length], &device, DType::F32);
    let found = welch_psd_complex(cube.clone(), ones(), &options).unwrap();
    assert_eq!(found.dims(), [2, 3, 16]);
    assert!(same(&values(found), &expected));
    let peaks = welch_peaks_complex(cube.clone(), ones(), &options.with_band(Some(Band::new(6..11))), 4).unwrap();
    assert_eq!((peaks.bins.dims(), peaks.power.dims()), ([2, 3, 4], [2, 3, 4]));
    assert_eq!(power_spectrum_complex(cube, None, &row).unwrap().dims(), [2, 3, length]);
    let first = complex(&parts.clone().map(|part| part[..length].to_vec()), [length], &device, DType::F32);
    assert!(same(&values(welch_psd_complex(first, ones(), &options).unwrap()), &expected[..16]));
    for dtype in [DType::F16, DType::BF16] {
        let found = welch_psd_complex(complex(&parts, [6, length], &device, dtype), ones(), &options).unwrap();
        assert_eq!(found.dtype(), DType::F32);
        assert!(same(&values(found), &expected), "{dtype:?}");
    }
    for dtype in [DType::I8, DType::I16, DType::I32] {
        let part = |part: usize| {
            let data = TensorData::new(parts[part].clone(), [6, length]).convert_dtype(dtype);
            Tensor::<2, Int>::from_data(data, (&device, dtype))
        };
        let signal = || [part(0), part(1)];
        assert!(same(&values(welch_psd_complex(signal(), ones(), &options).unwrap()), &expected), "{dtype:?}");
        assert!(same(&values(power_spectrum_complex(signal(), None, &row).unwrap()), &whole), "{dtype:?}");
        assert_eq!(welch_peaks_complex(signal(), ones(), &options, 1).unwrap().bins.dims(), [6, 1]);
    }
    let empty = || complex(&[vec![], vec![]], [0, length], &device, DType::F32);
    assert_eq!(welch_psd_complex(empty(), ones(), &options).unwrap().dims(), [0, 16]);
    assert_eq!(welch_peaks_complex(empty(), ones(), &options, 2).unwrap().bins.dims(), [0, 2]);
    assert_eq!(power_spectrum_complex(empty(), None, &row).unwrap().dims(), [0, length]);
}

fn maxima_of_two_sided_power_have_signed_frequencies() {
    let device = Device::flex();
    let n = 64;
    let window = Window::Hann.tensor(n, WindowSymmetry::Periodic, FloatDType::F32, &device);
    let signal = complex_tone(-3.3, n, &device) + complex_tone(7.25, n, &device).map(|part| part * 0.1);
    let power = welch_psd_complex(signal, window, &WelchOptions::new(n, 1)).unwrap();
    let options = LocalMaximaOptions::new().with_prominence(0.01).with_interpolation(Interpolation::Hann);
    let found = local_maxima(fftshift(power), &options, 2).unwrap();
    let places = integers(found.bins).into_iter().zip(values(found.offset));
    let frequencies: Vec<f64> = places.map(|(bin, offset)| (bin - 32) as f64 + offset).collect();
    assert!((frequencies[0] + 3.3).abs() < 0.02 && (frequencies[1] - 7.25).abs() < 0.02, "{frequencies:?}");
}

fn wrong_complex_arguments_are_refused_by_name() {
    let device = Device::flex();
    let options = WelchOptions::new(16, 2);
    let part = |length: usize| Tensor::<2>::zeros([3, length], &device);
    let peaks = |lengths: [usize; 2], window: usize, options: &WelchOptions, k: usize| {
        let signal = ComplexTensor::new(part(lengths[0]), part(lengths[1]));
        let (ones, of_peaks) = (Tensor::ones([window], &device), signal.clone());
        let psd = welch_psd_complex(signal, ones.clone(), options).err();
        (psd, welch_peaks_complex(of_peaks, ones, options, k).err())
    };
    let is = |error: Option<ArgumentError>, expected: &str| assert_eq!(error.unwrap().to_string(), expected);
    let density = options.with_scaling(Scaling::Density { sample_rate: 0.0 });
    let some = options.with_chosen(Some(SegmentSet::new([2]).unwrap()));
    for (lengths, window, options, wrong) in [
        ([24, 23], 16, options, "`signal.im` is [3, 23], but must be [3, 24]"),
        (
            [23, 23],
            16,
            options,
            "`signal` is 23 samples per row, but must be at least 24: 2 segments of 16 samples, 8 apart",
        ),
        ([24, 24], 15, options, "`window` is [15], but must be [16]"),
        ([24, 24], 0, WelchOptions::new(0, 2).with_hop(8), "`n_fft` is 0, but must be at least 1"),
        ([24, 24], 16, options.with_hop(0), "`hop` is 0, but must be at least 1"),
        ([24, 24], 16, options.with_segments(0), "`segments` is 0, but must be at least 1"),
        ([24, 24], 16, density, "`sample_rate` is 0, but must be a positive number of hertz"),
        ([24, 24], 16, some, "`chosen` is 2, but must be segments below 2"),
        (
            [24, 24],
            16,
            options.with_band(Some(Band::new(3..17))),
            "`band` is 3..17, but must be one or more bins of 0..16",
        ),
    ] {
        let (psd, peaks) = peaks(lengths, window, &options, 1);
        is(psd, &format!("welch_psd_complex: {wrong}"));
        is(peaks, &format!("welch_peaks_complex: {wrong}"));
    }
    let of_k = |options: &WelchOptions, k| peaks([24, 24], 16, options, k);
    for k in [0, 17] {
        let expected = "but must be from 1 to the number of bins that are searched, 16";
        is(of_k(&options, k).1, &format!("welch_peaks_complex: `k` is {k}, {expected}"));
    }
    let (psd, refused) = of_k(&options.with_band(Some(Band::new(13..16))), 4);
    assert!(psd.is_none());
    is(refused, "welch_peaks_complex: `k` is 4, but must be from 1 to the number of bins that are searched, 3");
    let long = WelchOptions::new((1 << 20) + 1, 1);
    is(of_k(&long, 1).1, "welch_peaks_complex: `n_fft` is 1048577, but must be at most 1048576");

    let spectrum = |lengths: [usize; 2], window: Option<usize>, sample_rate: f64| {
        let signal = ComplexTensor::new(part(lengths[0]), part(lengths[1]));
        let options = PowerSpectrumOptions::new().with_scaling(Scaling::Density { sample_rate });
        power_spectrum_complex(signal, window.map(|length| Tensor::ones([length], &device)), &options).err()
    };
    for (lengths, window, rate, wrong) in [
        ([0, 0], None, 1.0, "`signal` is 0 samples per row, but must be at least 1"),
        ([5, 4], None, 1.0, "`signal.im` is [3, 4], but must be [3, 5]"),
        ([5, 5], Some(4), 1.0, "`window` is [4], but must be [5]"),
        ([5, 5], None, -1.0, "`sample_rate` is -1, but must be a positive number of hertz"),
    ] {
        is(spectrum(lengths, window, rate), &format!("power_spectrum_complex: {wrong}"));
    }
}
