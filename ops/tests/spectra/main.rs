//! Cross spectra, multitaper estimates, significance, trends and medians: against SciPy, MNE, definitions and float64
//! differences.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod cross;
mod estimates;
mod multitaper;
mod significance;

use burn::tensor::{DType, Device, Tensor};
use common::{tensor, values};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::{Window, WindowSymmetry};
use serde::Deserialize;

/// The cases of `fixtures/make_spectra.py`.
#[derive(Deserialize)]
struct Fixtures {
    channels: Vec<Vec<f64>>,
    welch: Vec<estimates::Case>,
    cross: cross::Case,
    dpss: Vec<multitaper::DpssCase>,
    multitaper: Vec<multitaper::Case>,
}

impl Fixtures {
    const RATE: f64 = 50.0;

    fn load() -> Self {
        serde_json::from_str(include_str!("../fixtures/spectra.json")).expect("fixtures parse")
    }

    /// Samples of a channel on a CPU.
    fn row(&self, channel: usize, dtype: DType) -> Tensor<1> {
        let samples = &self.channels[channel];
        tensor(samples, [samples.len()], &Device::flex(), dtype)
    }
}

/// Complex values of a fixture.
#[derive(Deserialize)]
struct Parts {
    re: Vec<f64>,
    im: Vec<f64>,
}

/// Checks real values: the largest error relative to the largest value.
fn close<const D: usize>(found: Tensor<D>, expected: &[f64], tolerance: f64, what: &str) {
    let error = common::relative_error(&values(found), expected);
    assert!(error <= tolerance, "{what}: relative error {error:.1e}");
}

/// Checks complex values: the largest error relative to the largest magnitude.
fn close_complex<const D: usize>(found: ComplexTensor<D>, expected: &Parts, tolerance: f64, what: &str) {
    let (re, im) = (values(found.re), values(found.im));
    let largest = expected.re.iter().zip(&expected.im).map(|(re, im)| re.hypot(*im)).fold(0.0, f64::max);
    assert_eq!((re.len(), im.len()), (expected.re.len(), expected.im.len()), "{what}");
    for (bin, (re, im)) in re.iter().zip(&im).enumerate() {
        let error = (re - expected.re[bin]).hypot(im - expected.im[bin]) / largest;
        assert!(error <= tolerance, "{what}, bin {bin}: relative error {error:.1e}");
    }
}

fn hann(n: usize, dtype: DType) -> Tensor<1> {
    tensor(&Window::Hann.coefficients(n, WindowSymmetry::Periodic), [n], &Device::flex(), dtype)
}

/// Tolerance of a type against float64.
fn tolerance(dtype: DType) -> f64 {
    if dtype == DType::F64 { 1e-11 } else { 1e-5 }
}

const BOTH: [DType; 2] = [DType::F64, DType::F32];

/// Checks the gradient of Σ weights · `run` (leaf) in float64 against central differences.
fn gradient_matches_differences(leaf: &[f64], run: impl Fn(Tensor<1>) -> Tensor<1>, what: &str) {
    const STEP: f64 = 1e-6;
    let on = |device: &Device, leaf: &[f64]| tensor::<1>(leaf, [leaf.len()], device, DType::F64);
    let loss = |output: Tensor<1>| {
        let count = output.dims()[0];
        let weights = tensor::<1>(&common::noise(count, 5), [count], &output.device().inner(), DType::F64);
        (output * weights).sum()
    };
    let tracked = on(&Device::flex().autodiff(), leaf).require_grad();
    let gradients = loss(run(tracked.clone())).backward();
    let found = values(tracked.grad(&gradients).unwrap());
    let at = |place: usize, step: f64| {
        let mut moved = leaf.to_vec();
        moved[place] += step;
        values(loss(run(on(&Device::flex(), &moved))))[0]
    };
    let expected: Vec<f64> = (0..leaf.len()).map(|i| (at(i, STEP) - at(i, -STEP)) / (2.0 * STEP)).collect();
    assert!(expected.iter().any(|value| value.abs() > 1e-6), "{what}: no gradient to compare");
    let error = common::relative_error(&found, &expected);
    assert!(error < 1e-5, "{what}: relative error {error:.1e}");
}
