//! Gains of the learned model that several bins share.

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::zoo::{self, ZooModel};
use firefly_models::{LearnedWelchPeaks, LearnedWelchPeaksConfig, Scaling};

const BINS: usize = 9;

fn model(gains: Option<usize>, device: &Device) -> LearnedWelchPeaks {
    LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_gains(gains).init(device)
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

/// The gradient of a loss in the logarithms of the gains, which are all alike.
fn gradient(gains: Option<usize>) -> Vec<[f32; 3]> {
    let device = Device::flex().autodiff();
    let model = model(gains, &device);
    let samples: Vec<f32> = (0..4 * 24).map(|i| (i as f32 * 0.9).sin() + 0.3 * (i as f32 * 2.3).cos()).collect();
    let signal = Tensor::<2>::from_data(TensorData::new(samples, [4, 24]), &device);
    let gradients = model.psd(signal, &model.hard_gates()).log().sum().backward();
    values(model.log_gain.val().grad(&gradients).unwrap()).as_chunks().0.to_vec()
}

#[test]
fn neighbouring_bins_share_a_gain() {
    let device = Device::flex();
    for (gains, of_bins) in [(1, [0; BINS]), (3, [0, 0, 0, 1, 1, 1, 2, 2, 2]), (4, [0, 0, 0, 1, 1, 2, 2, 3, 3])] {
        let mut model = model(Some(gains), &device);
        let own: Vec<f32> = (0..3 * gains).map(|i| (i as f32 + 1.0).ln()).collect();
        model.log_gain = Param::from_tensor(Tensor::from_data(TensorData::new(own, [gains, 3]), &device));
        let found = values(model.gain());
        for (bin, taps) in found.as_chunks::<3>().0.iter().enumerate() {
            let expected = [1, 2, 3].map(|tap| (3 * of_bins[bin] + tap) as f32);
            let near = taps.iter().zip(expected).all(|(tap, expected)| (tap / expected - 1.0).abs() < 1e-6);
            assert!(near, "{gains} gains, bin {bin}: {taps:?} instead of {expected:?}");
        }
    }
}

#[test]
fn the_shipped_model_of_bearings_finds_no_peaks_where_its_gain_is_0() {
    let device = Device::flex();
    let ZooModel::LearnedWelchPeaks(model) = zoo::pretrained("learned_welch_peaks_bearing", &device).unwrap() else {
        panic!("another family");
    };
    let is_left_out = |bin: usize| (32..48).contains(&bin) || bin >= 96;
    for (bin, taps) in values(model.gain()).as_chunks::<3>().0.iter().enumerate() {
        let expected = if is_left_out(bin) { taps == &[0.0; 3] } else { taps.iter().all(|tap| *tap > 0.0) };
        assert!(expected, "bin {bin}: {taps:?}");
    }
    let frame = model.options().frame();
    let samples: Vec<f32> = (0..4 * frame).map(|i| ((i * i) as f32 * 0.37).sin()).collect();
    let signal = Tensor::<2>::from_data(TensorData::new(samples, [4, frame]), &device);
    let found: Vec<i64> = model.forward(signal, &model.hard_gates()).bins.into_data().iter().collect();
    assert!(found.iter().all(|&bin| bin >= 0 && !is_left_out(bin as usize)), "{found:?}");
}

#[test]
fn the_gradient_of_a_shared_gain_is_the_sum_over_its_bins() {
    let own = gradient(None);
    assert_eq!(own.len(), BINS);
    for gains in [1, 3, 4, BINS] {
        let shared = gradient(Some(gains));
        assert_eq!(shared.len(), gains);
        for (gain, found) in shared.iter().enumerate() {
            let bins = (0..BINS).filter(|bin| bin * gains / BINS == gain);
            let expected = bins.fold([0.0; 3], |sum, bin| [0, 1, 2].map(|tap| sum[tap] + own[bin][tap]));
            let near = found.iter().zip(expected).all(|(found, sum)| (found - sum).abs() <= 1e-5 * (1.0 + sum.abs()));
            assert!(near, "gain {gain} of {gains}: {found:?} instead of {expected:?}");
        }
    }
}

/// The mean power of the two windows of the universal estimate by their definition, for one segment: one-sided, without
/// scaling.
fn power_of_two_windows(segment: &[f32], factor: f64) -> Vec<f64> {
    let n = segment.len();
    let power = |k: usize, sign: f64| {
        let (mut re, mut im) = (0.0, 0.0);
        for (j, &x) in segment.iter().enumerate() {
            let turn = std::f64::consts::TAU * j as f64 / n as f64;
            let (window_re, window_im) = (1.0 - factor * turn.cos(), sign * factor * turn.sin());
            let (cos, sin) = ((turn * k as f64).cos(), -(turn * k as f64).sin());
            re += f64::from(x) * (window_re * cos - window_im * sin);
            im += f64::from(x) * (window_re * sin + window_im * cos);
        }
        re * re + im * im
    };
    (0..=n / 2).map(|k| (power(k, 1.0) + power(k, -1.0)) / 2.0 * if k == 0 || 2 * k == n { 1.0 } else { 2.0 }).collect()
}

#[test]
fn the_universal_estimate_is_the_mean_power_of_two_windows() {
    let device = Device::flex();
    for n in [16, 64, 256] {
        let model = LearnedWelchPeaksConfig::universal(n).with_k(4).init(&device);
        let frame = model.options().frame();
        let samples: Vec<f32> =
            (0..frame).map(|i| (i as f32 * 0.9).sin() + 0.3 * (i as f32 * 2.3).cos() + 0.2).collect();
        let signal = Tensor::<1>::from_data(TensorData::new(samples.clone(), [frame]), &device);
        let found = values(model.psd(signal.clone(), &model.hard_gates()));
        let of_segment = |index: usize| power_of_two_windows(&samples[index * n / 2..index * n / 2 + n], 0.6f64.sqrt());
        let expected: Vec<f64> = of_segment(2).iter().zip(of_segment(5)).map(|(a, b)| (a + b) / 2.0 / 1.6).collect();
        let largest = expected.iter().copied().fold(0.0, f64::max);
        for (k, (&found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((f64::from(found) - expected).abs() < 1e-5 * largest, "n {n}, bin {k}: {found}, not {expected}");
        }
        // The peaks are the strongest bins of that power.
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by(|&a, &b| found[b].total_cmp(&found[a]));
        let peaks = model.forward(signal, &model.hard_gates()).bins.into_data();
        assert_eq!(peaks.iter::<i64>().map(|bin| bin as usize).collect::<Vec<_>>(), order[..4], "n {n}");
    }
}

/// White noise has the power of its scaling `Density`, and a sinusoid at a bin that of `Spectrum`.
#[test]
fn the_universal_estimate_keeps_the_unit_of_its_scaling() {
    let device = Device::flex();
    let config = LearnedWelchPeaksConfig::universal(64).with_k(4);
    let frame = config.options().frame();
    let power = |scaling: Scaling, samples: Vec<f32>| {
        let rows = samples.len() / frame;
        let signal = Tensor::<2>::from_data(TensorData::new(samples, [rows, frame]), &device);
        let model = config.clone().with_scaling(scaling).init(&device);
        values(model.psd(signal, &model.hard_gates()).mean_dim(0))
    };
    let tone = (0..frame).map(|i| 2.0 * (std::f32::consts::TAU * 10.0 * i as f32 / 64.0).cos()).collect();
    assert!((power(Scaling::Spectrum, tone)[10] - 2.0).abs() < 1e-3);
    // Uniform noise of variance 1/3: 2/3 in all at a sample rate of 2, whose bins reach from 0 to 1 Hz.
    let mut state = 1u32;
    let noise = (0..400 * frame).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) as f32 / (1 << 23) as f32 - 1.0
    });
    let density = power(Scaling::Density { sample_rate: 2.0 }, noise.collect());
    let mean = density[1..32].iter().sum::<f32>() / 31.0;
    assert!((mean * 3.0 - 1.0).abs() < 0.03, "{mean}");
}

#[test]
fn no_product_weight_makes_power_negative() {
    let device = Device::flex().autodiff();
    for weight in [-1.0, -0.4, 0.9, 1.0] {
        let config = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_product_weight(Some(weight));
        let mut model = config.init(&device);
        // Gains of all sizes, and weights beyond the range that counts.
        let logs: Vec<f32> = (0..27).map(|i| (i as f32 * 1.7).sin() * 3.0).collect();
        model.log_gain = Param::from_tensor(Tensor::from_data(TensorData::new(logs, [9, 3]), &device).require_grad());
        let weights = Tensor::full([9, 2], 1.5 * weight, &device).require_grad();
        model.product_weights = Some(Param::from_tensor(weights));
        let samples: Vec<f32> = (0..64 * 24).map(|i| ((i * i) as f32 * 0.37).sin()).collect();
        let signal = Tensor::<2>::from_data(TensorData::new(samples, [64, 24]), &device);
        let power = model.psd(signal, &model.hard_gates());
        let (least, most) = (power.clone().min().into_scalar::<f32>(), power.clone().max().into_scalar::<f32>());
        assert!(least > -1e-5 * most, "{weight}: {least}");
        let gradients = power.sum().backward();
        assert!(values(model.log_gain.val().grad(&gradients).unwrap()).iter().all(|gradient| gradient.is_finite()));
        // Weights beyond their range have a gradient too, that of the range's end.
        let of_weights = values(model.product_weights.unwrap().val().grad(&gradients).unwrap());
        assert!(of_weights.iter().all(|gradient| gradient.is_finite() && *gradient != 0.0), "{of_weights:?}");
    }
}

#[test]
fn product_weights_learn_and_are_saved() {
    let device = Device::flex().autodiff();
    let config =
        LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_product_weight(Some(-0.5)).with_gains(Some(3));
    let model = config.init(&device);
    let sums = values(model.gain().slice([3..6, 0..3]).sum_dim(1));
    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6), "{sums:?}");
    let samples: Vec<f32> = (0..4 * 24).map(|i| (i as f32 * 0.9).sin() + 0.3 * (i as f32 * 2.3).cos()).collect();
    let signal = Tensor::<2>::from_data(TensorData::new(samples, [4, 24]), &device);
    let gradients = model.psd(signal.clone(), &model.hard_gates()).log().sum().backward();
    let weights = model.product_weights.as_ref().unwrap().val();
    assert!(values(weights.grad(&gradients).unwrap()).iter().all(|gradient| gradient.abs() > 1e-3));

    let bytes = ZooModel::from(model.clone()).to_bytes().unwrap();
    let ZooModel::LearnedWelchPeaks(loaded) = zoo::from_bytes("model".as_ref(), bytes, &device).unwrap() else {
        panic!("another family");
    };
    let power = |model: &LearnedWelchPeaks| values(model.psd(signal.clone(), &model.hard_gates()));
    assert_eq!(power(&loaded), power(&model));
}
