//! Adaptive Welch peaks: both ways to compute them, fixed estimates, and trained thresholds.

use burn::module::{Module, Param};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Distribution, Tensor};
use firefly_models::{AdaptiveWelchPeaks, AdaptiveWelchPeaksConfig};
use firefly_ops::{WindowSymmetry, welch_peaks};

use crate::common::values;

const ROWS: usize = 200;

fn model(device: &Device) -> AdaptiveWelchPeaks {
    AdaptiveWelchPeaksConfig::new().with_n_fft(64).with_k(6).with_rounds(vec![2, 3, 5, 8]).init(device)
}

/// White noise, whose order is never quite settled.
fn noise(model: &AdaptiveWelchPeaks, device: &Device) -> Tensor<2> {
    device.seed(5);
    Tensor::random([ROWS, model.options().frame()], Distribution::Normal(0.0, 1.0), device)
}

#[test]
fn segments_are_added_to_some_frames_and_both_ways_agree() {
    let device = Device::flex();
    let model = model(&device);
    let signal = noise(&model, &device);
    let (found, dense) = (model.forward(signal.clone()), model.forward_dense(signal));
    let segments = values(found.segments);
    for count in [2.0, 3.0, 5.0, 8.0] {
        assert!(segments.contains(&count), "no frame has {count} segments: {segments:?}");
    }
    assert_eq!(segments, values(dense.segments));
    assert_eq!(values(found.peaks.power), values(dense.peaks.power));
    assert_eq!(found.peaks.bins.into_data(), dense.peaks.bins.into_data());
}

#[test]
fn extreme_thresholds_give_the_estimates_of_fixed_segments() {
    let device = Device::flex();
    for (threshold, segments) in [(2.0, 2), (-1.0, 8)] {
        let mut model = model(&device);
        model.thresholds = Param::from_tensor(Tensor::full([3], threshold, &device));
        let signal = noise(&model, &device);
        let config = model.config().clone();
        let window = config.window.tensor(64, WindowSymmetry::Periodic, burn::tensor::FloatDType::F32, &device);
        let fixed = welch_peaks(signal.clone(), window, &model.options().with_segments(segments), 6).unwrap();
        let found = model.forward(signal);
        assert!(values(found.segments).iter().all(|count| *count == segments as f64));
        // Averages of the rounds differ from one average by rounding, and so may the order of equal bins.
        let (expected, power) = (values(fixed.power), values(found.peaks.power));
        for (power, expected) in power.iter().zip(&expected) {
            assert!((power - expected).abs() <= 1e-5 * expected, "{power} and not {expected}");
        }
    }
}

#[test]
fn a_price_on_segments_raises_thresholds_and_an_error_lowers_them() {
    let device = Device::flex().autodiff();
    let trained = |price: f64| {
        let mut model = model(&device);
        let signal = noise(&model, &device);
        let all = model.options();
        let window = model.config().window;
        let window = window.tensor(64, WindowSymmetry::Periodic, burn::tensor::FloatDType::F32, &device);
        let reference = firefly_ops::welch_psd(signal.clone(), window, &all).unwrap().log();
        let mut optimizer = AdamConfig::new().init();
        for _ in 0..30 {
            let (power, segments) = model.psd(signal.clone());
            let loss = (power.log() - reference.clone()).square().mean() + segments.mean() * price;
            let gradients = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(0.02, model, gradients);
        }
        let model = model.valid();
        let mean = values(model.forward(signal.inner()).segments).iter().sum::<f64>() / ROWS as f64;
        (mean, values(model.thresholds.val()).iter().sum::<f64>())
    };
    let ((dear, high), (cheap, low)) = (trained(1.0), trained(0.0));
    assert!(dear < cheap && high > low, "{dear} segments at a price, {cheap} without; thresholds {high} and {low}");
}

#[test]
fn short_frames_and_empty_batches_are_refused() {
    let device = Device::flex();
    let model = model(&device);
    for shape in [[1, 100], [0, 288]] {
        let error = model.try_forward(Tensor::<2>::zeros(shape, &device)).unwrap_err();
        assert!(error.to_string().contains("at least one frame of at least 288 samples"), "{error}");
    }
}
