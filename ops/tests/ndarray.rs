//! NdArray gives what Flex gives.
#![cfg(feature = "ndarray")]
#![expect(deprecated, reason = "Burn retires the backend after 0.22; until then its users are served")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device};
use common::weights::{WeightNumbers, gained_peaks, gained_psd};
use common::{integers, noise, relative_error, tensor, values};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::{
    Detrend, LocalMaximaOptions, Scaling, WelchOptions, WelchWeights, butterfly, local_maxima, welch_peaks, welch_psd,
};

const ROWS: usize = 3;
const TOLERANCE: f64 = 1e-6;
const OPTIONS: WelchOptions =
    WelchOptions::new(64, 3).with_hop(20).with_scaling(Scaling::Spectrum).with_detrend(Detrend::Constant);

/// Outputs and bins of every operation.
fn forward(device: &Device) -> (Vec<Vec<f64>>, Vec<Vec<i64>>) {
    let signal = tensor(&noise(ROWS * OPTIONS.frame(), 1), [ROWS, OPTIONS.frame()], device, DType::F32);
    let parameters = WeightNumbers::perturbed(&OPTIONS, 2).tensors(&OPTIONS, device, DType::F32);
    let exact = welch_peaks(signal.clone(), parameters.window.clone(), &OPTIONS, 5).unwrap();
    let gained = gained_peaks(signal.clone(), &parameters, &OPTIONS, 5).unwrap();
    let power = welch_psd(signal.clone(), parameters.window.clone(), &OPTIONS).unwrap();
    let maxima = local_maxima(power, &LocalMaximaOptions::new(), 5).unwrap();
    let mut outputs = vec![
        maxima.power,
        maxima.prominence,
        maxima.offset,
        welch_psd(signal.clone(), parameters.window.clone(), &OPTIONS).unwrap(),
        gained_psd(signal.clone(), &parameters, &OPTIONS).unwrap(),
        exact.power,
        gained.power,
    ];
    // A transposed input, to go through a layout with gaps.
    let part = signal.narrow(1, 0, 64).reshape([64, ROWS]).transpose();
    for gates in [None, Some(parameters.gates)] {
        let rows = ComplexTensor::new(part.clone(), part.clone());
        let out = butterfly(rows, parameters.twiddles.clone(), gates).unwrap();
        outputs.extend([out.re, out.im]);
    }
    (
        outputs.into_iter().map(values).collect(),
        vec![integers(exact.bins), integers(gained.bins), integers(maxima.bins)],
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
    let mut parameters = WeightNumbers::perturbed(&OPTIONS, 2).tensors(&OPTIONS, &device, DType::F32);
    parameters.window = parameters.window.require_grad();
    parameters.gain = parameters.gain.require_grad();
    let (window, gain) = (parameters.window.clone(), parameters.gain.clone());
    let peaks = gained_peaks(signal, &parameters, &OPTIONS, 5).unwrap();
    let gradients = peaks.power.log().sum().backward();
    [values(window.grad(&gradients).unwrap()), values(gain.grad(&gradients).unwrap())]
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
    let parameters = WeightNumbers::exact(&OPTIONS).tensors(&OPTIONS, &Device::ndarray(), DType::F32);
    let error = welch_psd(signal.clone(), parameters.window.clone(), &OPTIONS).unwrap_err();
    assert_eq!((error.operation, error.argument), ("welch_psd", "window"));
    let gain = WelchWeights::new(parameters.window.to_device(&Device::flex())).with_gain(Some(parameters.gain));
    let error = welch_psd(signal, gain, &OPTIONS).unwrap_err();
    assert_eq!((error.operation, error.argument), ("welch_psd", "gain"));
}
