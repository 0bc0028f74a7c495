//! `AutoWelchPeaks`: every strategy of a number of segments gives the same peaks.

use std::sync::Arc;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::picker::{Crossover, Crossovers};
use firefly_framework::profile::{DeviceProfile, Preset};
use firefly_models::auto::Strategy;
use firefly_models::segments::SEGMENT_NAMES;
use firefly_models::{AutoWelchPeaksConfig, Band, LearnedWelchPeaks, LearnedWelchPeaksConfig, Peaks, WelchPeaksConfig};

const BATCH: usize = 9;
/// Without the strongest tone of the frames.
const BAND: Band = Band::new(8..30);

fn config() -> WelchPeaksConfig {
    WelchPeaksConfig::new().with_n_fft(64).with_k(5).with_segments(2)
}

fn frames(frame: usize) -> Tensor<2> {
    let sample = |index: usize| {
        let (row, sample) = ((index / frame) as f64, (index % frame) as f64);
        ((0.21 + 0.07 * row) * sample).sin() + 0.4 * (1.3 * sample).sin() + 0.1 * (sample * sample * 0.37).sin()
    };
    let samples: Vec<f32> = (0..BATCH * frame).map(|index| sample(index) as f32).collect();
    Tensor::from_data(TensorData::new(samples, [BATCH, frame]), &Device::flex())
}

fn values<const D: usize>(peaks: Peaks<D>) -> (Vec<f64>, Vec<f64>) {
    (peaks.bins.into_data().try_to_vec_as().unwrap(), peaks.power.into_data().try_to_vec_as().unwrap())
}

/// A configuration with a profile under which one strategy of a CPU is the fastest for few frames.
fn favouring(few: Strategy) -> AutoWelchPeaksConfig {
    let crossover =
        Crossover { n_fft: 64, segments: 2, k: 16, few, frames: 100.0, saved: 1e3, fused: 100.0, learned: 100.0 };
    let crossovers = Crossovers::new(vec![crossover]).unwrap();
    auto().with_profile(Some(DeviceProfile { crossovers, ..Preset::Cpu.profile() }))
}

fn auto() -> AutoWelchPeaksConfig {
    AutoWelchPeaksConfig::new().with_peaks(config())
}

fn published(name: &str) -> AutoWelchPeaksConfig {
    auto().with_published(name).unwrap()
}

#[test]
fn strategies_agree() {
    let device = Device::flex();
    for (strategy, band) in [Strategy::Fused, Strategy::Spectrum].map(|of| [(of, None), (of, Some(BAND))]).concat() {
        let exact = values(config().with_band(band).init(&device).forward(frames(96)));
        let model = favouring(strategy).with_peaks(config().with_band(band)).init(&device);
        assert_eq!(model.select(BATCH, 96, false).selected.to_string(), format!("fast {strategy}"));
        let (bins, power) = values(model.forward(frames(96)));
        assert_eq!(bins, exact.0, "{strategy}");
        assert_eq!(values(model.forward(frames(96).reshape([3, BATCH / 3, 96]))).0, exact.0, "{strategy}, rank 3");
        assert!(
            power.iter().zip(&exact.1).all(|(got, expected)| (got - expected).abs() <= 1e-5 * expected),
            "{strategy}"
        );
    }
}

#[test]
fn published_names_compute_their_segments() {
    let device = Device::flex();
    for (name, segments) in SEGMENT_NAMES {
        let expected = config().with_segments(segments).init(&device).forward(frames(288));
        assert_eq!(values(published(name).init(&device).forward(frames(288))).0, values(expected).0, "{name}");
    }
    // A frame of two segments is too short for eight.
    let error = published("reference").init(&device).try_forward(frames(96)).unwrap_err();
    assert!(error.to_string().contains("96 samples"), "{error}");
}

#[test]
fn a_forced_learned_model_runs() {
    let device = Device::flex();
    let learned = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(5).init(&device);
    let expected = values(learned.forward(frames(96), &learned.hard_gates()));
    // Without a model, that of the estimate for signals of any kind, which takes frames of eight segments.
    let model = published("learned").init(&device);
    let universal = LearnedWelchPeaksConfig::universal_for(&config()).init(&device);
    assert_eq!(values(model.forward(frames(288))), values(universal.forward(frames(288), &universal.hard_gates())));
    assert!(model.try_forward(frames(96)).unwrap_err().to_string().contains("96 samples"));
    let model = model.with_learned(learned);
    assert_eq!(values(model.forward(frames(96))), expected);
    assert_eq!(model.select(BATCH, 96, false).selected.to_string(), "fast learned");
}

/// What follows from the parameters is computed anew where they change.
#[test]
fn a_learned_model_with_other_values_finds_their_peaks() {
    struct Doubling;
    impl ModuleMapper for Doubling {
        fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<D>>) -> Param<Tensor<D>> {
            parameter.map(|values| values * 2.0)
        }
    }
    let device = Device::flex();
    let learned = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(5).init(&device);
    let peaks = |model: &LearnedWelchPeaks| values(model.forward(frames(96), &model.hard_gates()));
    let (first, doubled) = (peaks(&learned), peaks(&learned.clone().map(&mut Doubling)));
    assert_ne!(first.1, doubled.1);
    let model = published("learned").init(&device).with_learned(learned);
    let kept = model.clone();
    assert_eq!(values(model.forward(frames(96))), first);
    assert_eq!(values(model.map(&mut Doubling).forward(frames(96))), doubled);
    assert_eq!(values(kept.forward(frames(96))), first);
}

#[test]
fn only_any_and_legacy_change_the_number_of_segments() {
    let selected = |name: &str| {
        let model = published(name).with_profile(Some(Preset::Cpu.profile())).init(&Device::flex());
        model.select(BATCH, 288, false).selected.segments
    };
    assert_eq!([selected("auto"), selected("any"), selected("legacy")], [2, 1, 1]);
}

#[test]
fn gradients_flow_through_the_selected_strategy() {
    let device = Device::flex().autodiff();
    let model = favouring(Strategy::Spectrum).init(&Device::flex());
    let signal = Tensor::<2>::from_data(frames(96).into_data(), &device).require_grad();
    let gradients = model.forward(signal.clone()).power.sum().backward();
    let gradient: Vec<f64> = signal.grad(&gradients).unwrap().into_data().try_to_vec_as().unwrap();
    assert!(gradient.iter().any(|value| *value != 0.0));
}

/// Nothing of one call's graph is kept for the next.
#[test]
fn a_tracked_learned_model_has_gradients_in_every_call() {
    let device = Device::flex().autodiff();
    let learned = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(5).init(&device);
    let model = published("learned").init(&device).with_learned(learned.clone());
    for call in 0..2 {
        let gradients = model.forward(frames(96)).power.sum().backward();
        assert!(learned.log_gain.val().grad(&gradients).is_some(), "call {call}");
    }
}

#[test]
fn the_module_nests_and_moves() {
    #[derive(Module, Debug)]
    struct Detector {
        peaks: firefly_models::AutoWelchPeaks,
    }
    let device = Device::flex();
    let detector = Detector { peaks: auto().init(&device) };
    let expected = values(detector.peaks.forward(frames(96)));
    assert_eq!(values(detector.to_device(&device).peaks.forward(frames(96))), expected);
}

#[test]
fn a_known_shape_is_not_selected_again() {
    let model = auto().init(&Device::flex());
    let first = model.select(BATCH, 96, false);
    assert!(Arc::ptr_eq(&first, &model.select(BATCH, 96, false)));
    assert!(!Arc::ptr_eq(&first, &model.select(BATCH + 1, 96, false)));
}
