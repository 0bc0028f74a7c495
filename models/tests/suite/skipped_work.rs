//! What a learned model may leave out: blocks of bins, and half of the transform.

use std::f32::consts::TAU;
use std::fs;

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::{Gates, LearnedWelchPeaks, LearnedWelchPeaksConfig, Scaling};

const ROWS: usize = 6;

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

/// Frames of noise.
fn noise(samples: usize, device: &Device) -> Tensor<2> {
    let mut state = 7u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let values: Vec<f32> = (0..ROWS * samples).map(|_| next()).collect();
    Tensor::from_data(TensorData::new(values, [ROWS, samples]), device)
}

fn config() -> LearnedWelchPeaksConfig {
    LearnedWelchPeaksConfig::new().with_n_fft(128).with_k(8)
}

fn with_logits(model: &LearnedWelchPeaks, logits: &[f32]) -> LearnedWelchPeaks {
    let logits = Tensor::from_floats(logits, &Device::flex());
    let mut model = model.clone();
    model.block_logits = Some(Param::from_tensor(logits));
    model
}

#[test]
fn closed_blocks_have_no_power_and_are_not_searched() {
    let device = Device::flex();
    let (open, closed) = (config().init(&device), config().with_closed_blocks(Some(vec![1, 3])).init(&device));
    let signal = noise(192, &device);
    assert_eq!((closed.count_closed_blocks(), open.count_closed_blocks()), (2, 0));
    let [all, of_closed] = [&open, &closed].map(|model| values(model.psd(signal.clone(), &model.hard_gates())));
    for (bin, (all, of_closed)) in all.iter().zip(&of_closed).enumerate() {
        let expected = if matches!(bin % 65, 16..32 | 48..) { 0.0 } else { *all };
        assert_eq!(*of_closed, expected, "bin {}", bin % 65);
    }
    let bins: Vec<i64> = closed.forward(signal, &closed.hard_gates()).bins.into_data().iter().collect();
    assert!(bins.iter().all(|bin| matches!(bin, 0..16 | 32..48)), "{bins:?}");
}

#[test]
fn as_many_blocks_stay_open_as_have_the_peaks() {
    let device = Device::flex();
    let model = config().with_closed_blocks(Some(vec![])).init(&device);
    let open = |model: &LearnedWelchPeaks, k| values(model.clone().with_k(k).hard_gates().blocks().unwrap().clone());
    assert_eq!(open(&model, 8), [1.0; 4]);
    let model = with_logits(&model, &[-2.0, -1.0, 0.0, -3.0]);
    assert_eq!(open(&model, 16), [0.0, 0.0, 1.0, 0.0]);
    assert_eq!(open(&model, 17), [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(open(&model, 65), [1.0; 4]);
    // Of a halved transform, which has the lower two, one of these.
    let model = config().with_closed_blocks(Some(vec![])).with_halvings(Some(1)).init(&device);
    let model = with_logits(&model, &[-2.0, -3.0, -5.0, -1.0]);
    assert_eq!(open(&model, 8)[..2], [1.0, 0.0]);
    assert_eq!(model.count_closed_blocks(), 1);
}

#[test]
fn the_probability_of_open_blocks_trains_their_logits() {
    let device = Device::flex().autodiff();
    let model = config().with_closed_blocks(Some(vec![2])).with_halvings(Some(1)).init(&device);
    let open = model.open_blocks().unwrap();
    let found = values(open.clone());
    assert!(found[0] > 0.9 && found[2] < 0.3 && found[3] > 0.9, "{found:?}");
    let gradients = (open.sum() + model.halving().unwrap()).backward();
    let of_blocks = model.block_logits.as_ref().unwrap().val().grad(&gradients).unwrap();
    assert!(values(of_blocks).iter().all(|slope| *slope > 0.0));
    assert!(values(model.halving_logit.as_ref().unwrap().val().grad(&gradients).unwrap())[0] > 0.0);
    let plain = config().init(&device);
    assert!(plain.open_blocks().is_none() && plain.halving().is_none());
}

#[test]
fn a_halved_transform_finds_slow_sinusoids_with_their_power() {
    let device = Device::flex();
    for scaling in [Scaling::Power, Scaling::Spectrum, Scaling::Density { sample_rate: 8000.0 }] {
        for halvings in [1, 2] {
            let config = config().with_scaling(scaling).with_halvings(Some(halvings)).with_k(1);
            let model = config.init(&device);
            let gates = model.hard_gates();
            // Transforms of fewer than 64 values run as butterflies.
            assert_eq!((gates.halved(), model.runs_as_exact()), (true, halvings == 1));
            let bins = 64 >> halvings;
            assert_eq!(model.count_open_butterflies(), 2 * (7 - halvings) * (64 >> halvings));
            for bin in [1, 5, bins / 2, bins - 3] {
                let tone: Vec<f32> = (0..192).map(|i| (TAU * (bin * i) as f32 / 128.0 + 0.3).sin()).collect();
                let signal = Tensor::<1>::from_floats(tone.as_slice(), &device);
                let whole = values(model.psd(signal.clone(), &gates.clone().with_halved(false)));
                let halved = values(model.psd(signal.clone(), &gates));
                assert_eq!((halved.len(), &halved[bins + 1..]), (65, &vec![0.0; 64 - bins][..]));
                let ratio = halved[bin] / whole[bin];
                assert!((ratio - 1.0).abs() < 0.03, "{scaling:?}, {halvings} halvings, bin {bin}: {ratio}");
                let peaks = model.forward(signal, &gates);
                assert_eq!(peaks.bins.into_scalar::<i64>(), bin as i64);
                assert_eq!(peaks.power.into_scalar::<f32>(), halved[bin]);
            }
        }
    }
}

#[test]
fn a_halved_transform_trains_window_and_gain() {
    let device = Device::flex().autodiff();
    let config = config().with_halvings(Some(1)).with_product_weight(Some(0.2)).with_closed_blocks(Some(vec![1]));
    let model = config.init(&device);
    let gates = model.hard_gates();
    let loss = (model.psd(noise(192, &device), &gates) + 1.0).log().mean();
    let gradients = loss.backward();
    let moves = |gradient: Option<Tensor<1>>| values(gradient.unwrap()).iter().filter(|slope| **slope != 0.0).count();
    assert_eq!(moves(model.taper.val().grad(&gradients)), 128);
    let of_gain: Tensor<1> = model.log_gain.val().grad(&gradients).unwrap().flatten(0, 1);
    // Bins 0 to 15: those of closed blocks, the last with the bin behind it, and above it have no slope.
    assert_eq!(moves(Some(of_gain)), 3 * 16);
    assert!(model.twiddles.val().grad(&gradients).is_none());
}

#[test]
fn gates_of_other_models_are_errors() {
    let device = Device::flex();
    let (plain, blocks) = (config().init(&device), config().with_closed_blocks(Some(vec![])).init(&device));
    let error =
        |model: &LearnedWelchPeaks, gates: &Gates| model.try_psd(noise(192, &device), gates).unwrap_err().to_string();
    assert!(error(&plain, &blocks.hard_gates()).contains("`gates` is of 4 blocks of bins"));
    let halved = plain.hard_gates().with_halved(true);
    assert!(error(&plain, &halved).contains("`gates` is those of a halved transform"));
}

#[test]
fn gates_of_blocks_and_of_a_halved_transform_are_saved() {
    let (device, folder) = (Device::flex(), tempfile::tempdir().unwrap());
    let model = config().with_closed_blocks(Some(vec![3])).with_halvings(Some(1)).init(&device);
    let mut model = with_logits(&model, &[4.0, -2.0, 1.0, -1.0]);
    model.halving_logit = Some(Param::from_tensor(Tensor::from_floats([-0.5], &device)));
    model.save(folder.path()).unwrap();
    let loaded = LearnedWelchPeaks::load(folder.path(), &device).unwrap();
    assert_eq!(loaded.config(), model.config());
    assert_eq!(values(loaded.hard_gates().blocks().unwrap().clone()), [1.0, 0.0, 1.0, 0.0]);
    assert!(!loaded.hard_gates().halved());

    // Models that were saved before there were such gates have none.
    config().init(&device).save(folder.path()).unwrap();
    let path = folder.path().join("config.json");
    let mut description: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for field in ["closed_blocks", "halvings"] {
        assert!(description["config"].as_object_mut().unwrap().remove(field).is_some());
    }
    fs::write(&path, serde_json::to_vec(&description).unwrap()).unwrap();
    assert_eq!(LearnedWelchPeaks::load(folder.path(), &device).unwrap().config(), &config());
}
