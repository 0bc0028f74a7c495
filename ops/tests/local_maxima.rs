//! `local_maxima` against SciPy's `find_peaks` and the definition: bins, prominence, offsets, gradients and errors.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and says how close it came")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, FloatDType, Tensor};
use common::devices::{CpuTest, DeviceTest, Trials, computed, is_software, tests};
use common::maxima_cases::MaximaCase;
use common::{integers, noise, relative_error, same, tensor, uniform, values};
use firefly_ops::options::{Interpolation, MAX_TOP_K_LENGTH};
use firefly_ops::{LocalMaxima, LocalMaximaOptions, WelchOptions, Window, WindowSymmetry, local_maxima, welch_psd};
use firefly_reference::local_maxima::{Conditions, base, local_maxima as definition};
use rayon::ThreadPoolBuilder;

const INTERPOLATIONS: [Interpolation; 2] = [Interpolation::LogParabola, Interpolation::Hann];

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        stored_cases_equal_scipy,
        rows_of_any_kind_equal_the_definition,
        offsets_of_a_tone_in_noise_are_within_a_fiftieth_of_a_bin,
        gradients_are_those_of_double_precision,
    ];
    let on_cpu = tests![CpuTest:
        gradients_match_finite_differences,
        neighbours_that_are_not_positive_give_no_offset,
        small_floats_are_searched_as_f32,
        rows_do_not_depend_on_threads,
        the_longest_row_is_searched,
        arguments_out_of_range_are_refused,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}

fn stored_cases_equal_scipy(device: &Device) {
    // Each call takes milliseconds on a device in software.
    let step = if is_software(device) { 10 } else { 1 };
    let cases = MaximaCase::load();
    assert_eq!(cases.len(), 1000);
    for &dtype in computed(device) {
        for case in cases.iter().step_by(step) {
            let spectrum = tensor(&case.spectrum(), [1, case.length], device, dtype);
            let found = local_maxima(spectrum, &case.options(), case.length).unwrap();
            let (bins, power, prominence) = (integers(found.bins), values(found.power), values(found.prominence));
            let count = bins.iter().filter(|&&bin| bin >= 0).count();
            assert!(bins[count..].iter().all(|&bin| bin == -1), "{dtype:?}, {case:?}");
            assert!(power[..count].is_sorted_by(|a, b| a >= b), "{dtype:?}, {case:?}");
            let mut found: Vec<(i64, f64)> = bins.into_iter().zip(prominence).take(count).collect();
            found.sort_by_key(|&(bin, _)| bin);
            assert_eq!(found, case.peaks().collect::<Vec<_>>(), "{dtype:?}, {case:?}");
        }
    }
}

/// Multiples of 1/64, of which many are equal, and some values that are not finite: differences are exact in f32.
fn special_values(count: usize, seed: u64) -> Vec<f64> {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
    let value = |(i, (noise, kind)): (usize, (f64, f64))| match kind {
        kind if kind < 0.6 => (64.0 * noise).round() / 64.0,
        kind if kind < 0.95 => (3.0 * noise).round(),
        _ => special[i % special.len()],
    };
    noise(count, seed).into_iter().zip(uniform(count, 0.0..1.0, seed + 1)).enumerate().map(value).collect()
}

fn conditions() -> [LocalMaximaOptions; 6] {
    let any = LocalMaximaOptions::new();
    [
        any,
        any.with_height(0.25),
        any.with_distance(2).with_prominence(0.5),
        any.with_distance(5),
        any.with_distance(3).with_prominence(0.25).with_height(-0.5),
        any.with_distance(usize::MAX),
    ]
}

fn rows_of_any_kind_equal_the_definition(device: &Device) {
    const ROWS: usize = 7;
    for &dtype in computed(device) {
        for length in [1, 2, 3, 16, 33, 129, 300] {
            let input = special_values(ROWS * length, length as u64);
            let on_device = tensor(&input, [ROWS, length], device, dtype);
            for (options, k) in conditions().into_iter().zip([1, 5, 16, 129, 4, 3]) {
                let k = length.min(k);
                let label = format!("{dtype:?}, length {length}, k {k}, {options:?}");
                let LocalMaximaOptions { height, distance, prominence, .. } = options;
                let (bins, bases) = definition(&input, length, &Conditions { height, distance, prominence }, k);
                let found = local_maxima(on_device.clone(), &options, k).unwrap();
                assert_eq!(integers(found.bins), bins, "{label}");
                let (mut power, mut prominence) = (Vec::new(), Vec::new());
                for (place, (&bin, &base)) in bins.iter().zip(&bases).enumerate() {
                    let row = &input[place / k * length..][..length];
                    let at = |bin: i64| usize::try_from(bin).map_or(f64::NAN, |bin| row[bin]);
                    power.push(at(bin));
                    prominence.push(at(bin) - at(base));
                }
                assert!(equal(&values(found.power), &power), "{label}");
                assert!(equal(&values(found.prominence), &prominence), "{label}");
                let offsets = values(found.offset);
                assert!(offsets.iter().zip(&bins).all(|(offset, &bin)| offset.is_nan() == (bin < 0)), "{label}");
            }
        }
    }
    let none = local_maxima(Tensor::<3>::zeros([2, 0, 9], device), &LocalMaximaOptions::new(), 4).unwrap();
    assert_eq!((none.bins.dims(), none.power.dims(), none.offset.dims()), ([2, 0, 4], [2, 0, 4], [2, 0, 4]));
}

/// Whether numbers are equal, 0 and −0 as well as NaN.
fn equal(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || a.is_nan() && b.is_nan())
}

/// A tone whose power is 40 dB above that of white noise, at 96 places between bins.
fn offsets_of_a_tone_in_noise_are_within_a_fiftieth_of_a_bin(device: &Device) {
    const N: usize = 256;
    const ROWS: usize = 96;
    for segments in [1, 8] {
        let options = WelchOptions::new(N, segments);
        // Uniform noise from −a to a has a power of a² / 3.
        let amplitude = (3.0 * 0.5e-4f64).sqrt();
        let noise = noise(ROWS * options.frame(), 7);
        let place = |row: usize| 20.0 + row as f64 * 0.927;
        let sample = |i: usize| {
            let (row, time) = (i / options.frame(), (i % options.frame()) as f64);
            (std::f64::consts::TAU * place(row) * time / N as f64 + row as f64).cos() + amplitude * noise[i]
        };
        let samples: Vec<f64> = (0..ROWS * options.frame()).map(sample).collect();
        let signal = tensor(&samples, [ROWS, options.frame()], device, DType::F32);
        let window = Window::Hann.tensor(N, WindowSymmetry::Periodic, FloatDType::F32, device);
        let power = welch_psd(signal, window, &options).unwrap();
        for (interpolation, limit) in INTERPOLATIONS.into_iter().zip([0.02, 0.004]) {
            let maxima = LocalMaximaOptions::new().with_interpolation(interpolation);
            let found = local_maxima(power.clone(), &maxima, 1).unwrap();
            let lines = integers(found.bins).into_iter().zip(values(found.offset));
            let errors = lines.enumerate().map(|(row, (bin, offset))| (bin as f64 + offset - place(row)).abs());
            let worst = errors.fold(0.0, f64::max);
            println!("{segments} segments, {interpolation}: at worst {worst:.5} bins");
            assert!(worst <= limit, "{segments} segments, {interpolation}: off by {worst:.4} bins");
        }
    }
}

/// Coefficients without zeros.
fn coefficients(count: usize, seed: u64) -> Vec<f64> {
    uniform(count, 0.5..2.0, seed)
}

/// Rows of positive values, no two of which are close.
fn positive_rows(rows: usize, length: usize) -> Vec<f64> {
    let order = |i: usize| (i * 37 + i * i * 11) % 101;
    (0..rows * length).map(|i| 0.5 + order(i) as f64 / 64.0 + (i as f64) / 4096.0).collect()
}

/// Σ coefficients · (power, prominence, offset) over the maxima that there are.
fn functional(found: LocalMaxima<2>) -> Tensor<1> {
    let missing = found.bins.clone().lower_elem(0);
    let [rows, k] = found.power.dims();
    let terms = [found.power, found.prominence, found.offset].into_iter().zip(1..).map(|(output, seed)| {
        let coefficients = tensor(&coefficients(rows * k, seed), [rows, k], &output.device(), output.dtype());
        (output.mask_fill(missing.clone(), 0.0) * coefficients).sum()
    });
    terms.reduce(|a, b| a + b).unwrap()
}

const SHAPE: [usize; 2] = [3, 23];
const K: usize = 9;

/// Gradients of [`functional`] in the values.
fn gradients(device: &Device, dtype: DType, options: &LocalMaximaOptions) -> Vec<f64> {
    let input = tensor(&positive_rows(SHAPE[0], SHAPE[1]), SHAPE, device, dtype).require_grad();
    let loss = functional(local_maxima(input.clone(), options, K).unwrap());
    values(input.grad(&loss.backward()).unwrap())
}

fn gradients_match_finite_differences() {
    let (plain, rows) = (Device::flex(), positive_rows(SHAPE[0], SHAPE[1]));
    for interpolation in INTERPOLATIONS {
        let options = LocalMaximaOptions::new().with_distance(3).with_interpolation(interpolation);
        let loss = |rows: &[f64]| {
            let found = local_maxima(tensor(rows, SHAPE, &plain, DType::F64), &options, K).unwrap();
            values(functional(found))[0]
        };
        let found = integers(local_maxima(tensor(&rows, SHAPE, &plain, DType::F64), &options, K).unwrap().bins);
        assert!(found.iter().filter(|&&bin| bin >= 0).count() > 8 && found.contains(&-1), "{found:?}");
        for tape in common::tape::tapes() {
            let gradient = gradients(&tape, DType::F64, &options);
            for (i, gradient) in gradient.iter().enumerate() {
                let moved = |step: f64| {
                    let mut rows = rows.clone();
                    rows[i] += step;
                    loss(&rows)
                };
                let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                let close = (gradient - difference).abs() <= 1e-6 + 1e-5 * difference.abs();
                assert!(close, "{interpolation}, value {i}: {gradient} is not {difference}");
            }
        }
    }
}

fn gradients_are_those_of_double_precision(device: &Device) {
    for interpolation in INTERPOLATIONS {
        let options = LocalMaximaOptions::new().with_interpolation(interpolation);
        let expected = gradients(&Device::flex().autodiff(), DType::F64, &options);
        let found = gradients(&device.clone().autodiff(), DType::F32, &options);
        let error = relative_error(&found, &expected);
        assert!(error <= 1e-5, "{interpolation}: relative error {error:.1e}");
    }
}

fn neighbours_that_are_not_positive_give_no_offset() {
    let row = [0.0, 3.0, 1.0, 0.0, -2.0, -1.0, -3.0, 1.0, 2.0, 2.0, 1.0, 5.0, 5.0, 5.0, 1.0];
    for interpolation in INTERPOLATIONS {
        let options = LocalMaximaOptions::new().with_interpolation(interpolation);
        let device = Device::flex().autodiff();
        let input = tensor(&row, [row.len()], &device, DType::F32).require_grad();
        let found = local_maxima(input.clone(), &options, 5).unwrap();
        assert_eq!(integers(found.bins.clone()), [12, 1, 8, 5, -1]);
        let offsets = values(found.offset.clone());
        // Of a plateau of three, of bins beside 0 or negative values; a plateau of two is in its middle.
        assert_eq!([offsets[0], offsets[1], offsets[3]], [0.0; 3]);
        if interpolation == Interpolation::LogParabola {
            assert!((offsets[2] - 0.5).abs() < 1e-6);
        }
        let missing = found.bins.lower_elem(0);
        let loss = found.offset.mask_fill(missing, 0.0).sum();
        let gradient = values(input.grad(&loss.backward()).unwrap());
        assert!(gradient.iter().all(|gradient| gradient.is_finite()), "{interpolation}: {gradient:?}");
    }
}

fn small_floats_are_searched_as_f32() {
    let input = tensor(&special_values(3 * 40, 8), [3, 40], &Device::flex(), DType::F32);
    for small in [DType::F16, DType::BF16] {
        let small = input.clone().cast(small);
        let [found, expected] = [small.clone(), small.cast(DType::F32)]
            .map(|input| local_maxima(input, &LocalMaximaOptions::new(), 9).unwrap());
        assert_eq!((found.power.dtype(), found.offset.dtype()), (DType::F32, DType::F32));
        assert_eq!(integers(found.bins), integers(expected.bins));
        assert!(same(&values(found.prominence), &values(expected.prominence)));
    }
}

fn rows_do_not_depend_on_threads() {
    let input = special_values(3001 * 65, 5);
    let run = |threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let input = tensor(&input, [3001, 65], &Device::flex(), DType::F32);
            let found = local_maxima(input, &LocalMaximaOptions::new().with_distance(4), 6).unwrap();
            (integers(found.bins), values(found.prominence), values(found.offset))
        })
    };
    let (bins, prominence, offset) = run(1);
    for threads in [2, 3] {
        let found = run(threads);
        assert!(found.0 == bins && same(&found.1, &prominence) && same(&found.2, &offset), "{threads} threads");
    }
}

/// A rising saw, whose maxima are each higher than all before: the search takes time that is linear in the length.
fn the_longest_row_is_searched() {
    let saw = |i: usize| i as f64 + if i.is_multiple_of(2) { 0.0 } else { 3.0 };
    let row: Vec<f64> = (0..MAX_TOP_K_LENGTH).map(saw).collect();
    let input = tensor(&row, [1, MAX_TOP_K_LENGTH], &Device::flex(), DType::F32);
    let options = LocalMaximaOptions::new().with_prominence(2.0).with_distance(100);
    let found = local_maxima(input, &options, 3).unwrap();
    let last = MAX_TOP_K_LENGTH as i64 - 3;
    assert_eq!(integers(found.bins), [last, last - 100, last - 200]);
    let expected = base(&row, last as usize);
    assert_eq!(values(found.prominence)[0], row[last as usize] - row[expected]);
}

fn arguments_out_of_range_are_refused() {
    let any = LocalMaximaOptions::new();
    let refused = |options: LocalMaximaOptions, length: usize, k: usize| {
        let error = local_maxima(Tensor::<2>::zeros([1, length], &Device::flex()), &options, k).err().unwrap();
        assert_eq!(error.operation, "local_maxima");
        (error.argument, error.got, error.expected)
    };
    let lengths = "from 1 to 1048576 values per row".to_string();
    assert_eq!(refused(any, 0, 1), ("power", "0 values per row".into(), lengths));
    assert_eq!(refused(any, 5, 6), ("k", "6".into(), "from 1 to the length of a row, 5".into()));
    assert_eq!(refused(any.with_distance(0), 5, 1), ("distance", "0".into(), "at least 1 bin".into()));
    assert_eq!(refused(any.with_height(f64::NAN), 5, 1), ("height", "NaN".into(), "a number".into()));
    assert_eq!(refused(any.with_prominence(f64::NAN), 5, 1), ("prominence", "NaN".into(), "a number".into()));
}
