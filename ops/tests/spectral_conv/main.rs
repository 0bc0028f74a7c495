//! Spectral convolution: against the definition, its own adjoints, and layers of Fourier neural operators with NumPy.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod layers;

use std::process::ExitCode;

use burn::tensor::{DType, Device, Tensor};
use common::devices::{CpuTest, DeviceTest, Trials, computed, tests};
use common::{noise, relative_error, same, tensor, values};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::{ArgumentError, spectral_conv};
use layers::{CASES, Case, case, cases};
use rayon::ThreadPoolBuilder;
use serde::Deserialize;

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        results_match_the_definition,
        gradients_match_those_in_float64,
        one_input_alone_is_tracked,
        small_floats_compute_in_f32,
    ];
    let on_cpu = tests![CpuTest:
        gradients_are_the_adjoint,
        layers_of_operators_are_those_of_numpy,
        a_batch_element_has_the_same_bits_anywhere,
        the_number_of_threads_changes_no_bit,
        an_empty_batch_gives_an_empty_batch,
        views_are_read_as_they_are,
        wrong_arguments_are_refused_by_name,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}

fn results_match_the_definition(device: &Device) {
    for case in cases(device) {
        let numbers = case.numbers(1);
        let expected = case.expected(&numbers);
        for &dtype in computed(device) {
            let error = relative_error(&case.run(&numbers, device, dtype), &expected);
            assert!(error <= case.tolerance(dtype), "{case:?} in {dtype:?}: relative error {error:.1e}");
        }
    }
}

fn gradients_match_those_in_float64(device: &Device) {
    for case in cases(device) {
        let numbers = case.numbers(3);
        let on = |device: &Device, dtype| case.gradients(&numbers, [true; 3], &device.clone().autodiff(), dtype);
        let (expected, got) = (on(&Device::flex(), DType::F64), on(device, DType::F32));
        // Parts of weights that do not count have gradients of 0 alone, all of them in one.
        let whole = |[input, re, im]: [Option<Vec<f64>>; 3]| [input.unwrap(), [re.unwrap(), im.unwrap()].concat()];
        for (part, (got, expected)) in whole(got).iter().zip(whole(expected)).enumerate() {
            let error = relative_error(got, &expected);
            assert!(error <= 2.0 * case.tolerance(DType::F32), "{case:?}, input {part}: relative error {error:.1e}");
        }
    }
}

/// The result is linear in the input and in the weights, so it is the product of any of them with its gradient,
/// wherever the other one is.
fn gradients_are_the_adjoint() {
    for device in [Device::flex().autodiff(), Device::flex().autodiff().gradient_checkpointing()] {
        for case in CASES {
            let numbers = case.numbers(5);
            let [input, re, im] = case.gradients(&numbers, [true; 3], &device, DType::F64).map(Option::unwrap);
            let functional = |numbers: &[Vec<f64>; 3]| {
                let output = case.run(numbers, &Device::flex(), DType::F64);
                dot(&output, &noise(output.len(), 77))
            };
            let [x, u, v] = case.numbers(15);
            let expected = functional(&[x.clone(), numbers[1].clone(), numbers[2].clone()]);
            close(dot(&input, &x), expected, case);
            let expected = functional(&[numbers[0].clone(), u.clone(), v.clone()]);
            close(dot(&re, &u) + dot(&im, &v), expected, case);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn close(got: f64, expected: f64, case: &Case) {
    assert!((got - expected).abs() < 1e-11 * (1.0 + expected.abs()), "{case:?}: {got} is not {expected}");
}

/// A gradient has the same bits whatever else is tracked.
fn one_input_alone_is_tracked(device: &Device) {
    let device = device.clone().autodiff();
    for case in [&CASES[4], &CASES[9]] {
        let numbers = case.numbers(7);
        let all = case.gradients(&numbers, [true; 3], &device, DType::F32);
        for tracked in [[true, false, false], [false, true, false], [false, true, true]] {
            let some = case.gradients(&numbers, tracked, &device, DType::F32);
            for ((all, some), tracked) in all.iter().zip(some).zip(tracked) {
                assert_eq!(some.is_some(), tracked);
                assert!(some.is_none_or(|some| same(&some, all.as_ref().unwrap())), "{case:?}");
            }
        }
    }
}

fn small_floats_compute_in_f32(device: &Device) {
    let case = &CASES[4];
    let numbers = case.numbers(9);
    for dtype in [DType::F16, DType::BF16].into_iter().filter(|&dtype| device.supports_dtype(dtype)) {
        let small = case.leaves(&numbers, device, dtype);
        let wide = small.clone().map(|part| part.cast(DType::F32));
        let output = case.flat(&small);
        assert_eq!(output.dtype(), DType::F32);
        assert!(same(&values(output), &values(case.flat(&wide))), "{dtype:?}");
    }
}

#[derive(Deserialize)]
struct Fixtures {
    cases: Vec<Fixture>,
}

/// A case of `fixtures/make_spectral_conv.py`.
#[derive(Deserialize)]
struct Fixture {
    batch: usize,
    channels: [usize; 2],
    points: Vec<usize>,
    /// Modes of a corner.
    modes: Vec<usize>,
    input: Vec<f64>,
    /// Both parts of the weights of each corner of the spectrum, that of the first dimension's negative frequencies
    /// second.
    corners: Vec<[Vec<f64>; 2]>,
    output: Vec<f64>,
}

impl Fixture {
    /// One part of the weights of all corners, concatenated.
    fn weights<const D: usize>(&self, part: usize) -> Tensor<D> {
        let shape: [usize; D] = [&self.channels[..], &self.modes].concat().try_into().unwrap();
        let mut corners: Vec<Tensor<D>> =
            self.corners.iter().map(|corner| tensor(&corner[part], shape, &Device::flex(), DType::F64)).collect();
        for dim in 2..D - 1 {
            corners = corners.chunks(2).map(|pair| Tensor::cat(pair.to_vec(), dim)).collect();
        }
        corners.remove(0)
    }

    fn check<const D: usize>(&self) {
        let shape: [usize; D] = [&[self.batch, self.channels[0]], &self.points[..]].concat().try_into().unwrap();
        let input = tensor(&self.input, shape, &Device::flex(), DType::F64);
        let weights = ComplexTensor::<D>::new(self.weights(0), self.weights(1));
        let error = relative_error(&values(spectral_conv(input, weights).unwrap()), &self.output);
        assert!(error < 1e-14, "{:?}: relative error {error:.1e}", self.points);
    }
}

fn layers_of_operators_are_those_of_numpy() {
    let fixtures: Fixtures = serde_json::from_str(include_str!("../fixtures/spectral_conv.json")).unwrap();
    assert!(fixtures.cases.len() >= 6);
    for case in &fixtures.cases {
        match case.points.len() {
            1 => case.check::<3>(),
            2 => case.check::<4>(),
            _ => case.check::<5>(),
        }
    }
}

fn a_batch_element_has_the_same_bits_anywhere() {
    for (case, others) in [(case(21, [3, 2], &[24], &[9]), 20), (case(13, [1, 1], &[6, 10], &[4, 6]), 12)] {
        let numbers = case.numbers(11);
        let device = Device::flex();
        let all = case.run(&numbers, &device, DType::F32);
        let (length, own) = (all.len() / case.batch, numbers[0].len() / case.batch);
        // The last element becomes the first one.
        let [mut input, re, im] = numbers;
        input.rotate_right(own);
        let turned = case.run(&[input, re, im], &device, DType::F32);
        assert!(same(&turned[..length], &all[others * length..]), "{case:?}");
        assert!(same(&turned[length..], &all[..others * length]), "{case:?}");
    }
}

fn the_number_of_threads_changes_no_bit() {
    for case in [case(40, [6, 9], &[100], &[40]), case(9, [4, 4], &[24, 40], &[12, 12])] {
        let numbers = case.numbers(17);
        let all = |threads: usize| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let device = Device::flex().autodiff();
            let [input, re, im] =
                pool.install(|| case.gradients(&numbers, [true; 3], &device, DType::F32)).map(Option::unwrap);
            [pool.install(|| case.run(&numbers, &Device::flex(), DType::F32)), input, re, im].concat()
        };
        let one = all(1);
        for threads in [2, 3] {
            assert!(same(&one, &all(threads)), "{threads} threads, {case:?}");
        }
    }
}

fn an_empty_batch_gives_an_empty_batch() {
    let device = Device::flex().autodiff();
    for dtype in [DType::F32, DType::F64] {
        let input = Tensor::<4>::zeros([0, 2, 6, 8], (&device, dtype)).require_grad();
        let part = || Tensor::<4>::ones([2, 3, 4, 5], (&device, dtype)).require_grad();
        let weights = ComplexTensor::new(part(), part());
        let output = spectral_conv(input.clone(), weights.clone()).unwrap();
        assert_eq!(output.dims(), [0, 3, 6, 8]);
        let gradients = output.sum().backward();
        assert_eq!(input.grad(&gradients).unwrap().dims(), [0, 2, 6, 8]);
        assert!(values(weights.im.grad(&gradients).unwrap()).iter().all(|&gradient| gradient == 0.0));
    }
}

fn views_are_read_as_they_are() {
    let case = &CASES[8];
    let ([input, re, im], [shape, kept]) = (case.numbers(13), case.shapes::<4>());
    let device = Device::flex();
    let on = |part: &[f64], shape| tensor::<4>(part, shape, &device, DType::F32);
    let weights = ComplexTensor::new(on(&re, kept), on(&im, kept));
    let input = on(&input, shape);
    let expected = spectral_conv(input.clone(), weights.clone()).unwrap();
    let turned = input.permute([3, 2, 1, 0]).clone().permute([3, 2, 1, 0]);
    let weights = weights.map(|part| part.swap_dims(0, 3).clone().swap_dims(0, 3));
    assert!(same(&values(spectral_conv(turned, weights).unwrap()), &values(expected)));
}

fn refused(input: [usize; 3], weights: [usize; 3], message: &str) {
    let device = Device::flex();
    let weights = ComplexTensor::from(Tensor::<3>::zeros(weights, &device));
    let result: Result<Tensor<3>, ArgumentError> = spectral_conv(Tensor::zeros(input, &device), weights);
    assert_eq!(result.err().unwrap().to_string(), message);
}

fn wrong_arguments_are_refused_by_name() {
    refused(
        [2, 3, 8],
        [3, 4, 6],
        "spectral_conv: `weights` is 6 modes along dimension 2, but must be from 1 to 5 for a length of 8",
    );
    refused(
        [2, 3, 9],
        [3, 4, 0],
        "spectral_conv: `weights` is 0 modes along dimension 2, but must be from 1 to 5 for a length of 9",
    );
    refused(
        [2, 3, 8],
        [2, 4, 5],
        "spectral_conv: `weights` is [2, 4, 5], but must be a tensor of 3 input channels, as many as the input has",
    );
    refused(
        [2, 3, 8],
        [3, 0, 5],
        "spectral_conv: `weights` is [3, 0, 5], but must be a tensor with at least 1 output channel",
    );
    let expected = "spectral_conv: `input` is [2, 3, 0], but must be a tensor with at least 1 channel, and at least 1 \
                    value along each dimension";
    refused([2, 3, 0], [3, 4, 1], expected);

    let device = Device::flex();
    let uneven = ComplexTensor::new(Tensor::<3>::zeros([3, 4, 5], &device), Tensor::zeros([3, 4, 4], &device));
    let error = spectral_conv(Tensor::zeros([2, 3, 8], &device), uneven).err().unwrap();
    assert_eq!(error.to_string(), "spectral_conv: `weights.im` is [3, 4, 4], but must be [3, 4, 5]");
    let grid = ComplexTensor::from(Tensor::<4>::zeros([3, 4, 7, 5], &device));
    let error = spectral_conv(Tensor::zeros([2, 3, 6, 8], &device), grid).err().unwrap();
    let expected = "spectral_conv: `weights` is 7 modes along dimension 2, but must be from 1 to 6 for a length of 6";
    assert_eq!(error.to_string(), expected);
}
