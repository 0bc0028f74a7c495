//! NdArray gives what Flex gives.
#![cfg(feature = "ndarray")]
#![expect(deprecated, reason = "Burn retires the backend after 0.22; until then its users are served")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device};
use common::learned::LearnedNumbers;
use common::{integers, noise, relative_error, tensor, values};
use firefly_ops::{
    Detrend, LocalMaximaOptions, Scaling, WelchOptions, butterfly, learned_welch_peaks, learned_welch_psd,
    local_maxima, welch_peaks, welch_psd,
};

const ROWS: usize = 3;
const TOLERANCE: f64 = 1e-6;
const OPTIONS: WelchOptions =
    WelchOptions::new(64, 3).with_hop(20).with_scaling(Scaling::Spectrum).with_detrend(Detrend::Constant);

/// Outputs and bins of every operation.
fn forward(device: &Device) -> (Vec<Vec<f64>>, Vec<Vec<i64>>) {
    let signal = tensor(&noise(ROWS * OPTIONS.frame(), 1), [ROWS, OPTIONS.frame()], device, DType::F32);
    let parameters = LearnedNumbers::perturbed(&OPTIONS, 2).tensors(&OPTIONS, device, DType::F32);
    let exact = welch_peaks(signal.clone(), parameters.window.clone(), &OPTIONS, 5).unwrap();
    let learned = learned_welch_peaks(signal.clone(), parameters.clone(), &OPTIONS, 5).unwrap();
    let power = welch_psd(signal.clone(), parameters.window.clone(), &OPTIONS).unwrap();
    let maxima = local_maxima(power, &LocalMaximaOptions::new(), 5).unwrap();
    let mut outputs = vec![
        maxima.power,
        maxima.prominence,
        maxima.offset,
        welch_psd(signal.clone(), parameters.window.clone(), &OPTIONS).unwrap(),
        learned_welch_psd(signal.clone(), parameters.clone(), &OPTIONS).unwrap(),
        exact.power,
        learned.power,
    ];
    // A transposed input, to go through a layout with gaps.
    let part = signal.narrow(1, 0, 64).reshape([64, ROWS]).transpose();
    for gates in [None, Some(parameters.gates)] {
        let (re, im) = butterfly(part.clone(), part.clone(), parameters.twiddles.clone(), gates).unwrap();
        outputs.extend([re, im]);
    }
    (
        outputs.into_iter().map(values).collect(),
        vec![integers(exact.bins), integers(learned.bins), integers(maxima.bins)],
    )
}

#[test]
fn forward_passes_agree() {
    let ((expected, expected_bins), (outputs, bins)) = (forward(&Device::flex()), forward(&Device::ndarray()));
    assert_eq!(bins, expected_bins);
    for (output, expected) in outputs.iter().zip(&expected) {
        let error = relative_error(output, expected);
        assert!(error <= TOLERANCE, "relative error {error:.1e}");
    }
}

fn gradients(device: Device) -> [Vec<f64>; 2] {
    let device = device.autodiff();
    let signal = tensor(&noise(ROWS * OPTIONS.frame(), 1), [ROWS, OPTIONS.frame()], &device, DType::F32);
    let mut parameters = LearnedNumbers::perturbed(&OPTIONS, 2).tensors(&OPTIONS, &device, DType::F32);
    parameters.gates = parameters.gates.require_grad();
    parameters.twiddles = parameters.twiddles.require_grad();
    let (gates, twiddles) = (parameters.gates.clone(), parameters.twiddles.clone());
    let peaks = learned_welch_peaks(signal, parameters, &OPTIONS, 5).unwrap();
    let gradients = peaks.power.log().sum().backward();
    [values(gates.grad(&gradients).unwrap()), values(twiddles.grad(&gradients).unwrap())]
}

#[test]
fn gradients_agree() {
    for (gradient, expected) in gradients(Device::ndarray()).iter().zip(&gradients(Device::flex())) {
        let error = relative_error(gradient, expected);
        assert!(error <= TOLERANCE, "relative error {error:.1e}");
    }
}

#[test]
fn tensors_of_two_devices_are_refused() {
    let signal = tensor(&noise(OPTIONS.frame(), 1), [1, OPTIONS.frame()], &Device::flex(), DType::F32);
    let parameters = LearnedNumbers::exact(&OPTIONS).tensors(&OPTIONS, &Device::ndarray(), DType::F32);
    let error = welch_psd(signal.clone(), parameters.window.clone(), &OPTIONS).unwrap_err();
    assert_eq!((error.operation, error.argument), ("welch_psd", "window"));
    let error = learned_welch_psd(signal, parameters, &OPTIONS).unwrap_err();
    assert_eq!((error.operation, error.argument), ("learned_welch_psd", "window"));
}
