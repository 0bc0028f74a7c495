//! Mel spectra: against the definition, and differences in float64.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData, f16};
use common::devices::{CpuTest, DeviceTest, Trials, computed, is_software, tests};
use common::tape::{LeafInput, gradients, input, rows};
use common::{noise, relative_error, same, tensor, transform_tolerance, values};
use firefly_ops::fft::stft;
use firefly_ops::instruction_sets::InstructionSet;
use firefly_ops::options::{
    LogGuard, LogUnit, Logarithm, MelBands, MelNorm, MelScale, SignalPadding, SpectrumKind, mel_filters,
};
use firefly_ops::{ArgumentError, MelOptions, StftOptions, Window, WindowSymmetry, log_mel, mel};
use firefly_reference::mel::{Log, MelDefinition, Padding, Scale};

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        bands_match_the_definition,
        any_number_of_frames_is_right_to_the_last,
        gradients_match_those_in_float64,
        small_floats_compute_in_f32,
        no_rows_give_no_rows,
    ];
    let on_cpu = tests![CpuTest:
        every_instruction_set_is_right,
        gradients_match_differences,
        separate_operations_give_the_same,
        a_spoilt_sample_disturbs_no_other_frame,
        floors_have_no_gradient_below,
        wrong_arguments_are_refused_by_name,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}

/// Settings in which lengths, hops, paddings, bands and logarithms alternate.
fn settings() -> Vec<(MelOptions, Option<Logarithm>)> {
    let stft = |n_fft, hop, center, pad| StftOptions::new(n_fft).with_hop(hop).with_center(center).with_pad(pad);
    let (reflect, edge, circular) = (SignalPadding::Reflect, SignalPadding::Edge, SignalPadding::Circular);
    let constant = SignalPadding::Constant(0.25);
    let slaney = |rate, count| MelBands::new(rate, count);
    let htk = |rate, count| slaney(rate, count).with_scale(MelScale::Htk).with_norm(MelNorm::None);
    let floor = |unit| Some(Logarithm::new(unit).with_guard(LogGuard::Floor(1e-3)));
    let offset = |unit| Some(Logarithm::new(unit).with_guard(LogGuard::Offset(1e-2)));
    let amplitude = |options: MelOptions| options.with_kind(SpectrumKind::Amplitude);
    vec![
        (MelOptions::new(stft(60, 17, true, reflect), slaney(8000.0, 12)), None),
        (MelOptions::new(stft(64, 16, true, edge), htk(16_000.0, 20)), floor(LogUnit::Ten)),
        (amplitude(MelOptions::new(stft(45, 50, false, reflect), htk(100.0, 5))), offset(LogUnit::Natural)),
        (amplitude(MelOptions::new(stft(14, 3, true, constant), slaney(22_050.0, 4))), offset(LogUnit::Decibel)),
        (
            MelOptions::new(stft(97, 30, true, reflect).with_normalized(true), slaney(4000.0, 9)),
            floor(LogUnit::Decibel),
        ),
        (MelOptions::new(stft(74, 37, true, reflect), htk(4000.0, 7).with_f_min(300.0).with_f_max(1900.0)), None),
        (amplitude(MelOptions::new(stft(2, 1, false, reflect), htk(10.0, 2).with_f_max(9.0))), None),
        (MelOptions::new(stft(400, 160, true, reflect), slaney(16_000.0, 80)), offset(LogUnit::Ten)),
        (MelOptions::new(stft(48, 10, true, circular), htk(8000.0, 10)), offset(LogUnit::Ten)),
        (amplitude(MelOptions::new(stft(41, 12, true, circular), slaney(8000.0, 6))), None),
        // Two factors above 200, which no kernel has passes for.
        (MelOptions::new(stft(446, 100, true, reflect), slaney(16_000.0, 20)), floor(LogUnit::Natural)),
    ]
}

fn definition(options: &MelOptions, logarithm: Option<Logarithm>) -> MelDefinition {
    let (stft, bands) = (&options.stft, &options.bands);
    let squared = options.kind == SpectrumKind::Power;
    let padding = stft.center.then_some(match stft.pad {
        SignalPadding::Reflect => Padding::Reflect,
        SignalPadding::Edge => Padding::Edge,
        SignalPadding::Circular => Padding::Circular,
        SignalPadding::Constant(value) => Padding::Constant(value.into()),
    });
    let log = logarithm.map(|logarithm| {
        let (offset, floor) = match logarithm.guard {
            LogGuard::Offset(offset) => (offset, 0.0),
            LogGuard::Floor(floor) => (0.0, floor),
        };
        let factor = match logarithm.unit {
            LogUnit::Natural => 1.0,
            LogUnit::Ten => 1.0 / 10f64.ln(),
            LogUnit::Decibel => (if squared { 10.0 } else { 20.0 }) / 10f64.ln(),
        };
        Log { factor, offset, floor }
    });
    MelDefinition {
        n_fft: stft.n_fft,
        hop: stft.hop,
        padding,
        normalized: stft.normalized,
        squared,
        sample_rate: bands.sample_rate,
        bands: bands.count,
        edges: [bands.f_min, bands.f_max.unwrap_or(bands.sample_rate / 2.0)],
        scale: match bands.scale {
            MelScale::Htk => Scale::Htk,
            MelScale::Slaney => Scale::Slaney,
        },
        equal_area: bands.norm == MelNorm::Slaney,
        log,
    }
}

fn run(signal: Tensor<2>, window: Tensor<1>, options: &MelOptions, logarithm: Option<Logarithm>) -> Tensor<3> {
    match logarithm {
        None => mel(signal, window, options).unwrap(),
        Some(logarithm) => log_mel(signal, window, options, &logarithm).unwrap(),
    }
}

/// Whether a device takes a setting in a test: compiling kernels takes a software device seconds.
fn takes(device: &Device, options: &MelOptions) -> bool {
    !is_software(device) || [14, 60, 45, 446].contains(&options.stft.n_fft)
}

/// Checks rows of `samples` samples. The error of a band is that of the transform, relative to the largest band of the
/// row; that of a logarithm has the slope of the logarithm at the largest and the least band.
fn check(device: &Device, dtype: DType, rows: usize, samples: usize, case: &(MelOptions, Option<Logarithm>)) {
    let (options, logarithm) = case;
    let n = options.stft.n_fft;
    let (signal, window) = (noise(rows * samples, (rows + samples) as u64), taper(n));
    let window_of = |dtype| tensor(&window, [n], device, dtype);
    let found = run(tensor(&signal, [rows, samples], device, dtype), window_of(dtype), options, *logarithm);
    let frames = options.stft.frames(samples);
    assert_eq!((found.dims(), found.dtype()), ([rows, options.bands.count, frames], dtype));
    let found = values(found);
    let tolerance = if dtype == DType::F64 { 1e-13 } else { 4.0 * transform_tolerance(n) };
    for (row, found) in signal.chunks(samples).zip(found.chunks((options.bands.count * frames).max(1))) {
        let label = format!("{options:?}, {logarithm:?}, {samples} samples, {dtype:?}");
        let plain = definition(options, None).bands(row, &window);
        let Some(log) = definition(options, *logarithm).log else {
            let error = relative_error(found, &plain);
            assert!(error < tolerance, "{label}: relative error {error:.1e}");
            continue;
        };
        let largest = plain.iter().copied().fold(0.0, f64::max);
        for (found, band) in found.iter().zip(plain) {
            let guarded = (band + log.offset).max(log.floor);
            let expected = log.factor * guarded.ln();
            let allowed = tolerance * (log.factor * largest / guarded + expected.abs() + log.factor);
            assert!((found - expected).abs() < allowed, "{label}: {found} is not {expected}");
        }
    }
}

fn bands_match_the_definition(device: &Device) {
    for case in settings().iter().filter(|(options, _)| takes(device, options)) {
        for &dtype in computed(device) {
            // Enough frames for lanes, and a few.
            let n = case.0.stft.n_fft;
            check(device, dtype, 2, n + 19 * case.0.stft.hop + 5, case);
            check(device, dtype, 3, n + 1, case);
        }
    }
}

fn every_instruction_set_is_right() {
    for set in InstructionSet::available() {
        set.force(|| {
            for case in &settings() {
                let samples = case.0.stft.n_fft + 19 * case.0.stft.hop + 5;
                check(&Device::flex(), DType::F32, 2, samples, case);
            }
        });
    }
}

fn any_number_of_frames_is_right_to_the_last(device: &Device) {
    let (case, frames) = if is_software(device) { (0, 1..4) } else { (0, 1..40) };
    let case = settings()[case];
    for frames in frames {
        for &dtype in computed(device) {
            let samples = (frames - 1) * case.0.stft.hop + 31;
            check(device, dtype, 2, samples.max(31), &case);
        }
    }
}

/// A window without zeros or symmetry.
fn taper(n: usize) -> Vec<f64> {
    if n == 1 { vec![0.5] } else { common::tape::taper(n) }
}

fn inputs(options: &MelOptions, samples: usize) -> Vec<LeafInput> {
    vec![input("signal", noise(2 * samples, 3)), input("window", taper(options.stft.n_fft))]
}

/// One output `[rows, values]`.
fn flat(leaves: &[Tensor<1>], samples: usize, case: &(MelOptions, Option<Logarithm>)) -> Vec<Tensor<2>> {
    let bands = run(rows(&leaves[0], samples), leaves[1].clone(), &case.0, case.1);
    let [rows, count, frames] = bands.dims();
    vec![bands.reshape([rows, count * frames])]
}

fn gradients_match_those_in_float64(device: &Device) {
    for case in settings().iter().filter(|(options, _)| takes(device, options)) {
        for frames in [2, 21] {
            let samples = case.0.stft.n_fft + (frames - 1) * case.0.stft.hop + 3;
            let inputs = inputs(&case.0, samples);
            let values = 2 * case.0.bands.count * case.0.stft.frames(samples);
            let on = |device: &Device, dtype| {
                let tape = device.clone().autodiff();
                gradients(&inputs, &[true, true], &[noise(values, 7)], &tape, dtype, |leaves| {
                    flat(leaves, samples, case)
                })
            };
            let (found, expected) = (on(device, DType::F32), on(&Device::flex(), DType::F64));
            for ((found, expected), input) in found.into_iter().zip(expected).zip(&inputs) {
                let (found, expected) = (found.unwrap(), expected.unwrap());
                let error = relative_error(&found, &expected);
                // Slopes of logarithms and amplitudes near 0 enlarge what the transform errs.
                assert!(error < 2e-4, "{case:?}, {}: relative error {error:.1e}", input.name);
            }
        }
    }
}

fn gradients_match_differences() {
    const STEP: f64 = 1e-6;
    for case in settings().iter().filter(|(options, _)| options.stft.n_fft < 100) {
        let samples = case.0.stft.n_fft + 3 * case.0.stft.hop + 2;
        let inputs = inputs(&case.0, samples);
        let values_of = |inputs: &[Vec<f64>]| -> Vec<f64> {
            let leaves: Vec<_> =
                inputs.iter().map(|x| tensor::<1>(x, [x.len()], &Device::flex(), DType::F64)).collect();
            flat(&leaves, samples, case).into_iter().flat_map(values).collect()
        };
        let plain: Vec<Vec<f64>> = inputs.iter().map(|input| input.values.clone()).collect();
        let weights = noise(values_of(&plain).len(), 9);
        let loss = |inputs: &[Vec<f64>]| -> f64 { values_of(inputs).iter().zip(&weights).map(|(a, b)| a * b).sum() };
        let tape = Device::flex().autodiff();
        let found = gradients(&inputs, &[true, true], std::slice::from_ref(&weights), &tape, DType::F64, |leaves| {
            flat(leaves, samples, case)
        });
        for (which, found) in found.into_iter().enumerate() {
            let found = found.unwrap();
            let largest = found.iter().fold(0.0, |largest: f64, g| largest.max(g.abs()));
            assert!(largest > 1e-3, "{case:?}: gradients up to {largest:.1e} are no test");
            for i in 0..found.len() {
                let at = |step: f64| {
                    let mut moved = plain.clone();
                    moved[which][i] += step;
                    loss(&moved)
                };
                let difference = (at(STEP) - at(-STEP)) / (2.0 * STEP);
                let error = (found[i] - difference).abs();
                assert!(error < 1e-5 * largest, "{case:?}, input {which}[{i}]: {} is not {difference}", found[i]);
            }
        }
    }
}

fn separate_operations_give_the_same() {
    let options =
        MelOptions::new(StftOptions::new(400).with_hop(160).with_window_length(320), MelBands::new(16_000.0, 40));
    let device = Device::flex();
    let window = Window::Hann.tensor(320, WindowSymmetry::Periodic, FloatDType::F64, &device);
    let signal = tensor::<3>(&noise(2 * 3 * 2000, 4), [2, 3, 2000], &device, DType::F64);
    let bands: Tensor<4> = mel(signal.clone(), window.clone(), &options).unwrap();
    let power = stft::<3, 4>(signal, Some(window), &options.stft).unwrap().abs_squared();
    let filters = mel_filters(400, &options.bands).unwrap().concat();
    let filters = tensor::<2>(&filters, [40, 201], &device, DType::F64);
    let expected = filters.unsqueeze::<4>().matmul(power);
    assert_eq!(bands.dims(), expected.dims());
    assert!(relative_error(&values(bands), &values(expected)) < 1e-13);
}

fn small_floats_compute_in_f32(device: &Device) {
    let (options, logarithm) = settings()[0];
    let signal: Vec<f16> = noise(200, 1).into_iter().map(|x| f16::from_f32(x as f32)).collect();
    let signal = Tensor::<2>::from_data(TensorData::new(signal, [1, 200]), (device, DType::F16));
    let window = tensor(&taper(60), [60], device, DType::F32);
    let whole = run(signal.clone().cast(DType::F32), window.clone(), &options, logarithm);
    let found = run(signal, window, &options, logarithm);
    assert_eq!(found.dtype(), DType::F32);
    assert!(same(&values(found), &values(whole)));
}

fn no_rows_give_no_rows(device: &Device) {
    let (options, logarithm) = settings()[0];
    let tape = device.clone().autodiff();
    let window = Tensor::<1>::ones([60], &tape).require_grad();
    let bands = run(Tensor::zeros([0, 100], &tape), window.clone(), &options, logarithm);
    assert_eq!(bands.dims(), [0, 12, options.stft.frames(100)]);
    let gradient = window.grad(&bands.sum().backward()).unwrap();
    assert!(values(gradient).iter().all(|&g| g == 0.0));
}

fn a_spoilt_sample_disturbs_no_other_frame() {
    for (options, logarithm) in settings() {
        let n = options.stft.n_fft;
        let samples = n + 30 * options.stft.hop;
        let frames = options.stft.frames(samples);
        let mut signal = noise(samples, 1);
        let window = tensor(&taper(n), [n], &Device::flex(), DType::F32);
        let of = |signal: &[f64]| {
            let signal = tensor(signal, [1, samples], &Device::flex(), DType::F32);
            values(run(signal, window.clone(), &options, logarithm))
        };
        let clean = of(&signal);
        let spoilt = samples / 2;
        signal[spoilt] = f64::NAN;
        let start =
            |frame: usize| (frame * options.stft.hop) as isize - if options.stft.center { n as isize / 2 } else { 0 };
        for (at, (found, clean)) in of(&signal).iter().zip(&clean).enumerate() {
            let start = start(at % frames);
            // A band without bins is a sum of nothing.
            if (start..start + n as isize).contains(&(spoilt as isize)) {
                assert!(found.is_nan() || found == clean, "{options:?}: frame {}", at % frames);
            } else if start >= 0 && start + n as isize <= samples as isize {
                assert_eq!(found.to_bits(), clean.to_bits(), "{options:?}: frame {}", at % frames);
            }
        }
    }
}

fn floors_have_no_gradient_below() {
    let options = MelOptions::new(StftOptions::new(16).with_hop(4), MelBands::new(100.0, 3));
    let logarithm = Logarithm::new(LogUnit::Natural).with_guard(LogGuard::Floor(1.0));
    for dtype in [DType::F32, DType::F64] {
        for scale in [1e-3, 0.0] {
            let tape = Device::flex().autodiff();
            let signal = tensor::<2>(&noise(100, 1), [1, 100], &tape, dtype) * scale;
            let signal = signal.require_grad();
            let bands = run(signal.clone(), Tensor::ones([16], (&tape, dtype)), &options, Some(logarithm));
            assert!(values(bands.clone()).iter().all(|&band| band == 0.0));
            assert!(values(signal.grad(&bands.sum().backward()).unwrap()).iter().all(|&g| g == 0.0));
        }
    }
}

fn refused<T>(result: Result<T, ArgumentError>, message: &str) {
    assert_eq!(result.err().unwrap().to_string(), message);
}

fn wrong_arguments_are_refused_by_name() {
    let device = Device::flex();
    let bands = MelBands::new(16_000.0, 10);
    let run = |samples: usize, window: usize, options: MelOptions| -> Result<Tensor<3>, ArgumentError> {
        mel(Tensor::<2>::zeros([2, samples], &device), Tensor::ones([window], &device), &options)
    };
    let stft = StftOptions::new(16);
    refused(run(50, 16, MelOptions::new(stft.with_hop(0), bands)), "mel: `hop` is 0, but must be at least 1");
    refused(run(50, 15, MelOptions::new(stft, bands)), "mel: `window` is [15], but must be [16]");
    let expected = "mel: `signal` is 8 samples per row, but must be at least 9, to be padded by 8 on both sides";
    refused(run(8, 16, MelOptions::new(stft, bands)), expected);
    let expected = "mel: `signal` is 15 samples per row, but must be at least a frame of 16 samples";
    refused(run(15, 16, MelOptions::new(stft.with_center(false), bands)), expected);
    let expected = "mel: `onesided` is false, but must be true: bands are of one-sided spectra";
    refused(run(50, 16, MelOptions::new(stft.with_onesided(false), bands)), expected);
    let with = |bands| run(50, 16, MelOptions::new(stft, bands));
    refused(with(MelBands::new(0.0, 3)), "mel: `sample_rate` is 0, but must be a positive number of hertz");
    refused(with(MelBands::new(8.0, 0)), "mel: `count` is 0, but must be at least 1 band");
    let expected = "mel: `f_min` is -1, but must be a finite number of hertz of at least 0";
    refused(with(bands.with_f_min(-1.0)), expected);
    let expected = "mel: `f_max` is 100, but must be above f_min, 200, and finite";
    refused(with(bands.with_f_min(200.0).with_f_max(100.0)), expected);
    refused(mel_filters(0, &bands), "mel_filters: `n_fft` is 0, but must be at least 1");
    let logarithm = Logarithm::new(LogUnit::Ten).with_guard(LogGuard::Offset(0.0));
    let signal = Tensor::<1>::zeros([50], &device);
    let result = log_mel::<1, 2, _>(signal, Tensor::ones([16], &device), &MelOptions::new(stft, bands), &logarithm);
    refused(result, "log_mel: `offset` is 0, but must be from 1.1754943508222875e-38 to 3.4028234663852886e38");
}
