//! Gates of the learned model: how they are drawn, counted and trained.

use burn::module::{Module, Param};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::learned_welch_peaks::{GateKind, Gates, HardConcrete};
use firefly_models::{Detrend, LearnedWelchPeaks, LearnedWelchPeaksConfig, Scaling};

fn signal(device: &Device) -> Tensor<2> {
    let samples: Vec<f32> = (0..4 * 48).map(|i| (i as f32 * 0.9).sin() + 0.3 * (i as f32 * 2.3).cos()).collect();
    Tensor::from_data(TensorData::new(samples, [4, 48]), device)
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

fn config(segments: usize) -> LearnedWelchPeaksConfig {
    LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_segments(segments)
}

/// A model of segments of 16 samples.
fn small(segments: usize, device: &Device) -> LearnedWelchPeaks {
    config(segments).init(device)
}

/// The same with a learned transform, 4 stages of 8 butterflies.
fn learned(segments: usize, device: &Device) -> LearnedWelchPeaks {
    config(segments).with_learned_transform(true).init(device)
}

/// Sets the logits of the gates of butterflies.
fn set_gate_logits(model: &mut LearnedWelchPeaks, logits: Tensor<2>) {
    model.transform.as_mut().unwrap().gate_logits = Param::from_tensor(logits);
}

/// Gates drawn from a linear congruential generator.
fn drawn(model: &LearnedWelchPeaks, mut seed: u32) -> Gates {
    let mut uniform = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / (1 << 24) as f32
    };
    let mut draws = |count: usize| -> Vec<f32> { (0..count).map(|_| uniform()).collect() };
    let segments = model.segment_logits.val();
    let (device, count) = (segments.device().inner(), segments.dims()[0]);
    let shape = model.transform.as_ref().map(|transform| transform.gate_logits.dims());
    let butterflies = shape.map(|shape| Tensor::from_data(TensorData::new(draws(shape[0] * shape[1]), shape), &device));
    model.sample_gates_from(butterflies, Tensor::from_data(TensorData::new(draws(count), [count]), &device))
}

/// How many logits of butterflies and of segments a step on a loss moves.
fn moved_logits(loss: impl Fn(&LearnedWelchPeaks, &Device) -> Tensor<1>) -> [usize; 2] {
    let device = Device::flex().autodiff();
    let config = LearnedWelchPeaksConfig::new().with_n_fft(32).with_open_logit(0.5).with_learned_transform(true);
    let before = config.init(&device);
    let logits = |model: &LearnedWelchPeaks| values(model.transform.as_ref().unwrap().gate_logits.val());
    let gradients = GradientsParams::from_grads(loss(&before, &device).backward(), &before);
    let after = SgdConfig::new().init().step(0.1, before.clone(), gradients);
    let change = |a: Vec<f32>, b: Vec<f32>| a.iter().zip(&b).filter(|(a, b)| a != b).count();
    [
        change(logits(&before), logits(&after)),
        change(values(before.segment_logits.val()), values(after.segment_logits.val())),
    ]
}

#[test]
fn gates_train_through_their_samples() {
    let [butterflies, segments] = moved_logits(|model, device| {
        // Several draws, since one that is exactly 0 or 1 has no gradient.
        let loss = |seed| model.psd(signal(device), &drawn(model, seed)).log().mean();
        (1..20).fold(loss(0), |sum, seed| sum + loss(seed))
    });
    assert!(butterflies >= 70 && segments == 2, "{butterflies} and {segments}");
}

#[test]
fn gates_train_through_their_price() {
    assert_eq!(moved_logits(|model, _| model.expected_butterflies() * 1e-3), [80, 2]);
}

#[test]
fn mean_gates_are_refused_where_gates_train() {
    let device = Device::flex().autodiff();
    let model = LearnedWelchPeaksConfig::new().with_n_fft(32).init(&device);
    let message = model.try_psd(signal(&device), &model.mean_gates()).unwrap_err().to_string();
    assert!(message.contains("`gates` is mean gates") && message.contains("sampled gates"), "{message}");
    assert!(model.try_forward(signal(&device), &model.mean_gates()).is_err());
    // Not where no gate trains: in a copy without gradients, or where the logits are frozen.
    let valid = model.valid();
    assert!(valid.try_psd(signal(&device.clone().inner()), &valid.mean_gates()).is_ok());
    let mut frozen = model;
    frozen.segment_logits = frozen.segment_logits.set_require_grad(false);
    assert!(frozen.try_psd(signal(&device), &frozen.mean_gates()).is_ok());
}

#[test]
fn gates_know_their_origin() {
    let device = Device::flex();
    let model = small(2, &device);
    let given = Gates::new(Tensor::ones([2], &device));
    let gates = [model.hard_gates(), drawn(&model, 1), model.mean_gates(), given];
    assert_eq!(gates.map(|gates| gates.kind()), [GateKind::Hard, GateKind::Sampled, GateKind::Mean, GateKind::Given]);
}

/// The only test here that draws Burn's random numbers, whose seed is shared by the whole process.
#[test]
fn a_seed_repeats_a_draw_and_draws_differ() {
    let device = Device::flex();
    let mut model = learned(2, &device);
    set_gate_logits(&mut model, Tensor::zeros([4, 8], &device));
    let draw = || values(model.sample_gates().butterflies().unwrap().clone());
    device.seed(7);
    let (first, second) = (draw(), draw());
    device.seed(7);
    assert_eq!(first, draw());
    assert_ne!(first, second);
    assert!(first.iter().all(|gate| (0.0..=1.0).contains(gate)));
}

#[test]
fn noise_of_another_shape_is_an_error() {
    let device = Device::flex();
    let error = |model: LearnedWelchPeaks, butterflies: Option<[usize; 2]>, segments: usize| {
        let butterflies = butterflies.map(|shape| Tensor::full(shape, 0.5, &device));
        model.try_sample_gates_from(butterflies, Tensor::full([segments], 0.5, &device)).unwrap_err().to_string()
    };
    assert!(error(learned(2, &device), Some([4, 9]), 2).contains("`butterflies` is [4, 9]"));
    assert!(error(learned(2, &device), Some([4, 8]), 3).contains("`segments` is [3]"));
    assert!(error(learned(2, &device), None, 2).contains("`butterflies` is none"));
    assert!(error(small(2, &device), Some([4, 8]), 2).contains("must be none"));
}

#[test]
fn gates_of_another_shape_are_an_error() {
    let device = Device::flex();
    let error = |model: LearnedWelchPeaks, gates: &Gates| {
        model.try_forward(Tensor::<2>::ones([1, 24], &device), gates).unwrap_err().to_string()
    };
    let of_segments = |count| Gates::new(Tensor::ones([count], &device));
    let with_butterflies = |shape: [usize; 2]| of_segments(2).with_butterflies(Some(Tensor::ones(shape, &device)));
    assert!(error(small(2, &device), &of_segments(3)).contains("`gates` is [3] of segments"));
    assert!(error(small(2, &device), &with_butterflies([4, 8])).contains("the transform is exact"));
    assert!(error(learned(2, &device), &of_segments(2)).contains("gates of butterflies too"));
    assert!(error(learned(2, &device), &with_butterflies([4, 9])).contains("`gates` is [4, 9]"));
}

#[test]
fn the_expected_number_of_open_segments_is_that_of_at_least_one() {
    let device = Device::flex();
    let mut model = small(2, &device);
    let logits = Tensor::from_floats([-1.0, -1.6], &device);
    let open = values(HardConcrete::PAPER.open_probability(logits.clone()));
    model.segment_logits = Param::from_tensor(logits);
    let expected = open[0] + open[1] + (1.0 - open[0]) * (1.0 - open[1]);
    assert!((model.expected_open_segments().into_scalar::<f32>() - expected).abs() < 1e-6);
    assert!(expected > 1.0);
}

#[test]
fn hard_gates_keep_one_segment_and_their_open_butterflies_are_counted() {
    let device = Device::flex();
    let mut model = small(3, &device);
    assert_eq!(model.count_open_butterflies(), 3 * 4 * 8);
    model.segment_logits = Param::from_tensor(Tensor::from_floats([-9.0, -4.0, -7.0], &device));
    assert_eq!(values(model.hard_gates().segments().clone()), [0.0, 1.0, 0.0]);
    assert_eq!(model.count_open_butterflies(), 4 * 8);
    assert_eq!(model.all_butterflies(), 3 * 4 * 8);
    let mut logits = vec![3.0f32; 32];
    logits[5..10].fill(-3.0);
    let mut model = learned(3, &device);
    set_gate_logits(&mut model, Tensor::from_data(TensorData::new(logits, [4, 8]), &device));
    assert_eq!(model.count_open_butterflies(), 3 * (4 * 8 - 5));
}

#[test]
fn a_draw_leaves_the_sum_of_one_segment_open() {
    let device = Device::flex();
    let mut model = small(3, &device);
    for logits in [[-9.0, -6.0, -9.0], [-9.0, -8.0, -8.0]] {
        model.segment_logits = Param::from_tensor(Tensor::from_floats(logits, &device));
        let gates = model.sample_gates_from(None, Tensor::full([3], 0.5, &device));
        assert_eq!(values(gates.segments().clone()), [0.0, 1.0, 0.0]);
        assert_eq!(values(model.hard_gates().segments().clone()), [0.0, 1.0, 0.0]);
    }
}

/// Largest difference of two powers, as a share of the largest.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    let largest = b.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    a.iter().zip(b).fold(0.0f32, |most, (a, b)| most.max((a - b).abs())) / largest
}

#[test]
fn hard_gates_and_the_same_weights_give_the_same_power() {
    let device = Device::flex();
    for product_weight in [None, Some(0.5)] {
        let mut model = config(4).with_hop(Some(7)).with_product_weight(product_weight).init(&device);
        model.segment_logits = Param::from_tensor(Tensor::from_floats([3.0, -3.0, 3.0, -3.0], &device));
        let (hard, given) = (model.hard_gates(), Gates::new(Tensor::from_floats([1.0, 0.0, 1.0, 0.0], &device)));
        let [chosen, weighted] = [&hard, &given].map(|gates| values(model.psd(signal(&device), gates)));
        assert!(difference(&weighted, &chosen) < 1e-6, "{product_weight:?}");
        let [chosen, weighted] = [&hard, &given].map(|gates| model.forward(signal(&device), gates).bins.into_data());
        assert_eq!(chosen, weighted);
    }
}

#[test]
fn a_learned_transform_that_is_exact_gives_the_power_of_the_exact_one() {
    let device = Device::flex();
    let scalings = [Scaling::Power, Scaling::Spectrum, Scaling::Density { sample_rate: 10.0 }];
    let detrends = [Detrend::None, Detrend::Constant, Detrend::Linear];
    for (scaling, detrend) in scalings.into_iter().flat_map(|s| detrends.map(|detrend| (s, detrend))) {
        for product_weight in [None, Some(-0.8)] {
            let config = config(3).with_scaling(scaling).with_detrend(detrend).with_product_weight(product_weight);
            let [exact, learned] = [false, true].map(|is_learned| {
                let model = config.clone().with_learned_transform(is_learned).init(&device);
                values(model.psd(signal(&device) + 0.4, &model.hard_gates()))
            });
            assert!(difference(&learned, &exact) < 5e-6, "{scaling:?}, {detrend:?}, {product_weight:?}");
        }
    }
}
