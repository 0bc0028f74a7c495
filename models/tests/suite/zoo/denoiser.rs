//! The denoiser: its mask, levels and training.

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Distribution, Tensor};
use firefly_models::{SpectralDenoiser, SpectralDenoiserConfig};

use crate::common::{assert_close, samples, tensor, values};

fn model(device: &Device) -> SpectralDenoiser {
    SpectralDenoiserConfig::new().with_n_fft(32).with_hop(8).with_hidden(8).with_layers(2).init(device)
}

#[test]
fn a_mask_is_between_0_and_1_and_a_signal_twice_as_loud_has_the_same() {
    let device = Device::flex();
    let (model, signal) = (model(&device), tensor(&samples(400, 3), [2, 200], &device));
    let mask = values(model.mask::<2, 3>(signal.clone()));
    assert!(mask.iter().all(|value| (0.0..=1.0).contains(value)));
    assert_close("mask", &values(model.mask::<2, 3>(signal.clone() * 2.0)), &mask, 1e-4);
    let expected = values(model.forward(signal.clone()) * 2.0);
    assert_close("signal", &values(model.forward(signal * 2.0)), &expected, 1e-4);
}

#[test]
fn silence_stays_silent() {
    let device = Device::flex();
    let found = values(model(&device).forward(Tensor::<2>::zeros([1, 100], &device)));
    assert!(found.iter().all(|value| *value == 0.0), "{found:?}");
}

#[test]
fn training_reduces_noise() {
    let device = Device::flex().autodiff();
    device.seed(1);
    let mut model = model(&device);
    // A tone in each row, in white noise.
    let tone = |row: usize, time: usize| (0.3 * (1 + row % 4) as f64 * time as f64).sin();
    let clean: Vec<f64> = (0..16 * 200).map(|index| tone(index / 200, index % 200)).collect();
    let clean: Tensor<2> = tensor(&clean, [16, 200], &device);
    let noise = |device: &Device| Tensor::<2>::random([16, 200], Distribution::Normal(0.0, 0.5), device);
    let mut optimizer = AdamConfig::new().init();
    for _ in 0..60 {
        let denoised = model.forward(clean.clone() + noise(&device));
        let loss = (denoised - clean.clone()).square().mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(0.01, model, gradients);
    }
    let (model, clean, device) = (model.valid(), clean.inner(), device.inner());
    let noisy = clean.clone() + noise(&device);
    let error = |signal: Tensor<2>| (signal - clean.clone()).square().mean().into_scalar::<f64>();
    let (before, after) = (error(noisy.clone()), error(model.forward(noisy)));
    assert!(after < 0.5 * before, "mean squared error {before} before and {after} after");
}
