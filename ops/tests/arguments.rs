//! Wrong arguments are refused by an error that names operation, argument, what it got and what it accepts.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, Tensor};
use common::weights::{WeightNumbers, gained_peaks, gained_psd};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::options::SegmentSet;
use firefly_ops::{ArgumentError, Scaling, WelchOptions, WelchWeights, butterfly, welch_peaks, welch_psd};

/// Checks every field of an error, and that its message holds them all.
fn assert_refused<T>(result: Result<T, ArgumentError>, operation: &str, argument: &str, got: &str, expected: &str) {
    let error = result.err().unwrap_or_else(|| panic!("{operation} took a wrong {argument}"));
    let fields = (error.operation, error.argument, error.got.as_str(), error.expected.as_str());
    assert_eq!(fields, (operation, argument, got, expected));
    assert_eq!(error.to_string(), format!("{operation}: `{argument}` is {got}, but must be {expected}"));
}

/// The four Welch operations with the same arguments.
fn refusals(signal: [usize; 2], options: &WelchOptions, k: usize, argument: &str, got: &str, expected: &str) {
    let device = Device::flex();
    let signal = || Tensor::<2>::zeros(signal, &device);
    let parameters =
        || WeightNumbers::exact(&WelchOptions::new(16, 2)).tensors(&WelchOptions::new(16, 2), &device, DType::F32);
    let window = || parameters().window;
    if argument != "k" {
        assert_refused(welch_psd(signal(), window(), options), "welch_psd", argument, got, expected);
        let gained = gained_psd(signal(), &parameters(), options);
        assert_refused(gained, "welch_psd", argument, got, expected);
    }
    assert_refused(welch_peaks(signal(), window(), options, k), "welch_peaks", argument, got, expected);
    let gained = gained_peaks(signal(), &parameters(), options, k);
    assert_refused(gained, "welch_peaks", argument, got, expected);
}

#[test]
fn wrong_options_are_refused_by_name() {
    let good = WelchOptions::new(16, 2);
    let with_n_fft = |n_fft| WelchOptions::new(n_fft, 2).with_hop(good.hop);
    let (signal, device) = (Tensor::<2>::zeros([3, 40], &Device::flex()), Device::flex());
    let odd = |n_fft| {
        let weights = WelchWeights::new(Tensor::ones([n_fft], &device));
        weights.with_gain(Some(Tensor::ones([n_fft / 2 + 1, 3], &device)))
    };
    for n_fft in [1, 15] {
        let (options, got) = (with_n_fft(n_fft), n_fft.to_string());
        let gained = welch_psd(signal.clone(), odd(n_fft), &options);
        assert_refused(gained, "welch_psd", "n_fft", &got, "even, with a gain");
        let gained = welch_peaks(signal.clone(), odd(n_fft), &options, 1);
        assert_refused(gained, "welch_peaks", "n_fft", &got, "even, with a gain");
    }
    for (chosen, got, expected) in [(&[][..], "empty", "at least one segment"), (&[0, 2], "2", "segments below 2")] {
        let chosen = SegmentSet::new(chosen.iter().copied()).unwrap();
        refusals([3, 24], &good.with_chosen(Some(chosen)), 1, "chosen", got, expected);
    }
    let empty = welch_psd(signal, Tensor::<1>::ones([1], &device), &with_n_fft(0));
    assert_refused(empty, "welch_psd", "n_fft", "0", "at least 1");
    refusals([3, 24], &good.with_hop(0), 1, "hop", "0", "at least 1");
    refusals([3, 24], &good.with_segments(0), 1, "segments", "0", "at least 1");
    for (sample_rate, got) in [(f64::NAN, "NaN"), (0.0, "0"), (-1.0, "-1"), (f64::INFINITY, "inf")] {
        let options = good.with_scaling(Scaling::Density { sample_rate });
        refusals([3, 24], &options, 1, "sample_rate", got, "a positive number of hertz");
    }
    for k in [0, 10, usize::MAX] {
        refusals([3, 24], &good, k, "k", &k.to_string(), "from 1 to the number of bins, 9");
    }
    for frame in [0, 1, 16, 23] {
        let got = format!("{frame} samples per row");
        refusals([3, frame], &good, 1, "signal", &got, "at least 24: 2 segments of 16 samples, 8 apart");
        refusals([0, frame], &good, 1, "signal", &got, "at least 24: 2 segments of 16 samples, 8 apart");
    }
    let (most, expected) = (usize::MAX.to_string(), "small enough for the frame's length to be counted");
    refusals([3, 24], &good.with_segments(usize::MAX), 1, "segments", &most, expected);
    refusals([3, 24], &good.with_hop(usize::MAX), 1, "hop", &most, expected);
}

#[test]
fn parameters_of_another_shape_are_refused_by_name() {
    let (device, options) = (Device::flex(), WelchOptions::new(16, 2));
    let signal = || Tensor::<2>::zeros([3, 24], &device);
    let good = || WeightNumbers::exact(&options).tensors(&options, &device, DType::F32);
    let one = |length: usize| Tensor::<1>::ones([length], &device);
    for length in [0, 15, 17] {
        let got = format!("[{length}]");
        assert_refused(welch_psd(signal(), one(length), &options), "welch_psd", "window", &got, "[16]");
        assert_refused(welch_peaks(signal(), one(length), &options, 1), "welch_peaks", "window", &got, "[16]");
    }
    let twiddles = Tensor::<3>::ones([4, 2, 8], &device);
    let gates = Tensor::<2>::ones([8, 4], &device);
    let mut wrong = [(); 2].map(|()| good());
    wrong[0].window = one(17);
    wrong[1].gain = Tensor::ones([3, 9], &device);
    let refused = [("window", "[17]", "[16]"), ("gain", "[3, 9]", "[9, 3] or [9, 5]")];
    for (wrong, (argument, got, expected)) in wrong.into_iter().zip(refused) {
        let psd = gained_psd(signal(), &wrong, &options);
        assert_refused(psd, "welch_psd", argument, got, expected);
        let peaks = gained_peaks(signal(), &wrong, &options, 1);
        assert_refused(peaks, "welch_peaks", argument, got, expected);
    }

    let part = |rows: usize, n: usize| Tensor::<2>::zeros([rows, n], &device);
    let good = good();
    let run = |re, im, twiddles, gates| butterfly(ComplexTensor::new(re, im), twiddles, gates);
    let (twiddle, gate) = (good.twiddles, good.gates);
    let sizes = "a power of two from 8 to 65536";
    assert_refused(run(part(2, 12), part(2, 12), twiddle.clone(), None), "butterfly", "input", "12", sizes);
    assert_refused(run(part(2, 0), part(2, 0), twiddle.clone(), None), "butterfly", "input", "0", sizes);
    for im in [[2, 8], [3, 16], [1, 16]] {
        let result = run(part(2, 16), part(im[0], im[1]), twiddle.clone(), None);
        assert_refused(result, "butterfly", "input.im", &format!("{im:?}"), "[2, 16]");
    }
    let result = run(part(2, 16), part(2, 16), twiddles, None);
    assert_refused(result, "butterfly", "twiddles", "[4, 2, 8]", "[4, 8, 2]");
    let result = run(part(2, 32), part(2, 32), twiddle.clone(), None);
    assert_refused(result, "butterfly", "twiddles", "[4, 8, 2]", "[5, 16, 2]");
    let result = run(part(2, 16), part(2, 16), twiddle.clone(), Some(gates));
    assert_refused(result, "butterfly", "gates", "[8, 4]", "[4, 8]");
    assert!(run(part(2, 16), part(2, 16), twiddle, Some(gate)).is_ok());
}

#[test]
fn inputs_tracked_in_two_ways_are_refused() {
    let options = WelchOptions::new(16, 2);
    let plain = Device::flex();
    let tracked = plain.clone().autodiff();
    let checkpointed = plain.clone().autodiff().gradient_checkpointing();
    let signal = |device: &Device| Tensor::<2>::zeros([3, 24], device);
    let window = |device: &Device| Tensor::<1>::ones([16], device).require_grad();
    let error = welch_psd(signal(&tracked).require_grad(), window(&checkpointed), &options).unwrap_err();
    assert_eq!((error.operation, error.argument), ("welch_psd", "window"));
    assert!(error.got.contains("Balanced") && error.expected.contains("checkpointing"), "{error}");
    // An input that is not tracked goes with either.
    assert!(welch_psd(signal(&plain), window(&checkpointed), &options).is_ok());
}
