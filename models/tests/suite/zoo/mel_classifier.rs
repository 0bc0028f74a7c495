//! The classifier of recordings: loudness, training, and the running means of its file.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor};
use firefly_models::zoo::{self, ZooModel};
use firefly_models::{MelClassifier, MelClassifierConfig};

use crate::common::{assert_close, tensor, values};

/// Recordings of a batch.
const BATCH: usize = 24;
/// Samples of a recording.
const SAMPLES: usize = 400;

fn config() -> MelClassifierConfig {
    let config = MelClassifierConfig::new().with_sample_rate(800.0).with_n_fft(40).with_hop(16).with_bands(8);
    let classes = ["low", "middle", "high"].map(String::from).into();
    config.with_channels(vec![4, 8]).with_classes(classes).with_samples(SAMPLES)
}

/// Tones of three frequencies in turn, each beginning at another phase, and their classes.
fn tones(phase: f64, device: &Device) -> (Tensor<2>, Tensor<1, Int>) {
    let sample = |index: usize| {
        let (row, time) = (index / SAMPLES, index % SAMPLES);
        let wave = (0.4 * (1 + row % 3) as f64 * time as f64 + phase * row as f64).sin();
        wave + 0.2 * (2.9 * time as f64 + row as f64).cos()
    };
    let samples: Vec<f64> = (0..BATCH * SAMPLES).map(sample).collect();
    let classes: Vec<i32> = (0..BATCH as i32).map(|row| row % 3).collect();
    (tensor(&samples, [BATCH, SAMPLES], device), Tensor::from_data(&classes[..], device))
}

/// A classifier after some steps on tones, without autodiff.
fn trained() -> MelClassifier {
    let device = Device::flex().autodiff();
    device.clone().inner().seed(2);
    let mut model = config().init(&device);
    let mut optimizer = AdamConfig::new().init();
    for step in 0..40 {
        let (signal, classes) = tones(0.3 + 0.01 * f64::from(step), &device);
        let loss = CrossEntropyLossConfig::new().init(&device).forward(model.forward(signal), classes);
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(0.02, model, gradients);
    }
    model.valid()
}

#[test]
fn tones_are_distinguished_at_every_level() {
    let (model, device) = (trained(), Device::flex());
    let (signal, classes) = tones(1.1, &device);
    let scores = model.forward(signal.clone());
    let found: Tensor<1, Int> = scores.clone().argmax(1).squeeze_dim(1);
    let hits: i64 = found.equal(classes).int().sum().into_scalar();
    assert_eq!(hits, BATCH as i64);
    assert_close("scores", &values(model.forward(signal * 100.0)), &values(scores), 1e-3);
}

#[test]
fn a_trained_classifier_has_the_same_scores_after_it_was_saved() {
    let (model, device) = (trained(), Device::flex());
    let (signal, _) = tones(0.7, &device);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let expected = values(model.forward(signal.clone()));
    ZooModel::from(model).save(&path).unwrap();
    let outputs = zoo::load(&path, &device).unwrap().forward(vec![signal.into()]);
    let scores = outputs.into_iter().next().unwrap().try_float::<2>("test", "scores").unwrap();
    assert_eq!(values(scores), expected, "running means of the normalisation are a part of the file");
}

#[test]
fn recordings_and_layers_that_do_not_fit_are_refused() {
    let device = Device::flex();
    let error = config().with_channels(vec![4; 5]).try_init(&device).unwrap_err().to_string();
    assert!(error.contains("`channels` is for 5 layers, 8 bands and 26 frames"), "{error}");
    let model = config().init(&device);
    let error = model.try_forward(Tensor::<2>::ones([1, 30], &device)).unwrap_err().to_string();
    assert!(error.contains("`signal` is for 2 layers, 8 bands and 2 frames"), "{error}");
    assert!(config().with_classes(vec![]).validate().unwrap_err().to_string().contains("`classes` is empty"));
}
