//! Every method of a tier gives the same peaks, wherever it looks for them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Instant;

use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::cost::{Axis, DeviceProfile, Preset, Rate};
use firefly_models::{
    AutoOptions, AutoWelchPeaks, LearnedWelchPeaksConfig, Method, Peaks, RATE_AXES, Selection, Strategy, Tier,
    WelchPeaksConfig,
};

const BATCH: usize = 9;

fn config() -> WelchPeaksConfig {
    WelchPeaksConfig::new().with_n_fft(64).with_k(5).with_tier(Tier::Fast)
}

fn frames(frame: usize) -> Tensor<2> {
    let sample = |index: usize| {
        let (row, sample) = ((index / frame) as f64, (index % frame) as f64);
        ((0.21 + 0.07 * row) * sample).sin() + 0.4 * (1.3 * sample).sin() + 0.1 * (sample * sample * 0.37).sin()
    };
    let samples: Vec<f32> = (0..BATCH * frame).map(|index| sample(index) as f32).collect();
    Tensor::from_data(TensorData::new(samples, [BATCH, frame]), &Device::flex())
}

fn values(peaks: Peaks) -> (Vec<f64>, Vec<f64>) {
    (peaks.bins.into_data().try_to_vec_as().unwrap(), peaks.power.into_data().try_to_vec_as().unwrap())
}

/// A profile under which one method of a CPU is the fastest.
fn favouring(method: Method) -> AutoOptions {
    let axes: Vec<Axis> =
        RATE_AXES.map(|(name, growth)| Axis { name: name.into(), growth, values: vec![1.0] }).to_vec();
    let rate = |of: Method| Rate::new(axes.clone(), vec![if of == method { 1.0 } else { 1e6 }]).unwrap();
    let rates = Method::ALL.map(|of| (of.name().to_string(), rate(of))).into();
    AutoOptions { profile: Some(DeviceProfile { rates, ..Preset::Cpu.profile() }), ..AutoOptions::default() }
}

#[test]
fn methods_of_a_tier_agree() {
    let exact = values(config().init(&Device::flex()).forward(frames(96)));
    for method in [Method::Fused, Method::Spectrum] {
        let model = AutoWelchPeaks::new(&config(), &Device::flex()).unwrap().with_options(favouring(method));
        assert_eq!(model.strategy_label(BATCH, 96), format!("auto: fast {method}"));
        let (bins, power) = values(model.forward(frames(96)).unwrap());
        assert_eq!(bins, exact.0, "{method}");
        assert!(
            power.iter().zip(&exact.1).all(|(got, expected)| (got - expected).abs() <= 1e-5 * expected),
            "{method}"
        );
    }
}

#[test]
fn forced_strategies_compute_their_tiers() {
    let device = Device::flex();
    for (strategy, tier) in
        [(Strategy::Ultra, Tier::Ultra), (Strategy::Fast, Tier::Fast), (Strategy::Reference, Tier::Reference)]
    {
        let model = AutoWelchPeaks::new(&config(), &device).unwrap().with_strategy(strategy);
        let expected = config().with_tier(tier).init(&device).forward(frames(288));
        assert_eq!(values(model.forward(frames(288)).unwrap()).0, values(expected).0, "{strategy}");
    }
    // A frame of two segments is too short for eight.
    let model = AutoWelchPeaks::new(&config(), &device).unwrap().with_strategy(Strategy::Reference);
    assert!(model.forward(frames(96)).unwrap_err().to_string().contains("96 samples a row"));
}

#[test]
fn a_learned_model_runs_where_it_is_asked_for() {
    let device = Device::flex();
    let learned = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(5).init(&device);
    let expected = values(learned.forward(frames(96), &learned.hard_gates()));
    let model = AutoWelchPeaks::new(&config(), &device).unwrap().with_strategy(Strategy::Learned);
    assert!(model.forward(frames(96)).unwrap_err().to_string().contains("learned without a model"));
    let model = model.with_learned(learned);
    assert_eq!(values(model.forward(frames(96)).unwrap()), expected);
    assert_eq!(model.strategy_label(BATCH, 96), "learned: fast learned");
}

#[test]
fn any_tier_and_legacy_are_asked_for() {
    let model = AutoWelchPeaks::new(&config(), &Device::flex()).unwrap();
    let label = |selection| {
        let options = AutoOptions { selection, profile: Some(Preset::Cpu.profile()), ..AutoOptions::default() };
        model.clone().with_options(options).strategy_label(BATCH, 288)
    };
    assert!(label(Selection::Method).starts_with("auto: fast"));
    assert!(label(Selection::AnyTier).starts_with("auto: ultra"));
    assert!(label(Selection::Legacy).starts_with("auto: ultra"));
}

#[test]
fn gradients_flow_through_the_choice() {
    let device = Device::flex().autodiff();
    let model = AutoWelchPeaks::new(&config(), &Device::flex()).unwrap().with_options(favouring(Method::Spectrum));
    let signal = Tensor::<2>::from_data(frames(96).into_data(), &device).require_grad();
    let gradients = model.forward(signal.clone()).unwrap().power.sum().backward();
    let gradient: Vec<f64> = signal.grad(&gradients).unwrap().into_data().try_to_vec_as().unwrap();
    assert!(gradient.iter().any(|value| *value != 0.0));
}

/// Deciding again for a known shape is a look-up. The limit leaves room for a machine that is busy otherwise.
#[test]
fn a_known_shape_is_decided_fast() {
    let model = AutoWelchPeaks::new(&config(), &Device::flex()).unwrap();
    let first = model.choose(BATCH, 96, false);
    let fastest = (0..100)
        .map(|_| {
            let start = Instant::now();
            assert_eq!(model.choose(BATCH, 96, false), first);
            start.elapsed()
        })
        .min();
    assert!(fastest.is_some_and(|time| time.as_nanos() < 5000), "{fastest:?}");
}
