//! Significance of peaks: against definitions with SciPy, and rates and errors in simulated noise.

use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use firefly_ops::from_host::HostError;
use firefly_ops::options::{Average, SegmentSet};
use firefly_ops::significance::{DEFAULT_NEIGHBOURS, PeakEstimate, PeakTest};
use firefly_ops::{Band, Scaling, WelchOptions, Window, WindowSymmetry, welch_peaks};
use serde::Deserialize;

use crate::BOTH;
use crate::common::{tensor, uniform};

/// The cases of `fixtures/make_significance.py`.
#[derive(Deserialize)]
struct Fixtures {
    samples: Vec<f64>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    window: String,
    hop: usize,
    segments: usize,
    neighbours: usize,
    searched: usize,
    degrees_of_freedom: f64,
    peaks: Vec<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    bin: usize,
    ratio: f64,
    p_value: f64,
    false_alarm: f64,
    frequency: f64,
    frequency_error: f64,
    amplitude: f64,
    amplitude_error: f64,
    phase: f64,
    phase_error: f64,
}

fn window(window: Window, n: usize, dtype: FloatDType) -> Tensor<1> {
    window.tensor(n, WindowSymmetry::Periodic, dtype, &Device::flex())
}

/// Numbers with a standard normal distribution, by G. E. P. Box and M. E. Muller's method.
fn normal(count: usize, seed: u64) -> Vec<f64> {
    let pairs = uniform(count, 1e-7..1.0, seed).into_iter().zip(uniform(count, 0.0..1.0, seed + 1));
    pairs.map(|(radius, angle)| (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()).collect()
}

fn argument<T>(result: Result<T, HostError>) -> &'static str {
    match result {
        Err(HostError::Argument(error)) if error.operation == "significance" => error.argument,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the argument is accepted"),
    }
}

#[test]
fn estimates_are_those_of_the_definition() {
    let fixtures: Fixtures = serde_json::from_str(include_str!("../fixtures/significance.json")).unwrap();
    assert_eq!(fixtures.cases.len(), 8);
    for (case, dtype) in fixtures.cases.iter().flat_map(|case| BOTH.map(|dtype| (case, dtype))) {
        let shape = if case.window == "boxcar" { Window::Rectangular } else { case.window.parse().unwrap() };
        // Neither depends on the scaling.
        let scaling = Scaling::Density { sample_rate: 3.0 };
        let options = WelchOptions::new(128, case.segments).with_hop(case.hop).with_scaling(scaling);
        let test = PeakTest::new(window(shape, 128, dtype.into()), &options, case.neighbours).unwrap();
        let what = format!("{} {} {dtype:?}", case.window, case.segments);
        assert_eq!(test.searched, case.searched, "{what}");
        assert!((test.degrees_of_freedom / case.degrees_of_freedom - 1.0).abs() < 1e-6, "{what}");
        let signal = tensor(&fixtures.samples, [fixtures.samples.len()], &Device::flex(), dtype);
        let bins: Vec<i64> = case.peaks.iter().map(|peak| peak.bin as i64).collect();
        let found = test.peaks(signal, Tensor::<1, Int>::from_data(&bins[..], &Device::flex())).unwrap();
        assert_eq!(found.len(), case.peaks.len());
        for (found, expected) in found.into_iter().map(Option::unwrap).zip(&case.peaks) {
            let what = format!("{what}: {found:?}");
            assert!(found.bin == expected.bin && (found.ratio / expected.ratio - 1.0).abs() < 5e-4, "{what}");
            for (found, expected) in [(found.p_value, expected.p_value), (found.false_alarm, expected.false_alarm)] {
                // Tables are interpolated, and far out a probability is a high power of the ratio.
                let tolerance = 1e-3 - 4e-4 * expected.ln();
                assert!((found.ln() - expected.ln()).abs() < tolerance, "{what}: {expected:e}");
            }
            // Those of the two lines: of noise alone several maxima are equally good.
            if matches!(found.bin, 20 | 41) {
                let errors = [
                    (found.frequency - expected.frequency) / expected.frequency_error,
                    (found.amplitude - expected.amplitude) / expected.amplitude_error,
                    (found.phase - expected.phase) / expected.phase_error,
                    10.0 * (found.frequency_error / expected.frequency_error - 1.0),
                    10.0 * (found.amplitude_error / expected.amplitude_error - 1.0),
                    10.0 * (found.phase_error / expected.phase_error - 1.0),
                ];
                assert!(errors.iter().all(|error| error.abs() < 0.02), "{what}: {errors:?}");
            }
        }
    }
}

#[test]
fn false_alarms_of_noise_are_as_rare_as_stated() {
    const ROWS: usize = 4000;
    let band = Band::new(3..62);
    for (shape, segments, seed) in [(Window::Hann, 1, 1), (Window::Rectangular, 2, 3), (Window::Blackman, 8, 5)] {
        let options = WelchOptions::new(128, segments).with_band(Some(band));
        let window = window(shape, 128, FloatDType::F32);
        let test = PeakTest::new(window.clone(), &options, DEFAULT_NEIGHBOURS).unwrap();
        assert_eq!(test.searched, 59);
        let frame = options.frame();
        let signal = tensor(&normal(ROWS * frame, seed), [ROWS, frame], &Device::flex(), DType::F32);
        // The eighth strongest bin of 59 is hardly ever significant.
        let bins = welch_peaks(signal.clone(), window, &options, 8).unwrap().bins;
        let found = test.peaks(signal, bins).unwrap();
        let count = |rate: f64| found.iter().flatten().filter(|peak| peak.p_value <= rate).count() as f64;
        let alarms = |rate: f64| {
            let frames = found.chunks(8);
            frames.filter(|frame| frame.iter().flatten().any(|peak| peak.false_alarm <= rate)).count() as f64
        };
        // About four standard deviations of the counts.
        for (rate, found, all, tolerance) in [
            (1e-2, count(1e-2), ROWS * 59, 0.12),
            (1e-3, count(1e-3), ROWS * 59, 0.3),
            (1e-1, alarms(1e-1), ROWS, 0.2),
            (1e-2, alarms(1e-2), ROWS, 0.6),
        ] {
            let ratio = found / all as f64 / rate;
            assert!((ratio - 1.0).abs() < tolerance, "{shape} {segments}: {ratio:.3} times {rate}");
        }
    }
}

#[test]
fn errors_of_lines_are_those_stated_and_near_the_cramer_rao_bound() {
    const ROWS: usize = 400;
    for (shape, hop, segments, decibels) in [
        (Window::Rectangular, 512, 8, 0.0_f64),
        (Window::Hann, 256, 8, 1.07),
        (Window::Hann, 512, 1, 3.7),
        (Window::Blackman, 256, 8, 1.33),
    ] {
        let options = WelchOptions::new(512, segments).with_hop(hop);
        let window = window(shape, 512, FloatDType::F64);
        let test = PeakTest::new(window.clone(), &options, DEFAULT_NEIGHBOURS).unwrap();
        let frame = options.frame();
        // Lines of amplitude 1 between two bins, with so little power that their side lobes are below the noise.
        let deviation = if segments == 1 { 1.0 } else { 1.5 };
        let mut samples = normal(ROWS * frame, 11);
        let truth =
            |row: usize| -> (f64, f64) { ((120.0 + row as f64 / ROWS as f64) / 512.0, row as f64 * 2.4 % 6.0 - 3.0) };
        for (row, samples) in samples.chunks_mut(frame).enumerate() {
            let (frequency, phase) = truth(row);
            for (time, sample) in samples.iter_mut().enumerate() {
                let line = (std::f64::consts::TAU * frequency * time as f64 + phase).cos();
                *sample = line + deviation * *sample;
            }
        }
        let signal = tensor(&samples, [ROWS, frame], &Device::flex(), DType::F64);
        let bins = welch_peaks(signal.clone(), window, &options, 1).unwrap().bins;
        let found: Vec<PeakEstimate> = test.peaks(signal, bins).unwrap().into_iter().map(Option::unwrap).collect();
        let mean = |value: &dyn Fn(usize, &PeakEstimate) -> f64| {
            found.iter().enumerate().map(|(row, found)| value(row, found)).sum::<f64>() / ROWS as f64
        };
        let turned = |angle: f64| angle.sin().atan2(angle.cos());
        let squares = [
            mean(&|row, found| ((found.frequency - truth(row).0) / found.frequency_error).powi(2)),
            mean(&|_, found| ((found.amplitude - 1.0) / found.amplitude_error).powi(2)),
            mean(&|row, found| (turned(found.phase - truth(row).1) / found.phase_error).powi(2)),
        ];
        // Of 400 squares of standard normal variables the mean is 1 within 0.07; leakage adds to it.
        assert!(squares.iter().all(|square| (square - 1.0).abs() < 0.3), "{shape} {segments}: {squares:?}");
        let count = frame as f64;
        let bound = 24.0 * deviation * deviation / (count * (count * count - 1.0)) / std::f64::consts::TAU.powi(2);
        let above = 10.0 * (mean(&|_, found| found.frequency_error.powi(2)) / bound).log10();
        assert!((above - decibels).abs() < 0.3, "{shape} {segments}: {above:.2} dB above the bound");
        assert!(found.iter().all(|found| found.false_alarm < 1e-3), "{shape} {segments}");
    }
}

#[test]
fn errors_of_lines_in_segments_that_lie_apart_or_have_flat_tops_are_those_stated() {
    const ROWS: usize = 200;
    let apart = SegmentSet::new([0, 7]).unwrap();
    for (what, shape, options, amplitude) in [
        ("far apart, a strong line", Window::Hann, WelchOptions::new(256, 2).with_hop(1024), 30.0),
        // Noise decides which of several maxima is the highest.
        ("far apart", Window::Hann, WelchOptions::new(256, 2).with_hop(4096), 1.0),
        ("the first and the last", Window::Hann, WelchOptions::new(256, 8).with_chosen(Some(apart)), 3.0),
        ("a flat top", Window::FlatTop, WelchOptions::new(256, 8), 1.0),
    ] {
        let (window, frame) = (window(shape, 256, FloatDType::F64), options.frame());
        let test = PeakTest::new(window.clone(), &options, DEFAULT_NEIGHBOURS).unwrap();
        let truth = |row: usize| (60.0 + row as f64 / ROWS as f64) / 256.0;
        let mut samples = normal(ROWS * frame, 31);
        for (place, sample) in samples.iter_mut().enumerate() {
            let (row, time) = (place / frame, (place % frame) as f64);
            *sample += amplitude * (std::f64::consts::TAU * truth(row) * time + row as f64).cos();
        }
        let signal = tensor(&samples, [ROWS, frame], &Device::flex(), DType::F64);
        let bins = welch_peaks(signal.clone(), window, &options, 1).unwrap().bins;
        let found = test.peaks(signal, bins).unwrap().into_iter().map(Option::unwrap).enumerate();
        let squares = found.map(|(row, found)| [found.frequency - truth(row), found.frequency_error].map(|x| x * x));
        let [square, stated] = squares.fold([0.0; 2], |sums, row| [sums[0] + row[0], sums[1] + row[1]]);
        assert!((0.4..1.6).contains(&(square / stated)), "{what}: {:.3} times the stated", square / stated);
    }
}

#[test]
fn bins_without_a_test_have_no_estimate() {
    let options = WelchOptions::new(128, 2);
    let test = PeakTest::new(window(Window::Hann, 128, FloatDType::F32), &options, DEFAULT_NEIGHBOURS).unwrap();
    let bins = TensorData::new(vec![-1i64, 0, 1, 2, 62, 63, 64, 65], [2, 4]);
    let bins = || Tensor::<2, Int>::from_data(bins.clone(), &Device::flex());
    let signal = tensor(&normal(2 * 192, 7), [2, 192], &Device::flex(), DType::F32);
    let found = test.peaks(signal, bins()).unwrap();
    let found: Vec<Option<usize>> = found.into_iter().map(|found| found.map(|found| found.bin)).collect();
    assert_eq!(found, [None, None, None, Some(2), Some(62), None, None, None]);
    let silence = test.peaks(Tensor::<2>::zeros([2, 192], &Device::flex()), bins()).unwrap();
    assert!(silence.iter().all(Option::is_none));
    let none = (Tensor::<2>::zeros([0, 192], &Device::flex()), Tensor::<2, Int>::zeros([0, 4], &Device::flex()));
    assert!(test.peaks(none.0, none.1).unwrap().is_empty());
}

#[test]
fn integers_and_chosen_segments_are_tested() {
    let chosen = SegmentSet::new([0, 2]).unwrap();
    let options = WelchOptions::new(128, 3).with_hop(128).with_chosen(Some(chosen));
    let test = PeakTest::new(window(Window::Rectangular, 128, FloatDType::F32), &options, DEFAULT_NEIGHBOURS).unwrap();
    assert!((test.degrees_of_freedom - 4.0).abs() < 1e-9);
    let line = |time: usize| 100.0 * (0.7 * time as f64 + 0.5).cos();
    let samples: Vec<f64> = normal(384, 21).iter().enumerate().map(|(t, x)| (line(t) + 10.0 * x).round()).collect();
    let bins = || Tensor::<1, Int>::from_data([14], &Device::flex());
    let floats = test.peaks(tensor(&samples, [384], &Device::flex(), DType::F32), bins()).unwrap()[0].unwrap();
    let whole: Vec<i32> = samples.iter().map(|sample| *sample as i32).collect();
    let whole = Tensor::<1, Int>::from_data(TensorData::new(whole, [384]), (&Device::flex(), DType::I32));
    assert_eq!(test.peaks(whole, bins()).unwrap(), [Some(floats)]);
    assert!((floats.frequency - 0.7 / std::f64::consts::TAU).abs() < 5.0 * floats.frequency_error, "{floats:?}");
    assert!((floats.amplitude - 100.0).abs() < 5.0 * floats.amplitude_error, "{floats:?}");
    assert!(floats.false_alarm < 1e-6 && floats.frequency_error < 1e-4, "{floats:?}");
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let hann = |n| window(Window::Hann, n, FloatDType::F32);
    let new = |window: Tensor<1>, options: &WelchOptions| argument(PeakTest::new(window, options, 64));
    let options = WelchOptions::new(128, 2);
    assert_eq!(new(hann(64), &options), "window");
    assert_eq!(new(hann(128), &options.with_average(Average::Median)), "average");
    assert_eq!(new(hann(128), &options.with_segments(129)), "segments");
    assert_eq!(new(hann(128), &options.with_hop(0)), "hop");
    assert_eq!(new(hann(64), &WelchOptions::new(64, 2)), "n_fft");
    assert_eq!(new(hann(1), &WelchOptions::new(1, 2)), "n_fft");
    assert_eq!(new(hann(128), &options.with_band(Some(Band::new(0..2)))), "band");
    let flat = window(Window::FlatTop, 128, FloatDType::F32);
    assert_eq!(new(flat.clone(), &options.with_segments(1)), "window");
    assert!(PeakTest::new(flat, &options, 64).is_ok());
    assert_eq!(argument(PeakTest::new(hann(128), &options, 23)), "neighbours");
    let test = PeakTest::new(hann(128), &options, 24).unwrap();
    let bins = |rows| Tensor::<2, Int>::zeros([rows, 3], &Device::flex());
    assert_eq!(argument(test.peaks(Tensor::<2>::zeros([2, 192], &Device::flex()), bins(3))), "bins");
    assert_eq!(argument(test.peaks(Tensor::<2>::zeros([2, 191], &Device::flex()), bins(2))), "signal");
}
