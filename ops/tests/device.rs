//! Contract of accelerators besides being right: gradients, any batch, rows apart, fusion, replay, types and memory.
//! The results themselves are checked in `parity.rs`. Every test runs on every accelerator of this build; where one is
//! missing, it is reported as ignored.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, Tensor, TensorData, f16};
use common::case::Case;
use common::devices::{DeviceTest, Trials, takes, tests};
use common::samples::check_samples;
use common::tape::{
    LeafInput, butterfly_inputs, frame, gained_inputs, gate_choices, gradients, run_butterfly, run_gained, run_psd,
    welch_inputs,
};
use common::weights::{WeightNumbers, every_segment, gained_peaks};
use common::{integers, noise, relative_error, same, values};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::options::MelBands;
use firefly_ops::twiddles::exact_twiddles;
use firefly_ops::{
    Detrend, Direction, MelOptions, Scaling, StftOptions, WelchOptions, butterfly, mel, spectral_conv, welch_peaks,
    welch_psd,
};

const ROWS: usize = 3;

fn main() -> ExitCode {
    let tests = tests![DeviceTest:
        welch_gradients_are_right_and_repeat,
        gained_gradients_are_right_and_repeat,
        butterfly_gradients_are_right_and_repeat,
        batches_of_any_size_are_right_to_the_last_row,
        a_row_that_is_not_finite_changes_no_other,
        equal_powers_go_to_the_lower_bin,
        layouts_and_small_floats_make_no_difference,
        samples_of_any_type_are_read_as_they_are,
        no_rows_give_no_rows_and_gradients_of_zero,
        operations_among_burns_own_are_right,
        calls_beyond_a_limit_are_refused_by_name,
    ];
    Trials::default().on_accelerators(tests).run()
}

fn settings() -> Vec<WelchOptions> {
    let setting = |n_fft, segments, hop, scaling, detrend| {
        WelchOptions::new(n_fft, segments).with_hop(hop).with_scaling(scaling).with_detrend(detrend)
    };
    vec![
        setting(8, 3, 5, Scaling::Power, Detrend::None),
        setting(16, 1, 8, Scaling::Spectrum, Detrend::Constant),
        setting(64, 4, 70, Scaling::Density { sample_rate: 2.5 }, Detrend::Constant),
        setting(256, 2, 128, Scaling::Power, Detrend::None),
        setting(2048, 3, 512, Scaling::Spectrum, Detrend::Constant),
    ]
}

/// Function from an operation's leaves to its outputs.
type Run<'a> = dyn Fn(&[Tensor<1>]) -> Vec<Tensor<2>> + 'a;

/// Checks gradients of an operation on a device against those in float64 on the CPU, which are checked against
/// differences.
fn check_gradients(device: &Device, label: &str, inputs: &[LeafInput], outputs: &[usize], run: &Run<'_>) {
    let coefficients: Vec<Vec<f64>> = outputs.iter().map(|&length| noise(length, 41)).collect();
    let tracked = vec![true; inputs.len()];
    let on = |device: Device, dtype| gradients(inputs, &tracked, &coefficients, &device.autodiff(), dtype, run);
    let expected = on(Device::flex(), DType::F64);
    let found = on(device.clone(), DType::F32);
    for ((input, found), expected) in inputs.iter().zip(&found).zip(&expected) {
        let error = relative_error(found.as_ref().unwrap(), expected.as_ref().unwrap());
        assert!(error <= 2e-5, "{label}, {}: relative error {error:.1e}", input.name);
    }
    let again = on(device.clone(), DType::F32);
    for (found, again) in found.iter().flatten().zip(again.iter().flatten()) {
        assert!(same(found, again), "{label}: two runs differ");
    }
}

fn welch_gradients_are_right_and_repeat(device: &Device) {
    for options in settings().into_iter().filter(|options| takes(device, options.n_fft)) {
        let (signal, bins) = (noise(ROWS * frame(&options), 1), options.bins());
        let run = |leaves: &[Tensor<1>]| run_psd(leaves, &options);
        check_gradients(device, &format!("{options:?}"), &welch_inputs(&options, signal), &[ROWS * bins], &run);
    }
}

fn gained_gradients_are_right_and_repeat(device: &Device) {
    for options in settings().into_iter().filter(|options| takes(device, options.n_fft)) {
        for options in [1, 2].map(|step| every_segment(step, &options)) {
            let (signal, bins) = (noise(ROWS * frame(&options), 1), options.bins());
            let weights = WeightNumbers::perturbed(&options, 2);
            let run = |leaves: &[Tensor<1>]| run_gained(leaves, &options);
            for weights in [weights.clone(), weights.with_products(&options, 7)] {
                let inputs = gained_inputs(signal.clone(), weights.rounded());
                check_gradients(device, &format!("{options:?}"), &inputs, &[ROWS * bins], &run);
            }
        }
    }
}

fn butterfly_gradients_are_right_and_repeat(device: &Device) {
    // Lengths of one, two and three launches, and rows enough for several runs.
    let sizes = [(8, 3000), (16, 5), (256, 5), (512, 7), (1024, 3), (4096, 2), (65_536, 1)];
    for (n, rows) in sizes.into_iter().filter(|&(n, _)| takes(device, n)) {
        for gates in gate_choices(n) {
            let label = format!("n {n}, gates {}", gates.is_some());
            let run = |leaves: &[Tensor<1>]| run_butterfly(leaves, n);
            check_gradients(device, &label, &butterfly_inputs(rows, n, false, gates), &[rows * n; 2], &run);
        }
    }
}

/// Rows that repeat with a period, so that every one is known from the first.
fn repeated(row: &[f64], device: &Device, rows: usize) -> Tensor<2> {
    let block = TensorData::new(row.to_vec(), [PERIOD, row.len() / PERIOD]).convert::<f32>();
    let block = Tensor::<2>::from_data(block, device);
    block.repeat(&[rows.div_ceil(PERIOD), 1]).narrow(0, 0, rows)
}

/// Rows after which a large batch repeats: no divisor of a grid's dimensions.
const PERIOD: usize = 97;

/// The first row of `values` that differs from the row a period before, if any does.
fn first_difference(values: &[f64], length: usize) -> Option<usize> {
    let rows = values.len() / length;
    (PERIOD..rows).find(|row| {
        let [a, b] = [row * length, (row - PERIOD) * length].map(|start| &values[start..start + length]);
        !same(a, b)
    })
}

fn batches_of_any_size_are_right_to_the_last_row(device: &Device) {
    let options = WelchOptions::new(8, 1).with_detrend(Detrend::Constant);
    let samples = noise(PERIOD * 8, 3);
    let parameters = WeightNumbers::perturbed(&options, 4).tensors(&options, device, DType::F32);
    let twiddles = exact_twiddles(8, Direction::Forward, DType::F32.into(), device).unwrap();
    for rows in [65_535, 65_536, 204_800, 1_048_576] {
        let signal = repeated(&samples, device, rows);
        let exact = welch_peaks(signal.clone(), parameters.window.clone(), &options, 3).unwrap();
        let bins: Vec<f64> = integers(exact.bins).into_iter().map(|bin| bin as f64).collect();
        let gained = gained_peaks(signal.clone(), &parameters, &options, 3).unwrap();
        let out = butterfly(ComplexTensor::new(signal.clone(), signal), twiddles.clone(), None).unwrap();
        let outputs = [
            ("bins of welch_peaks", bins, 3),
            ("power of welch_peaks", values(exact.power), 3),
            ("power of gained_peaks", values(gained.power), 3),
            ("re of butterfly", values(out.re), 8),
            ("im of butterfly", values(out.im), 8),
        ];
        for (name, values, length) in outputs {
            assert_eq!(values.len(), rows * length);
            let wrong = first_difference(&values, length);
            assert_eq!(wrong, None, "{rows} rows: {name}");
        }
    }
}

/// The cases of a device.
fn cases(device: &Device) -> impl Iterator<Item = Case> {
    let case = |options: WelchOptions| Case { options, k: options.bins().min(16), rows: 5, extra: 2, seed: 5 };
    settings().into_iter().filter(|options| takes(device, options.n_fft)).map(case)
}

fn a_row_that_is_not_finite_changes_no_other(device: &Device) {
    for case in cases(device) {
        let mut samples = case.samples();
        let clean = case.outputs(case.signal_on(device, &samples, DType::F32));
        for poison in [f64::NAN, f64::INFINITY, 1e25] {
            samples[2 * case.frame() + 3] = poison;
            let spoilt = case.outputs(case.signal_on(device, &samples, DType::F32));
            for (spoilt, clean) in spoilt.iter().zip(&clean) {
                for row in [0, 1, 3, 4] {
                    assert!(same(spoilt.row(row), clean.row(row)), "{}, {poison}", clean.name);
                }
            }
            let missing = |name: &str| spoilt.iter().find(|output| output.name == name).unwrap().row(2).to_vec();
            if poison.is_nan() {
                assert!(missing("bins of welch_peaks").iter().all(|&bin| bin == -1.0));
                assert!(missing("power of gained_peaks").iter().all(|power| power.is_nan()));
            }
        }
    }
}

fn equal_powers_go_to_the_lower_bin(device: &Device) {
    let options = WelchOptions::new(8, 1);
    let impulse = TensorData::new(vec![1f32, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1, 8]);
    let signal = Tensor::<2>::from_data(impulse, device);
    let peaks = welch_peaks(signal.clone(), Tensor::<1>::ones([8], device), &options, 5).unwrap();
    assert_eq!(integers(peaks.bins), [1, 2, 3, 0, 4]);
    let peaks = welch_peaks(signal * 0.0, Tensor::<1>::ones([8], device), &options, 5).unwrap();
    assert_eq!(integers(peaks.bins), [0, 1, 2, 3, 4]);
}

fn layouts_and_small_floats_make_no_difference(device: &Device) {
    for case in cases(device) {
        let signal = case.signal_on(device, &case.samples(), DType::F32);
        let expected = case.outputs(signal.clone());
        let transposed = signal.clone().transpose().mul_scalar(1.0).transpose();
        for (found, expected) in case.outputs(transposed).iter().zip(&expected) {
            assert!(same(&found.values, &expected.values), "transposed: {}", expected.name);
        }
        // Rows apart from each other, and rows that overlap, are read where they are.
        let padded = Tensor::cat(vec![signal.clone(), signal.clone() * 2.0], 1).narrow(1, 0, case.frame());
        for (found, expected) in case.outputs(padded).iter().zip(&expected) {
            assert!(same(&found.values, &expected.values), "padded rows: {}", expected.name);
        }
        let recording = signal.clone().reshape([-1]);
        let overlapping: Tensor<2> = recording.unfold(0, case.frame(), case.options.hop);
        let copied = Tensor::from_data(overlapping.clone().into_data(), device);
        for (found, expected) in case.outputs(overlapping).iter().zip(&case.outputs(copied)) {
            assert!(same(&found.values, &expected.values), "overlapping rows: {}", expected.name);
        }
        if !device.supports_dtype(DType::F16) {
            continue;
        }
        // Rounded on the host: lazy fusion may keep more of a number than its type holds.
        let rounded = signal.into_data().convert::<f16>();
        let small = Tensor::<2>::from_data(rounded.clone(), (device, DType::F16));
        let expected = case.outputs(Tensor::from_data(rounded.convert::<f32>(), (device, DType::F32)));
        for (found, expected) in case.outputs(small).iter().zip(&expected) {
            assert_eq!(found.dtype, expected.dtype);
            assert!(same(&found.values, &expected.values), "f16: {}", expected.name);
        }
    }
}

fn samples_of_any_type_are_read_as_they_are(device: &Device) {
    check_samples(device);
}

fn no_rows_give_no_rows_and_gradients_of_zero(device: &Device) {
    for case in cases(device) {
        for output in case.outputs(Tensor::<2>::zeros([0, case.frame()], device)) {
            assert_eq!(output.values.len(), 0, "{}", output.name);
        }
        let tape = device.clone().autodiff();
        let window = Tensor::<1>::ones([case.options.n_fft], &tape).require_grad();
        let power = welch_psd(Tensor::<2>::zeros([0, case.frame()], &tape), window.clone(), &case.options).unwrap();
        let gradient = values(window.grad(&power.sum().backward()).unwrap());
        assert!(gradient.iter().all(|&g| g == 0.0));
    }
}

/// Operations of ours between operations of Burn's, which lazy fusion queues together.
fn operations_among_burns_own_are_right(device: &Device) {
    let run = |case: &Case, device: &Device| {
        let signal = case.signal_on(device, &case.samples(), DType::F32) * 3.0 + 1.0;
        let window = case.weights().tensors(&case.options, device, DType::F32).window * 0.5;
        let power = welch_psd(signal.clone(), window.clone(), &case.options).unwrap();
        let peaks = welch_peaks(signal * 2.0, window, &case.options, case.k).unwrap();
        let total = power.sum_dim(1) + peaks.power.sum_dim(1);
        values((total + 1.0).log())
    };
    for case in cases(device) {
        let error = relative_error(&run(&case, device), &run(&case, &Device::flex()));
        assert!(error <= 1e-5, "{:?}: relative error {error:.1e}", case.options);
    }
}

fn calls_beyond_a_limit_are_refused_by_name(device: &Device) {
    let window = Tensor::<1>::ones([8], device);
    if device.supports_dtype(DType::F64) {
        let signal = Tensor::<2>::zeros([2, 8], (device, DType::F64));
        let error = welch_psd(signal, window, &WelchOptions::new(8, 1)).unwrap_err();
        assert_eq!(error.expected, "f32, f16 or bf16 on this device");
    }
    // Sizes that no launch counts, of tensors without memory of their own.
    let grids = Tensor::<4>::ones([1, 1, 1, 1], device).expand([64, 1, 8193, 4097]);
    let error = spectral_conv(grids, Tensor::<4>::ones([1, 1, 2, 2], device).into()).unwrap_err();
    assert_eq!((error.operation, error.argument), ("spectral_conv", "input"));
    assert!(error.expected.contains("elements per launch"), "{error}");
    let recording = Tensor::<1>::ones([1], device).expand([1 << 20]);
    let options = MelOptions::new(StftOptions::new(8).with_hop(1), MelBands::new(8000.0, 1 << 12));
    let error = mel::<1, 2, _>(recording, Tensor::ones([8], device), &options).unwrap_err();
    assert_eq!((error.operation, error.argument), ("mel", "signal"));
    assert!(error.expected.contains("elements per launch"), "{error}");
    // Terabytes: the result is described at once, and refused when it is read.
    let rows = 1usize << 36;
    let wide = Tensor::<2>::ones([1, 8], device).expand([rows, 8]);
    let result = welch_psd(wide, Tensor::<1>::ones([8], device), &WelchOptions::new(8, 1)).unwrap().try_into_data();
    let told = result.unwrap_err().to_string();
    let bytes = rows * 5 * size_of::<f32>();
    assert!(told.contains(&bytes.to_string()), "{told}");
}
