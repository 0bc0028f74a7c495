//! Firefly's modules inside a user's: they train with it, save with it, and move with it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use burn::module::{Module, Param};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::{HardConcrete, LearnedWelchPeaks, LearnedWelchPeaksConfig, Tier, WelchPeaks, WelchPeaksConfig};

#[derive(Module, Debug)]
struct Detector {
    exact: WelchPeaks,
    learned: LearnedWelchPeaks,
    threshold: Param<Tensor<1>>,
}

fn detector(device: &Device) -> Detector {
    Detector {
        exact: WelchPeaksConfig::new().with_n_fft(32).with_k(3).with_tier(Tier::Ultra).init(device).unwrap(),
        learned: LearnedWelchPeaksConfig::new().with_n_fft(32).with_k(3).init(device).unwrap(),
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
    let power = before.learned.power(signal(&device), &before.learned.mean_gates()).unwrap();
    let peaks = before.exact.forward(signal(&device)).unwrap();
    let loss = (power.log().mean() + peaks.power.mean()) * before.threshold.val();
    let gradients = GradientsParams::from_grads(loss.backward(), &before);
    let after = SgdConfig::new().init().step(0.1, before.clone(), gradients);
    let moved = |a: Vec<f32>, b: Vec<f32>| a.iter().zip(&b).any(|(a, b)| a != b) && b.iter().all(|b| b.is_finite());
    assert!(moved(values(before.threshold.val()), values(after.threshold.val())));
    assert!(moved(values(before.learned.taper.val()), values(after.learned.taper.val())));
    assert!(moved(values(before.learned.twiddles.val()), values(after.learned.twiddles.val())));
    assert!(moved(values(before.learned.log_gain.val()), values(after.learned.log_gain.val())));
}

/// How many logits of butterflies and of segments a step on a loss moves.
fn moved_logits(loss: impl Fn(&LearnedWelchPeaks, &Device) -> Tensor<1>) -> [usize; 2] {
    let device = Device::flex().autodiff();
    let before = LearnedWelchPeaksConfig::new().with_n_fft(32).with_open_logit(0.5).init(&device).unwrap();
    let gradients = GradientsParams::from_grads(loss(&before, &device).backward(), &before);
    let after = SgdConfig::new().init().step(0.1, before.clone(), gradients);
    let change = |a: Vec<f32>, b: Vec<f32>| a.iter().zip(&b).filter(|(a, b)| a != b).count();
    [
        change(values(before.gate_logits.val()), values(after.gate_logits.val())),
        change(values(before.segment_logits.val()), values(after.segment_logits.val())),
    ]
}

#[test]
fn gates_train_through_their_samples() {
    let [butterflies, segments] = moved_logits(|model, device| {
        // Several draws, since one that is exactly 0 or 1 has no gradient.
        let loss = |seed| model.power(signal(device), &model.sample_gates(uniform(seed))).unwrap().log().mean();
        (1..20).fold(loss(0), |sum, seed| sum + loss(seed))
    });
    assert!(butterflies >= 70 && segments == 2, "{butterflies} and {segments}");
}

#[test]
fn gates_train_through_their_price() {
    assert_eq!(moved_logits(|model, _| model.expected_butterflies() * 1e-3), [80, 2]);
}

/// A source of uniform numbers.
fn uniform(mut seed: u32) -> impl FnMut() -> f32 {
    move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / (1 << 24) as f32
    }
}

#[test]
fn the_expected_number_of_open_segments_is_that_of_at_least_one() {
    let device = Device::flex();
    let mut model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_segments(2).init(&device).unwrap();
    let logits = Tensor::from_floats([-1.0, -1.6], &device);
    let open = values(HardConcrete::PAPER.open_probability(logits.clone()));
    model.segment_logits = Param::from_tensor(logits);
    let expected = open[0] + open[1] + (1.0 - open[0]) * (1.0 - open[1]);
    assert!((model.expected_open_segments().into_scalar::<f32>() - expected).abs() < 1e-6);
    assert!(expected > 1.0);
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
    let peaks = |model: &Detector| model.learned.forward(signal(&device)).unwrap();
    assert_eq!(values(peaks(&saved).power), values(peaks(&loaded).power));
    assert_eq!(values(loaded.learned.taper.val()), vec![0.7; 32]);
}

#[test]
fn hard_gates_keep_one_segment_and_count_what_runs() {
    let device = Device::flex();
    let mut model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_segments(3).init(&device).unwrap();
    assert_eq!(model.butterflies(), 3 * 4 * 8);
    model.segment_logits = Param::from_tensor(Tensor::from_floats([-9.0, -4.0, -7.0], &device));
    assert_eq!(values(model.hard_gates().segments), [0.0, 1.0, 0.0]);
    assert_eq!(model.butterflies(), 4 * 8);
    let mut logits = vec![3.0f32; 32];
    logits[5..10].fill(-3.0);
    model.gate_logits = Param::from_tensor(Tensor::from_data(TensorData::new(logits, [4, 8]), &device));
    assert_eq!(model.butterflies(), 4 * 8 - 5);
    assert_eq!(model.all_butterflies(), 3 * 4 * 8);
}

#[test]
fn an_untrained_model_is_close_to_the_exact_estimate() {
    let device = Device::flex();
    let exact = WelchPeaksConfig::new().with_n_fft(64).with_k(5).init(&device).unwrap();
    let mut learned = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(5).init(&device).unwrap();
    let samples: Vec<f32> = (0..96).map(|i| (i as f32 * 0.7).sin() + 0.1 * (i as f32 * 1.9).sin()).collect();
    let signal = Tensor::<2>::from_data(TensorData::new(samples, [1, 96]), &device);
    let bins = |peaks: firefly_models::Peaks| -> Vec<i64> { peaks.bins.into_data().iter().collect() };
    let top = |bins: Vec<i64>| bins[0];
    assert_eq!(top(bins(exact.forward(signal.clone()).unwrap())), top(bins(learned.forward(signal.clone()).unwrap())));
    // Without what neighbours give, it is the exact estimate.
    let own: Vec<f32> = [-60.0, 0.0, -60.0].repeat(33);
    learned.log_gain = Param::from_tensor(Tensor::from_data(TensorData::new(own, [33, 3]), &device));
    let (exact, learned) = (exact.forward(signal.clone()).unwrap(), learned.forward(signal).unwrap());
    let (exact_power, learned_power) = (values(exact.power.clone()), values(learned.power.clone()));
    assert_eq!(bins(exact), bins(learned));
    for (a, b) in exact_power.iter().zip(&learned_power) {
        assert!((a - b).abs() <= 2e-6 * exact_power[0], "{a} and {b}");
    }
}

#[test]
fn a_draw_always_leaves_a_segments_worth_open() {
    let device = Device::flex();
    let mut model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_segments(3).init(&device).unwrap();
    for logits in [[-9.0, -6.0, -9.0], [-9.0, -8.0, -8.0]] {
        model.segment_logits = Param::from_tensor(Tensor::from_floats(logits, &device));
        assert_eq!(values(model.sample_gates(|| 0.5).segments), [0.0, 1.0, 0.0]);
        assert_eq!(values(model.hard_gates().segments), [0.0, 1.0, 0.0]);
    }
}
