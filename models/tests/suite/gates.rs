//! Gates of the learned model: how they are drawn, counted and trained.

use burn::module::{Module, Param};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor, TensorData, s};
use firefly_models::{GateKind, Gates, HardConcrete, LearnedWelchPeaks, LearnedWelchPeaksConfig};

fn signal(device: &Device) -> Tensor<2> {
    let samples: Vec<f32> = (0..4 * 48).map(|i| (i as f32 * 0.9).sin() + 0.3 * (i as f32 * 2.3).cos()).collect();
    Tensor::from_data(TensorData::new(samples, [4, 48]), device)
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

/// A model of segments of 16 samples, 4 stages of 8 butterflies each.
fn small(segments: usize, device: &Device) -> LearnedWelchPeaks {
    LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_segments(segments).init(device)
}

#[test]
fn models_run_as_exact_estimates_with_every_butterfly_open_and_equally_spaced_segments() {
    let device = Device::flex();
    let with = |n_fft: usize, closed: &[usize]| {
        let mut model = LearnedWelchPeaksConfig::new().with_n_fft(n_fft).with_k(4).with_segments(6).init(&device);
        let logits: Vec<f32> = (0..6).map(|segment| if closed.contains(&segment) { -3.0 } else { 3.0 }).collect();
        model.segment_logits = Param::from_tensor(Tensor::from_floats(logits.as_slice(), &device));
        model
    };
    assert!(with(64, &[]).runs_as_exact() && with(64, &[1, 2, 4, 5]).runs_as_exact());
    assert!(!with(64, &[1, 3, 4]).runs_as_exact(), "segments 0, 2 and 5");
    assert!(!with(32, &[]).runs_as_exact());
    let mut model = with(64, &[]);
    model.gate_logits = model.gate_logits.map(|gates| gates.slice_fill(s![2..3, 5..6], -3.0));
    assert!(!model.runs_as_exact());
}

/// Gates drawn from a linear congruential generator.
fn drawn(model: &LearnedWelchPeaks, mut seed: u32) -> Gates {
    let mut uniform = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / (1 << 24) as f32
    };
    let mut draws = |count: usize| -> Vec<f32> { (0..count).map(|_| uniform()).collect() };
    let (butterflies, segments) = (model.gate_logits.val(), model.segment_logits.val());
    let device = segments.device().inner();
    let (shape, count) = (butterflies.dims(), segments.dims()[0]);
    let butterflies = Tensor::from_data(TensorData::new(draws(shape[0] * shape[1]), shape), &device);
    model.sample_gates_from(butterflies, Tensor::from_data(TensorData::new(draws(count), [count]), &device))
}

/// How many logits of butterflies and of segments a step on a loss moves.
fn moved_logits(loss: impl Fn(&LearnedWelchPeaks, &Device) -> Tensor<1>) -> [usize; 2] {
    let device = Device::flex().autodiff();
    let before = LearnedWelchPeaksConfig::new().with_n_fft(32).with_open_logit(0.5).init(&device);
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
    frozen.gate_logits = frozen.gate_logits.set_require_grad(false);
    frozen.segment_logits = frozen.segment_logits.set_require_grad(false);
    assert!(frozen.try_psd(signal(&device), &frozen.mean_gates()).is_ok());
}

#[test]
fn gates_know_their_origin() {
    let device = Device::flex();
    let model = small(2, &device);
    let given = Gates::new(Tensor::ones([4, 8], &device), Tensor::ones([2], &device));
    let gates = [model.hard_gates(), drawn(&model, 1), model.mean_gates(), given];
    assert_eq!(gates.map(|gates| gates.kind()), [GateKind::Hard, GateKind::Sampled, GateKind::Mean, GateKind::Given]);
}

/// The only test here that draws Burn's random numbers, whose seed is shared by the whole process.
#[test]
fn a_seed_repeats_a_draw_and_draws_differ() {
    let device = Device::flex();
    let mut model = small(2, &device);
    model.gate_logits = Param::from_tensor(Tensor::zeros([4, 8], &device));
    let draw = || values(model.sample_gates().butterflies().clone());
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
    let model = small(2, &device);
    let error = |butterflies: [usize; 2], segments: usize| {
        let noise = (Tensor::full(butterflies, 0.5, &device), Tensor::full([segments], 0.5, &device));
        model.try_sample_gates_from(noise.0, noise.1).unwrap_err().to_string()
    };
    assert!(error([4, 9], 2).contains("`butterflies` is [4, 9]"));
    assert!(error([4, 8], 3).contains("`segments` is [3]"));
}

#[test]
fn gates_of_another_shape_are_an_error() {
    let device = Device::flex();
    let model = small(2, &device);
    let gates = Gates::new(Tensor::ones([4, 9], &device), Tensor::ones([2], &device));
    assert!(
        model.try_forward(Tensor::<2>::ones([1, 24], &device), &gates).unwrap_err().to_string().contains("`gates`")
    );
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
    let mut logits = vec![3.0f32; 32];
    logits[5..10].fill(-3.0);
    model.gate_logits = Param::from_tensor(Tensor::from_data(TensorData::new(logits, [4, 8]), &device));
    assert_eq!(model.count_open_butterflies(), 4 * 8 - 5);
    assert_eq!(model.all_butterflies(), 3 * 4 * 8);
}

#[test]
fn a_draw_leaves_the_sum_of_one_segment_open() {
    let device = Device::flex();
    let mut model = small(3, &device);
    for logits in [[-9.0, -6.0, -9.0], [-9.0, -8.0, -8.0]] {
        model.segment_logits = Param::from_tensor(Tensor::from_floats(logits, &device));
        let noise = (Tensor::full([4, 8], 0.5, &device), Tensor::full([3], 0.5, &device));
        let gates = model.sample_gates_from(noise.0, noise.1);
        assert_eq!(values(gates.segments().clone()), [0.0, 1.0, 0.0]);
        assert_eq!(values(model.hard_gates().segments().clone()), [0.0, 1.0, 0.0]);
    }
}
