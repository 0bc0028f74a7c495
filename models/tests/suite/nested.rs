//! Firefly's modules inside a user's module: they train, are saved and are loaded with it.

use burn::module::{Module, Param};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::{LearnedWelchPeaks, LearnedWelchPeaksConfig, WelchPeaks, WelchPeaksConfig};

#[path = "../../examples/embed.rs"]
mod embed;

#[derive(Module, Debug)]
struct NestedModel {
    exact: WelchPeaks,
    learned: LearnedWelchPeaks,
    threshold: Param<Tensor<1>>,
}

fn detector(device: &Device) -> NestedModel {
    NestedModel {
        exact: WelchPeaksConfig::new().with_n_fft(32).with_k(3).with_segments(1).init(device),
        learned: LearnedWelchPeaksConfig::new().with_n_fft(32).with_k(3).with_learned_transform(true).init(device),
        threshold: Param::from_tensor(Tensor::ones([1], device)),
    }
}

fn signal(device: &Device) -> Tensor<2> {
    let samples: Vec<f32> = (0..4 * 48).map(|i| (i as f32 * 0.9).sin() + 0.3 * (i as f32 * 2.3).cos()).collect();
    Tensor::from_data(TensorData::new(samples, [4, 48]), device)
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

#[test]
fn every_parameter_trains_inside_a_users_module() {
    let device = Device::flex().autodiff();
    let before = detector(&device);
    let power = before.learned.psd(signal(&device), &before.learned.sample_gates());
    let peaks = before.exact.forward(signal(&device));
    let price = before.learned.expected_butterflies() * 1e-3;
    let loss = (power.log().mean() + peaks.power.mean()) * before.threshold.val() + price;
    let gradients = GradientsParams::from_grads(loss.backward(), &before);
    let after = SgdConfig::new().init().step(0.1, before.clone(), gradients);
    let moved = |a: Vec<f32>, b: Vec<f32>| a.iter().zip(&b).any(|(a, b)| a != b) && b.iter().all(|b| b.is_finite());
    assert!(moved(values(before.threshold.val()), values(after.threshold.val())));
    let (before, after) = (before.learned, after.learned);
    assert!(moved(values(before.taper.val()), values(after.taper.val())));
    let (old, new) = (before.transform.unwrap(), after.transform.unwrap());
    assert!(moved(values(old.twiddles.val()), values(new.twiddles.val())));
    assert!(moved(values(old.gate_logits.val()), values(new.gate_logits.val())));
    assert!(moved(values(before.segment_logits.val()), values(after.segment_logits.val())));
    assert!(moved(values(before.log_gain.val()), values(after.log_gain.val())));
}

#[test]
fn the_example_trains_its_gates() {
    // Asserts itself that training closes gates.
    embed::main();
}

#[test]
fn a_users_module_saves_and_loads_firefly_with_it() {
    let device = Device::flex();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("detector.bpk");
    let mut saved = detector(&device);
    saved.learned.taper = Param::from_tensor(Tensor::ones([32], &device) * 0.7);
    saved.clone().save_file(&path).unwrap();
    let loaded = detector(&device).try_load_file(&path).unwrap();
    let peaks = |model: &NestedModel| model.learned.forward(signal(&device), &model.learned.hard_gates());
    assert_eq!(values(peaks(&saved).power), values(peaks(&loaded).power));
    assert_eq!(values(loaded.learned.taper.val()), vec![0.7; 32]);
}

#[test]
fn an_untrained_model_is_close_to_the_exact_estimate() {
    let device = Device::flex();
    let exact = WelchPeaksConfig::new().with_n_fft(64).with_k(5).init(&device);
    let mut learned = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(5).init(&device);
    let samples: Vec<f32> = (0..96).map(|i| (i as f32 * 0.7).sin() + 0.1 * (i as f32 * 1.9).sin()).collect();
    let signal = Tensor::<2>::from_data(TensorData::new(samples, [1, 96]), &device);
    let bins = |peaks: firefly_models::Peaks<2>| -> Vec<i64> { peaks.bins.into_data().iter().collect() };
    let exact = exact.forward(signal.clone());
    let gates = learned.hard_gates();
    assert_eq!(bins(exact.clone())[0], bins(learned.forward(signal.clone(), &gates))[0]);
    // Without gain from neighbouring bins, it is the exact estimate.
    let own: Vec<f32> = [-60.0, 0.0, -60.0].repeat(33);
    learned.log_gain = Param::from_tensor(Tensor::from_data(TensorData::new(own, [33, 3]), &device));
    let learned = learned.forward(signal, &gates);
    let (exact_power, learned_power) = (values(exact.power.clone()), values(learned.power.clone()));
    assert_eq!(bins(exact), bins(learned));
    for (a, b) in exact_power.iter().zip(&learned_power) {
        assert!((a - b).abs() <= 2e-6 * exact_power[0], "{a} and {b}");
    }
}

#[test]
fn frames_of_any_rank_lie_along_the_last_dimension() {
    let device = Device::flex();
    let NestedModel { exact, learned, .. } = detector(&device);
    let (rows, gates) = (signal(&device), learned.hard_gates());
    let channels: Tensor<3> = rows.clone().reshape([2, 2, 48]);
    assert_eq!(values(exact.forward(channels.clone()).power), values(exact.forward(rows.clone()).power));
    assert_eq!(values(learned.psd(channels.clone(), &gates)), values(learned.psd(rows, &gates)));
    assert_eq!(learned.forward(channels, &gates).bins.dims(), [2, 2, 3]);
}

#[test]
fn forward_panics_with_the_message_of_the_error() {
    let device = Device::flex();
    let model = detector(&device);
    let short = Tensor::<2>::ones([1, 8], &device);
    let error = model.exact.try_forward(short.clone()).unwrap_err().to_string();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.exact.forward(short))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&error));
}
