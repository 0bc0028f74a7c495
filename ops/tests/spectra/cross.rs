//! Cross spectra, coherence and transfer functions.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::cross_spectra::{
    TransferEstimator, coherence, coherence_matrix, csd, csd_matrix, most_coherent_pairs, transfer_function,
};
use firefly_ops::options::Average;
use firefly_ops::{Band, Detrend, Scaling, WelchOptions};
use serde::Deserialize;

use crate::common::{integers, noise, relative_error, tensor, values};
use crate::{BOTH, Fixtures, Parts, close, close_complex, gradient_matches_differences, hann, tolerance};

#[derive(Deserialize)]
pub struct Case {
    n: usize,
    hop: usize,
    segments: usize,
    matrix: Vec<Vec<Parts>>,
    coherence: Vec<Vec<Vec<f64>>>,
    h1: Parts,
    h2: Parts,
}

impl Case {
    fn options(&self) -> WelchOptions {
        let options = WelchOptions::new(self.n, self.segments).with_hop(self.hop).with_detrend(Detrend::Linear);
        options.with_scaling(Scaling::Density { sample_rate: Fixtures::RATE })
    }
}

#[test]
fn pairs_and_matrices_are_those_of_scipy() {
    let fixtures = Fixtures::load();
    let Case { n, matrix, coherence: expected, h1, h2, .. } = &fixtures.cross;
    let options = fixtures.cross.options();
    for dtype in BOTH {
        let (window, tolerance) = (hann(*n, dtype), tolerance(dtype));
        let row = |channel| fixtures.row(channel, dtype);
        let channels = Tensor::stack::<2>((0..3).map(row).collect(), 0);
        let all = csd_matrix::<2, 3>(channels.clone(), window.clone(), &options).unwrap();
        let all_coherent = coherence_matrix::<2, 3>(channels, window.clone(), &options).unwrap();
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let what = format!("{i} and {j}, {dtype:?}");
            let part = |tensor: &Tensor<3>| -> Tensor<1> {
                tensor.clone().narrow(0, i, 1).narrow(1, j, 1).reshape([options.bins()])
            };
            close_complex(all.clone().map(|tensor| part(&tensor)), &matrix[i][j], tolerance, &what);
            close_complex(csd(row(i), row(j), window.clone(), &options).unwrap(), &matrix[i][j], tolerance, &what);
            close(part(&all_coherent), &expected[i][j], tolerance, &what);
            close(coherence(row(i), row(j), window.clone(), &options).unwrap(), &expected[i][j], tolerance, &what);
        }
        for (estimator, expected) in [(TransferEstimator::H1, h1), (TransferEstimator::H2, h2)] {
            let found = transfer_function(row(0), row(1), window.clone(), &options, estimator).unwrap();
            close_complex(found, expected, tolerance, &format!("{estimator:?}, {dtype:?}"));
        }
    }
}

#[test]
fn batches_are_each_on_their_own() {
    let options = WelchOptions::new(12, 4);
    let frame = options.frame() + 1;
    let signal = tensor::<4>(&noise(2 * 3 * 4 * frame, 1), [2, 3, 4, frame], &Device::flex(), DType::F64);
    let window = hann(12, DType::F64);
    let all = coherence_matrix::<4, 5>(signal.clone(), window.clone(), &options).unwrap();
    assert_eq!(all.dims(), [2, 3, 4, 4, 7]);
    let rows = signal.reshape([6, 4, frame]);
    let mut expected = Vec::new();
    for (row, i, j) in (0..6).flat_map(|row| (0..4).flat_map(move |i| (0..4).map(move |j| (row, i, j)))) {
        let channel = |channel| rows.clone().narrow(0, row, 1).narrow(1, channel, 1);
        expected.extend(values(coherence(channel(i), channel(j), window.clone(), &options).unwrap()));
    }
    assert!(relative_error(&values(all), &expected) < 1e-12);
}

#[test]
fn small_and_large_signals_are_as_coherent() {
    let options = WelchOptions::new(32, 8);
    let frame = options.frame();
    let row = |seed, scale: f64| {
        let samples: Vec<f64> = noise(frame, seed).iter().map(|x| x * scale).collect();
        tensor::<1>(&samples, [frame], &Device::flex(), DType::F32)
    };
    let of = |a, b| values(coherence(row(1, a), row(2, b), hann(32, DType::F32), &options).unwrap());
    for (a, b) in [(1e-14, 1e-14), (1e14, 1e-10), (1e15, 1e15)] {
        assert!(relative_error(&of(a, b), &of(1.0, 1.0)) < 1e-4, "{a} {b}");
    }
    let silent = coherence(row(1, 1.0), row(1, 0.0), hann(32, DType::F32), &options).unwrap();
    assert!(values(silent).iter().all(|value| value.is_nan()));
}

/// Channels of noise, of which some share noise with the one before.
fn channels(count: usize, frame: usize) -> Vec<f64> {
    let mut samples = noise(count * frame, 7);
    for channel in (1..count).filter(|channel| channel % 5 == 3) {
        for at in 0..frame {
            samples[channel * frame + at] += samples[(channel - 1) * frame + at] * (0.2 + channel as f64 * 0.03);
        }
    }
    samples
}

#[test]
fn the_most_coherent_pairs_are_those_of_the_whole_matrix() {
    // 300 channels of 33 bins are several strips.
    let options = WelchOptions::new(64, 6).with_hop(64).with_detrend(Detrend::Constant);
    let bands = [Band::new(0..33), Band::new(3..9), Band::new(32..33)];
    for (count, k) in [(2, 1), (7, 21), (300, 40)] {
        let frame = options.frame();
        let signal = tensor::<2>(&channels(count, frame), [count, frame], &Device::flex(), DType::F32);
        let window = hann(64, DType::F32);
        let matrix = values(coherence_matrix::<2, 3>(signal.clone(), window.clone(), &options).unwrap());
        for (band, by_mean) in bands.iter().flat_map(|band| [(band, false), (band, true)]) {
            let options = options.with_band(Some(*band));
            let found = most_coherent_pairs::<2, 1>(signal.clone(), window.clone(), &options, k, by_mean).unwrap();
            let [first, second, bin] = [found.first, found.second, found.bin].map(integers);
            let coherence = values(found.coherence);
            assert_eq!(coherence.len(), k);
            let bins_of = |i: usize, j: usize| &matrix[(i * count + j) * 33..][band.first..band.end];
            let greatest = |i: usize, j: usize| bins_of(i, j).iter().copied().fold(0.0, f64::max);
            let of_pair = |i: usize, j: usize| match by_mean {
                false => greatest(i, j),
                true => bins_of(i, j).iter().sum::<f64>() / bins_of(i, j).len() as f64,
            };
            let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j)));
            let mut expected: Vec<f64> = pairs.map(|(i, j)| of_pair(i, j)).collect();
            expected.sort_by(|a, b| b.total_cmp(a));
            for rank in 0..k {
                let (i, j) = (first[rank] as usize, second[rank] as usize);
                let what = format!("{count} channels, {band}, mean {by_mean}, rank {rank}: {i} and {j}");
                assert!(i < j && j < count, "{what}");
                assert!((coherence[rank] - of_pair(i, j)).abs() < 1e-5, "{what}");
                assert!((coherence[rank] - expected[rank]).abs() < 1e-5, "{what}");
                let here = bins_of(i, j)[bin[rank] as usize - band.first];
                assert!(here >= greatest(i, j) - 1e-5, "{what}");
            }
        }
    }
}

#[test]
fn pairs_of_a_batch_are_those_of_each_recording() {
    let options = WelchOptions::new(16, 5);
    let frame = options.frame();
    let signal = tensor::<4>(&noise(2 * 3 * 5 * frame, 3), [2, 3, 5, frame], &Device::flex(), DType::F64);
    let all = most_coherent_pairs::<4, 3>(signal.clone(), hann(16, DType::F64), &options, 4, true).unwrap();
    assert_eq!(all.first.dims(), [2, 3, 4]);
    let (firsts, coherence) = (integers(all.first), values(all.coherence));
    for row in 0..6 {
        let one = signal.clone().reshape([6, 5, frame]).narrow(0, row, 1).reshape([5, frame]);
        let one = most_coherent_pairs::<2, 1>(one, hann(16, DType::F64), &options, 4, true).unwrap();
        assert_eq!(integers(one.first), firsts[row * 4..][..4]);
        assert!(relative_error(&values(one.coherence), &coherence[row * 4..][..4]) < 1e-12);
    }
}

#[test]
fn a_silent_channel_is_coherent_with_none_and_equal_pairs_are_in_order() {
    let options = WelchOptions::new(16, 8);
    let frame = options.frame();
    let one = noise(frame, 1);
    let samples = [one.clone(), vec![0.0; frame], one.clone(), one].concat();
    let signal = tensor::<2>(&samples, [4, frame], &Device::flex(), DType::F32);
    let options = options.with_band(Some(Band::new(1..8)));
    let found = most_coherent_pairs::<2, 1>(signal, hann(16, DType::F32), &options, 6, false).unwrap();
    let (pairs, coherence) = ([integers(found.first), integers(found.second)], values(found.coherence));
    let pairs: Vec<(i64, i64)> = pairs[0].iter().copied().zip(pairs[1].iter().copied()).collect();
    let mut strongest = pairs[..3].to_vec();
    strongest.sort_unstable();
    assert_eq!(strongest, [(0, 2), (0, 3), (2, 3)]);
    assert_eq!(pairs[3..], [(0, 1), (1, 2), (1, 3)]);
    assert!(coherence[..3].iter().all(|value| (value - 1.0).abs() < 1e-5) && coherence[3..] == [0.0; 3]);
}

#[test]
fn gradients_match_differences() {
    let options = WelchOptions::new(7, 3).with_hop(3).with_detrend(Detrend::Linear).with_scaling(Scaling::Spectrum);
    let frame = options.frame();
    let leaf = [noise(frame, 1), noise(frame, 2), noise(frame, 3), crate::common::tape::taper(7)].concat();
    let (row, window) = (
        |leaf: &Tensor<1>, channel: usize| leaf.clone().narrow(0, channel * frame, frame),
        |leaf: &Tensor<1>| leaf.clone().narrow(0, 3 * frame, 7),
    );
    let three = |leaf: &Tensor<1>| leaf.clone().narrow(0, 0, 3 * frame).reshape([3, frame]);
    let check = |run: &dyn Fn(Tensor<1>) -> Tensor<1>, what: &str| gradient_matches_differences(&leaf, run, what);
    for average in [Average::Mean, Average::Median] {
        check(
            &|leaf| {
                let found = csd(row(&leaf, 0), row(&leaf, 1), window(&leaf), &options.with_average(average)).unwrap();
                Tensor::cat(vec![found.re, found.im], 0)
            },
            "csd",
        );
    }
    check(&|leaf| coherence(row(&leaf, 0), row(&leaf, 1), window(&leaf), &options).unwrap(), "coherence");
    for estimator in [TransferEstimator::H1, TransferEstimator::H2] {
        check(
            &|leaf| {
                let found =
                    transfer_function(row(&leaf, 0), row(&leaf, 1), window(&leaf), &options, estimator).unwrap();
                Tensor::cat(vec![found.re, found.im], 0)
            },
            "transfer_function",
        );
    }
    check(
        &|leaf| {
            let found = csd_matrix::<2, 3>(three(&leaf), window(&leaf), &options).unwrap();
            Tensor::cat(vec![found.re, found.im], 0).reshape([2 * 9 * 4])
        },
        "csd_matrix",
    );
    check(&|leaf| coherence_matrix::<2, 3>(three(&leaf), window(&leaf), &options).unwrap().reshape([36]), "matrix");
    for by_mean in [false, true] {
        check(
            &|leaf| {
                let pairs = most_coherent_pairs::<2, 1>(three(&leaf), window(&leaf), &options, 2, by_mean);
                pairs.unwrap().coherence
            },
            "most_coherent_pairs",
        );
    }
}

#[test]
fn no_rows_have_empty_results() {
    let device = Device::flex();
    let options = WelchOptions::new(8, 2);
    let none = || Tensor::<3>::zeros([2, 0, 12], &device);
    let window = || Tensor::<1>::ones([8], &device);
    for average in [Average::Mean, Average::Median] {
        let cross = csd(none(), none(), window(), &options.with_average(average)).unwrap();
        assert_eq!(cross.dims(), [2, 0, 5]);
    }
    assert_eq!(coherence(none(), none(), window(), &options).unwrap().dims(), [2, 0, 5]);
    for estimator in [TransferEstimator::H1, TransferEstimator::H2] {
        let response = transfer_function(none(), none(), window(), &options, estimator).unwrap();
        assert_eq!(response.dims(), [2, 0, 5]);
    }
    let channels = || Tensor::<4>::zeros([2, 0, 3, 12], &device);
    assert_eq!(csd_matrix::<4, 5>(channels(), window(), &options).unwrap().dims(), [2, 0, 3, 3, 5]);
    assert_eq!(coherence_matrix::<4, 5>(channels(), window(), &options).unwrap().dims(), [2, 0, 3, 3, 5]);
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let device = Device::flex();
    let options = WelchOptions::new(8, 2);
    let row = |length: usize| Tensor::<1>::ones([length], &device);
    let window = || Tensor::<1>::ones([8], &device);
    let error = csd(row(11), row(11), window(), &options).unwrap_err().to_string();
    assert!(error.starts_with("csd: `x` is 11 samples per row, but must be at least 12"), "{error}");
    assert_eq!(csd(row(12), row(13), window(), &options).unwrap_err().argument, "y");
    assert_eq!(csd(row(12), row(12), row(9), &options).unwrap_err().argument, "window");
    let median = options.with_average(Average::Median);
    let error = coherence(row(12), row(12), window(), &median).unwrap_err().to_string();
    assert_eq!(error, "coherence: `average` is median, but must be mean");
    let error = transfer_function(row(12), row(12), window(), &median, TransferEstimator::H2).unwrap_err();
    assert_eq!((error.operation, error.argument), ("transfer_function", "average"));
    let channels = |count: usize| Tensor::<2>::ones([count, 12], &device);
    let error = csd_matrix::<2, 3>(channels(2), window(), &median).unwrap_err();
    assert_eq!((error.operation, error.argument), ("csd_matrix", "average"));
    assert_eq!(coherence_matrix::<2, 3>(channels(0), window(), &options).unwrap_err().argument, "signal");
    let pairs = |count, options: &WelchOptions, k| {
        most_coherent_pairs::<2, 1>(channels(count), window(), options, k, false).unwrap_err().to_string()
    };
    assert!(pairs(3, &options.with_band(Some(Band::new(3..6))), 1).contains("`band` is 3..6"));
    assert!(pairs(3, &options, 4).contains("`k` is 4, but must be from 1 to the number of pairs, 3"));
    assert!(pairs(1, &options, 1).contains("`k` is 1"));
    assert!(pairs(3, &median, 1).contains("`average` is median"));
}
