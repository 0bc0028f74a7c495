//! Functions of audio spectra: against librosa, auraloss and NumPy, and in their gradients.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, FloatDType, Tensor};
use common::differences::check_gradient;
use common::{noise, relative_error, tensor, uniform, values};
use firefly_ops::audio::{
    griffin_lim, inverse_mel, multi_resolution_stft_loss, spectral_bandwidth, spectral_centroid, spectral_flatness,
    spectral_kurtosis, spectral_rolloff,
};
use firefly_ops::fft::{rfftfreq, stft};
use firefly_ops::options::{MelBands, MelNorm, MelScale, mel_filters};
use firefly_ops::{ArgumentError, StftOptions, Window, WindowSymmetry};
use serde_json::Value;

/// The cases of `fixtures/make_audio.py` of one name.
fn cases(name: &str) -> Vec<Value> {
    let cases: Vec<Value> = serde_json::from_str(include_str!("fixtures/audio.json")).unwrap();
    let cases: Vec<Value> = cases.into_iter().filter(|case| case["name"] == name).collect();
    assert!(cases.len() >= 2);
    cases
}

fn numbers(case: &Value, key: &str) -> Vec<f64> {
    case[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn count(case: &Value, key: &str) -> usize {
    case[key].as_u64().unwrap() as usize
}

fn hann(length: usize, device: &Device) -> Tensor<1> {
    Window::Hann.tensor(length, WindowSymmetry::Periodic, FloatDType::F64, device)
}

/// Numbers of two rows, of which the second is the case's.
fn second<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    let numbers = values(tensor);
    numbers[numbers.len() / 2..].to_vec()
}

fn close(label: &str, got: &[f64], expected: &[f64], most: f64) {
    let error = relative_error(got, expected);
    assert!(error < most, "{label}: relative error {error:.1e}, {got:?}, not {expected:?}");
}

#[test]
fn features_are_those_of_librosa() {
    for case in cases("features") {
        let (bins, frames) = (count(&case, "bins"), count(&case, "frames"));
        let spectrum = numbers(&case, "spectrum");
        let both = [uniform(spectrum.len(), 0.0..1.0, 1), spectrum.clone()].concat();
        for (dtype, most) in [(DType::F64, 1e-12), (DType::F32, 1e-5)] {
            let x = tensor::<3>(&both, [2, bins, frames], &Device::flex(), dtype);
            let rate = case["sample_rate"].as_f64().unwrap();
            let f = rfftfreq(2 * (bins - 1), 1.0 / rate, FloatDType::F64, &Device::flex()).unwrap();
            let centroid = spectral_centroid(x.clone(), f.clone()).unwrap();
            assert_eq!(centroid.dims(), [2, 1, frames]);
            close("centroid", &second(centroid), &numbers(&case, "centroid"), most);
            close(
                "bandwidth",
                &second(spectral_bandwidth(x.clone(), f.clone()).unwrap()),
                &numbers(&case, "bandwidth"),
                most,
            );
            if dtype == DType::F64 {
                let small = spectral_centroid(x.clone() * 1e-290, f.clone()).unwrap();
                close("centroid of small magnitudes", &second(small), &numbers(&case, "centroid"), most);
            }
            close("flatness", &second(spectral_flatness(x.clone()).unwrap()), &numbers(&case, "flatness"), most);
            for (share, key) in [(0.85, "rolloff"), (0.13, "low_rolloff")] {
                let rolloff = second(spectral_rolloff(x.clone(), f.clone(), share).unwrap());
                close(key, &rolloff, &numbers(&case, key), most);
            }
            let frequencies = values(f.clone());
            let kurtosis: Vec<f64> = (0..frames)
                .map(|frame| {
                    let weights: Vec<f64> = spectrum.chunks(frames).map(|bin| bin[frame]).collect();
                    let sum: f64 = weights.iter().sum();
                    let moment = |about: f64, power: i32| -> f64 {
                        weights.iter().zip(&frequencies).map(|(w, f)| w * (f - about).powi(power)).sum::<f64>() / sum
                    };
                    let mean = moment(0.0, 1);
                    if sum == 0.0 { 0.0 } else { moment(mean, 4) / moment(mean, 2).powi(2) }
                })
                .collect();
            close("kurtosis", &second(spectral_kurtosis(x, f).unwrap()), &kurtosis, 10.0 * most);
        }
    }
}

#[test]
fn inverted_bands_are_those_of_least_squares() {
    for case in cases("inverse_mel") {
        let (n_fft, bands, frames) = (count(&case, "n_fft"), count(&case, "count"), count(&case, "frames"));
        let scale = if case["htk"] == true { MelScale::Htk } else { MelScale::Slaney };
        let norm = if case["slaney_norm"] == true { MelNorm::Slaney } else { MelNorm::None };
        let options = MelBands::new(case["sample_rate"].as_f64().unwrap(), bands).with_scale(scale).with_norm(norm);
        let both = [uniform(bands * frames, 0.0..1.0, 1), numbers(&case, "bands")].concat();
        for (dtype, most) in [(DType::F64, 1e-8), (DType::F32, 1e-5)] {
            let input = tensor::<3>(&both, [2, bands, frames], &Device::flex(), dtype);
            let got = inverse_mel(input, n_fft, &options).unwrap();
            assert_eq!(got.dims(), [2, n_fft / 2 + 1, frames]);
            close("inverse", &second(got), &numbers(&case, "spectrum"), most);
        }
    }
}

/// Bands of filters that have no bin, and of filters that depend on each other, are met as far as they can be.
#[test]
fn bands_of_dependent_filters_are_met() {
    for (n_fft, count) in [(64, 40), (32, 20), (9, 7)] {
        let options = MelBands::new(16_000.0, count);
        let filters = mel_filters(n_fft, &options).unwrap();
        let bins = n_fft / 2 + 1;
        let spectrum = uniform(bins, 0.5..1.0, 4);
        let product = |spectrum: &[f64]| -> Vec<f64> {
            filters.iter().map(|filter| filter.iter().zip(spectrum).map(|(w, x)| w * x).sum()).collect()
        };
        let bands = product(&spectrum);
        let input = tensor::<2>(&bands, [count, 1], &Device::flex(), DType::F64);
        let got = values(inverse_mel(input, n_fft, &options).unwrap());
        close(&format!("{count} bands of {n_fft}"), &product(&got), &bands, 1e-4);
    }
}

#[test]
fn signals_of_zero_phase_are_those_of_librosa() {
    for case in cases("griffin_lim") {
        let (n_fft, frames, length) = (count(&case, "n_fft"), count(&case, "frames"), count(&case, "window_length"));
        let options = StftOptions::new(n_fft).with_hop(count(&case, "hop")).with_window_length(length);
        let (magnitude, bins) = (numbers(&case, "magnitude"), n_fft / 2 + 1);
        let both = [uniform(bins * frames, 0.0..1.0, 1), magnitude].concat();
        // The scale is kept, beyond the range of f32's squares.
        for (dtype, scale, most) in [(DType::F64, 1.0, 1e-9), (DType::F32, 1.0, 1e-3), (DType::F32, 1e-25, 1e-3)] {
            let input = tensor::<3>(&both, [2, bins, frames], &Device::flex(), dtype) * scale;
            let window = Some(hann(length, &Device::flex()));
            let (iterations, momentum) = (count(&case, "iterations"), case["momentum"].as_f64().unwrap());
            let signal: Tensor<2> = griffin_lim(input, window, &options, iterations, momentum, None, None).unwrap();
            let expected: Vec<f64> = numbers(&case, "signal").iter().map(|value| value * scale).collect();
            close(&format!("{n_fft} in {dtype:?} of {scale:e}"), &second(signal), &expected, most);
        }
    }
}

#[test]
fn random_phases_depend_on_the_seed_and_iterations_come_closer() {
    let device = Device::flex();
    let options = StftOptions::new(64).with_hop(16);
    let original = tensor::<1>(&noise(1024, 3), [1024], &device, DType::F32);
    let magnitude = |signal: Tensor<1>| stft::<1, 2>(signal, Some(hann(64, &device)), &options).unwrap().abs();
    let target = magnitude(original);
    let run = |iterations, seed| -> Tensor<1> {
        griffin_lim(target.clone(), Some(hann(64, &device)), &options, iterations, 0.99, seed, Some(1024)).unwrap()
    };
    let error = |iterations| relative_error_norm(&values(magnitude(run(iterations, Some(7)))), &values(target.clone()));
    let errors = [0, 8, 64].map(error);
    assert!(errors[0] > 1.5 * errors[1] && errors[1] > 1.2 * errors[2], "{errors:?}");
    assert_eq!(values(run(3, Some(7))), values(run(3, Some(7))));
    assert_ne!(values(run(3, Some(7))), values(run(3, Some(8))));
    assert_eq!(run(1, None).dims(), [1024]);
}

/// ‖a − b‖ / ‖b‖.
fn relative_error_norm(a: &[f64], b: &[f64]) -> f64 {
    let norm = |values: Vec<f64>| values.iter().map(|value| value * value).sum::<f64>().sqrt();
    norm(a.iter().zip(b).map(|(a, b)| a - b).collect()) / norm(b.to_vec())
}

#[test]
fn the_loss_is_that_of_auraloss() {
    for case in cases("loss") {
        let resolutions: Vec<[usize; 3]> = serde_json::from_value(case["resolutions"].clone()).unwrap();
        let resolutions: Vec<StftOptions> = resolutions
            .into_iter()
            .map(|[n_fft, hop, length]| StftOptions::new(n_fft).with_hop(hop).with_window_length(length))
            .collect();
        for (dtype, most) in [(DType::F64, 1e-10), (DType::F32, 1e-4)] {
            let signal = |key| tensor::<3>(&numbers(&case, key), [2, 1, 100], &Device::flex(), dtype);
            let loss = multi_resolution_stft_loss(signal("input"), signal("target"), Some(&resolutions)).unwrap();
            close("loss", &values(loss), &[case["loss"].as_f64().unwrap()], most);
            let same = multi_resolution_stft_loss(signal("target"), signal("target"), Some(&resolutions)).unwrap();
            assert_eq!(values(same), [0.0]);
        }
    }
    let signal = Tensor::<2>::ones([1, 3000], &Device::flex());
    assert_eq!(values(multi_resolution_stft_loss(signal.clone(), signal, None).unwrap()), [0.0]);
}

#[test]
fn gradients_match_finite_differences() {
    let magnitudes = uniform(5 * 8, 0.2..1.0, 2);
    let frequencies = |x: &Tensor<2>| rfftfreq(8, 0.5, FloatDType::F64, &x.device()).unwrap();
    check_gradient("centroid", &magnitudes, [5, 8], |x| spectral_centroid(x.clone(), frequencies(&x)).unwrap());
    check_gradient("bandwidth", &magnitudes, [5, 8], |x| spectral_bandwidth(x.clone(), frequencies(&x)).unwrap());
    check_gradient("kurtosis", &magnitudes, [5, 8], |x| spectral_kurtosis(x.clone(), frequencies(&x)).unwrap());
    check_gradient("flatness", &magnitudes, [5, 8], |x: Tensor<2>| spectral_flatness(x).unwrap());
    check_gradient("frequencies", &noise(5, 1), [5], |f: Tensor<1>| {
        spectral_bandwidth(tensor::<2>(&magnitudes, [5, 8], &f.device(), DType::F64), f).unwrap()
    });
    let bands = MelBands::new(8_000.0, 5);
    check_gradient("inverse_mel", &magnitudes, [5, 8], |x: Tensor<2>| inverse_mel(x, 16, &bands).unwrap());
    let options = StftOptions::new(8).with_hop(2);
    let window = hann(8, &Device::flex());
    check_gradient("griffin_lim", &magnitudes, [5, 8], |x: Tensor<2>| {
        griffin_lim::<2, 1>(x, Some(window.clone()), &options, 2, 0.99, Some(1), None).unwrap()
    });
    let target = noise(40, 5);
    let resolutions = [StftOptions::new(16), StftOptions::new(8).with_hop(3)];
    let fixed = |x: &Tensor<2>| tensor::<2>(&target, [2, 20], &x.device(), DType::F64);
    check_gradient("loss of input", &noise(40, 6), [2, 20], |x: Tensor<2>| {
        multi_resolution_stft_loss(x.clone(), fixed(&x), Some(&resolutions)).unwrap()
    });
    check_gradient("loss of target", &noise(40, 6), [2, 20], |x: Tensor<2>| {
        multi_resolution_stft_loss(fixed(&x), x, Some(&resolutions)).unwrap()
    });
}

#[test]
fn gradients_of_silence_are_finite() {
    let device = Device::flex().autodiff();
    let zeros = || Tensor::<2>::zeros([9, 12], &device).require_grad();
    let frequencies = || Tensor::<1>::ones([9], &device);
    type Function = fn(Tensor<2>, Tensor<1>) -> Tensor<2>;
    let functions: [(&str, Function); 6] = [
        ("centroid", |x, f| spectral_centroid(x, f).unwrap()),
        ("bandwidth", |x, f| spectral_bandwidth(x, f).unwrap()),
        ("kurtosis", |x, f| spectral_kurtosis(x, f).unwrap()),
        ("flatness", |x, _| spectral_flatness(x).unwrap()),
        ("griffin_lim", |x, _| {
            let options = StftOptions::new(16).with_hop(4);
            griffin_lim::<2, 1>(x, None, &options, 3, 0.99, Some(1), None).unwrap().unsqueeze()
        }),
        ("loss", |x, _| {
            multi_resolution_stft_loss(x.clone(), x.ones_like(), Some(&[StftOptions::new(8)])).unwrap().unsqueeze()
        }),
    ];
    for (name, run) in functions {
        let leaf = zeros();
        let output = run(leaf.clone(), frequencies());
        assert!(values(output.clone()).iter().all(|value| value.is_finite()), "{name}");
        let gradients = output.sum().backward();
        let gradient = leaf.grad(&gradients).map(values).unwrap_or_default();
        assert!(gradient.iter().all(|value| value.is_finite()), "{name}: {gradient:?}");
    }
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    fn refused<T>(result: Result<T, ArgumentError>, beginning: &str) {
        let message = result.err().unwrap().to_string();
        assert!(message.starts_with(beginning), "{message}");
    }
    let device = Device::flex();
    let spectrum = || Tensor::<2>::ones([5, 20], &device);
    let frequencies = |count| Tensor::<1>::ones([count], &device);
    let none = || Tensor::<2>::zeros([0, 4], &device);
    refused(spectral_centroid(spectrum(), frequencies(4)), "spectral_centroid: `frequencies` is [4], but must be [5]");
    refused(
        spectral_bandwidth(none(), frequencies(0)),
        "spectral_bandwidth: `spectrum` is [0, 4], but must be a tensor",
    );
    refused(
        spectral_flatness(none()),
        "spectral_flatness: `spectrum` is [0, 4], but must be a tensor with at least 1 bin",
    );
    refused(spectral_rolloff(spectrum(), frequencies(5), 1.5), "spectral_rolloff: `roll_percent` is 1.5, but must be");
    let bands = MelBands::new(8_000.0, 5);
    refused(inverse_mel(spectrum(), 0, &bands), "inverse_mel: `n_fft` is 0, but must be at least 1");
    refused(inverse_mel(none(), 16, &bands), "inverse_mel: `bands` is [0, 4], but must be 5 bands in the dimension");
    refused(inverse_mel(spectrum(), 16, &bands.with_f_min(-1.0)), "inverse_mel: `f_min` is -1, but must be");
    let options = StftOptions::new(8);
    let lim = |spectrum, options: &StftOptions, momentum| {
        griffin_lim::<2, 1>(spectrum, None, options, 2, momentum, None, None)
    };
    refused(lim(spectrum(), &options, -0.5), "griffin_lim: `momentum` is -0.5, but must be finite and at least 0");
    refused(lim(none(), &options, 0.0), "griffin_lim: `magnitude` is [0, 4], but must be 5 bins");
    refused(lim(spectrum(), &options.with_hop(0), 0.0), "griffin_lim: `hop` is 0, but must be at least 1");
    refused(lim(Tensor::ones([5, 1], &device), &options, 0.0), "griffin_lim: `magnitude` is 0 samples per row");
    let loss =
        |input, target, resolutions: &[StftOptions]| multi_resolution_stft_loss(input, target, Some(resolutions));
    refused(
        loss(spectrum(), none(), &[options]),
        "multi_resolution_stft_loss: `target` is [0, 4], but must be [5, 20]",
    );
    refused(loss(spectrum(), spectrum(), &[]), "multi_resolution_stft_loss: `resolutions` is empty, but must be");
    refused(
        loss(none(), none(), &[options]),
        "multi_resolution_stft_loss: `input` is [0, 4], but must be at least one",
    );
    let long = [StftOptions::new(512)];
    refused(loss(spectrum(), spectrum(), &long), "multi_resolution_stft_loss: `signal` is 20 samples per row");
}
