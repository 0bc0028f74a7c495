//! `adam_step` against its definition, on every device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, Tensor};
use common::devices::{CpuTest, DeviceTest, Trials, computed, tests};
use common::{noise, tensor, values};
use firefly_ops::options::{AdamOptions, WeightDecay};
use firefly_ops::training::{AdamState, adam_step};
use firefly_reference::adam::AdamDefinition;

const STEPS: usize = 5;

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        steps_are_those_of_the_definition,
        tensors_that_are_kept_stay_as_they_are,
        empty_parameters_stay_empty,
    ];
    let on_cpu = tests![CpuTest:
        parameters_of_any_rank_and_size_take_the_same_steps,
        half_precision_stays_half_precision,
        parameters_that_are_not_finite_spoil_no_moments,
        arguments_out_of_range_are_refused,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}

fn options() -> [AdamOptions; 3] {
    let options = AdamOptions::new(0.05, 1).with_betas([0.8, 0.95]).with_epsilon(1e-3);
    [WeightDecay::None, WeightDecay::Coupled(0.25), WeightDecay::Decoupled(0.5)]
        .map(|decay| options.with_weight_decay(decay))
}

/// A parameter and its moments after a step for each of the `gradients`.
fn trained(
    start: &[f64],
    gradients: &[Vec<f64>],
    options: &AdamOptions,
    device: &Device,
    dtype: DType,
) -> [Vec<f64>; 3] {
    let of = |values: &[f64]| tensor(values, [start.len()], device, dtype);
    let mut state = AdamState::zeros(of(start));
    for (step, gradient) in (1..).zip(gradients) {
        state = adam_step(state, of(gradient), &options.with_step(step)).unwrap();
    }
    [state.parameter, state.moment_1, state.moment_2].map(values)
}

fn steps_are_those_of_the_definition(device: &Device) {
    let gradients = |length| (0..STEPS as u64).map(move |step| noise(length, step)).collect::<Vec<_>>();
    for &dtype in computed(device) {
        let tolerance = if dtype == DType::F64 { 1e-13 } else { 1e-6 };
        for options in options() {
            let (penalty, decay) = match options.weight_decay {
                WeightDecay::Coupled(factor) => (factor, 0.0),
                WeightDecay::Decoupled(factor) => (0.0, factor),
                _ => (0.0, 0.0),
            };
            let AdamOptions { learning_rate, betas, epsilon, .. } = options;
            let definition = AdamDefinition { learning_rate, betas, epsilon, penalty, decay };
            for length in [1, 7, 1000, 70_001] {
                let (start, gradients) = (noise(length, 9), gradients(length));
                let found = trained(&start, &gradients, &options, device, dtype);
                for (place, start) in start.iter().enumerate() {
                    let of_place: Vec<f64> = gradients.iter().map(|gradient| gradient[place]).collect();
                    let expected = definition.steps(*start, &of_place);
                    for (found, expected) in found.iter().zip(expected) {
                        let error = (found[place] - expected).abs();
                        assert!(error <= tolerance, "{options:?}, {length} values: {} is not {expected}", found[place]);
                    }
                }
            }
        }
    }
}

fn tensors_that_are_kept_stay_as_they_are(device: &Device) {
    // Rows that a device may pad, as one row, for which it has no reason to.
    const SHAPE: [usize; 2] = [7, 45];
    let of = |seed| tensor(&noise(7 * 45, seed), SHAPE, device, DType::F32);
    let [parameter, moment_1, gradient] = [1, 2, 4].map(of);
    let state = AdamState::new(parameter, moment_1, of(3).square());
    let before = [&state.parameter, &state.moment_1, &state.moment_2, &gradient].map(|tensor| values(tensor.clone()));
    let options = AdamOptions::new(0.1, 3);
    let moved = adam_step(state.clone(), gradient.clone(), &options).unwrap();
    let row = |tensor: &Tensor<2>| tensor.clone().reshape([1, 7 * 45]);
    let of_row = AdamState::new(row(&state.parameter), row(&state.moment_1), row(&state.moment_2));
    let of_row = adam_step(of_row, row(&gradient), &options).unwrap();
    assert_eq!(values(moved.parameter.clone()), values(of_row.parameter));
    assert_eq!(values(moved.moment_2), values(of_row.moment_2));
    assert_ne!(values(moved.parameter), before[0]);
    assert_eq!([state.parameter, state.moment_1, state.moment_2, gradient].map(values), before);
}

fn empty_parameters_stay_empty(device: &Device) {
    let empty = Tensor::<2>::zeros([0, 3], device);
    let state = adam_step(AdamState::zeros(empty.clone()), empty, &AdamOptions::new(0.1, 1)).unwrap();
    assert_eq!(state.parameter.dims(), [0, 3]);
}

fn parameters_of_any_rank_and_size_take_the_same_steps() {
    const LENGTH: usize = 3 * 7 * 11_000;
    let device = Device::flex();
    let of = |seed| tensor(&noise(LENGTH, seed), [LENGTH], &device, DType::F32);
    for options in options() {
        let flat = adam_step(AdamState::zeros(of(1)), of(2), &options).unwrap();
        let cube = |seed| of(seed).reshape([3, 7, 11_000]);
        let of_cube = adam_step(AdamState::zeros(cube(1)), cube(2), &options).unwrap();
        let part = |seed| of(seed).narrow(0, 100_000, 5);
        let of_part = adam_step(AdamState::zeros(part(1)), part(2), &options).unwrap();
        assert_eq!(of_cube.parameter.dims(), [3, 7, 11_000]);
        let all = values(flat.parameter);
        assert_eq!(values(of_cube.parameter), all);
        assert_eq!(values(of_part.parameter), all[100_000..100_005]);
        // A view that is not contiguous.
        let turned = |seed| cube(seed).swap_dims(0, 1);
        let of_turned = adam_step(AdamState::zeros(turned(1)), turned(2), &options).unwrap();
        assert_eq!(values(of_turned.parameter.swap_dims(0, 1)), all);
    }
}

fn half_precision_stays_half_precision() {
    let device = Device::flex();
    let half = tensor(&[1.0, -2.0], [2], &device, DType::F16);
    let state = adam_step(AdamState::zeros(half.clone()), half, &AdamOptions::new(0.5, 1)).unwrap();
    assert_eq!((state.parameter.dtype(), state.moment_2.dtype()), (DType::F16, DType::F32));
    assert_eq!(values(state.parameter), [0.5, -1.5]);
}

fn parameters_that_are_not_finite_spoil_no_moments() {
    let device = Device::flex();
    let of = |values: &[f64]| tensor(values, [2], &device, DType::F32);
    let state = AdamState::zeros(of(&[f64::INFINITY, 1.0]));
    let state = adam_step(state, of(&[1.0, 1.0]), &AdamOptions::new(0.1, 1)).unwrap();
    let moments = values(state.moment_1);
    assert_eq!(moments[0], moments[1]);
}

fn arguments_out_of_range_are_refused() {
    let device = Device::flex();
    let ones = |length| Tensor::<1>::ones([length], &device);
    let message = |options: AdamOptions, gradient| {
        adam_step(AdamState::zeros(ones(3)), gradient, &options).unwrap_err().to_string()
    };
    let any = AdamOptions::new(0.1, 1);
    assert!(message(any, ones(2)).contains("`gradient` is [2]"));
    assert!(message(AdamOptions::new(-1.0, 1), ones(3)).contains("`learning_rate` is -1"));
    assert!(message(AdamOptions::new(0.1, 0), ones(3)).contains("`step` is 0"));
    assert!(message(any.with_betas([0.9, 1.0]), ones(3)).contains("`betas` is [0.9, 1.0]"));
    assert!(message(any.with_betas([0.999_999_999, 0.9]), ones(3)).contains("below 1 in f32"));
    assert!(message(any.with_epsilon(0.0), ones(3)).contains("`epsilon` is 0"));
    assert!(message(any.with_epsilon(1e-50), ones(3)).contains("at least 1.1754944e-38"));
    let decay = any.with_weight_decay(WeightDecay::Decoupled(f64::NAN));
    assert!(message(decay, ones(3)).contains("`weight_decay` is NaN"));
    assert!(message(any, ones(3).autodiff()).contains("`state` is on a device with autodiff"));
}
