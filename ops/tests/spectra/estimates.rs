//! Linear trends and medians in the estimates of one signal.

use burn::tensor::{DType, Device, Int, Tensor};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::options::{Average, SegmentSet};
use firefly_ops::trend::detrend;
use firefly_ops::{
    Band, Detrend, PowerSpectrumOptions, Scaling, WelchOptions, WelchWeights, power_spectrum, welch_peaks, welch_psd,
    welch_psd_complex,
};
use serde::Deserialize;

use crate::common::{integers, noise, tensor, values};
use crate::{BOTH, Fixtures, Parts, close, close_complex, gradient_matches_differences, hann, tolerance};

#[derive(Deserialize)]
pub struct Case {
    pub n: usize,
    hop: usize,
    segments: usize,
    scaling: String,
    detrend: String,
    average: String,
    power: Vec<f64>,
    two_sided: Vec<f64>,
    pub csd: Parts,
}

impl Case {
    pub fn options(&self) -> WelchOptions {
        let scaling = match self.scaling.as_str() {
            "density" => Scaling::Density { sample_rate: Fixtures::RATE },
            _ => Scaling::Spectrum,
        };
        let detrend = match self.detrend.as_str() {
            "none" => Detrend::None,
            "constant" => Detrend::Constant,
            _ => Detrend::Linear,
        };
        let average = if self.average == "median" { Average::Median } else { Average::Mean };
        let options = WelchOptions::new(self.n, self.segments).with_hop(self.hop).with_scaling(scaling);
        options.with_detrend(detrend).with_average(average)
    }
}

#[test]
fn estimates_are_those_of_scipy() {
    let fixtures = Fixtures::load();
    assert_eq!(fixtures.welch.len(), 5);
    for (case, dtype) in fixtures.welch.iter().flat_map(|case| BOTH.map(|dtype| (case, dtype))) {
        let (options, window) = (case.options(), hann(case.n, dtype));
        let [x, y] = [0, 1].map(|channel| fixtures.row(channel, dtype));
        let what = format!("{options:?}, {dtype:?}");
        close(welch_psd(x.clone(), window.clone(), &options).unwrap(), &case.power, tolerance(dtype), &what);
        let complex = welch_psd_complex(ComplexTensor::new(x.clone(), y.clone()), window.clone(), &options).unwrap();
        close(complex, &case.two_sided, tolerance(dtype), &what);
        let csd = firefly_ops::cross_spectra::csd(x, y, window, &options).unwrap();
        close_complex(csd, &case.csd, tolerance(dtype), &what);
    }
}

#[test]
fn rows_and_chosen_segments_are_each_on_their_own() {
    let device = Device::flex();
    let chosen = Some(SegmentSet::new([0, 3, 4]).unwrap());
    for average in [Average::Mean, Average::Median] {
        let options = WelchOptions::new(20, 6).with_hop(7).with_detrend(Detrend::Linear).with_average(average);
        let frame = options.frame() + 3;
        let signal = tensor::<3>(&noise(2 * 3 * frame, 1), [2, 3, frame], &device, DType::F64);
        let window = hann(20, DType::F64);
        let all = values(welch_psd(signal.clone(), window.clone(), &options.with_chosen(chosen)).unwrap());
        let mut expected = Vec::new();
        for row in 0..6 {
            let one = signal.clone().reshape([6, frame]).narrow(0, row, 1);
            let cut = [0, 3, 4].map(|index| one.clone().narrow(1, index * 7, 20));
            let of_three = options.with_segments(3).with_hop(20);
            expected.extend(values(welch_psd(Tensor::cat(cut.to_vec(), 1), window.clone(), &of_three).unwrap()));
        }
        assert!(crate::common::relative_error(&all, &expected) < 1e-12, "{average:?}");
        let empty = Tensor::<2>::empty([0, frame], &device);
        assert_eq!(welch_psd(empty, hann(20, DType::F32), &options).unwrap().dims(), [0, 11]);
    }
}

#[test]
fn integers_and_rows_as_a_whole_are_detrended_too() {
    let fixtures = Fixtures::load();
    let options = PowerSpectrumOptions::new().with_detrend(Detrend::Linear);
    let floats = power_spectrum(fixtures.row(0, DType::F32), None, &options).unwrap();
    let whole: Vec<i32> = fixtures.channels[0].iter().map(|sample| *sample as i32).collect();
    let whole = Tensor::<1, Int>::from_data(&whole[..], (&Device::flex(), DType::I32));
    assert_eq!(values(power_spectrum(whole, None, &options).unwrap()), values(floats.clone()));
    let rest = detrend(fixtures.row(0, DType::F64), Detrend::Linear).unwrap();
    close(floats, &values(power_spectrum(rest, None, &PowerSpectrumOptions::new()).unwrap()), 1e-5, "a row");
}

#[test]
fn a_steep_line_leaves_no_more_than_rounding() {
    // The line is 10^5 times the noise.
    let noise = noise(1000, 3);
    let line: Vec<f64> =
        noise.iter().enumerate().map(|(at, x)| f64::from((x + 100.0 * at as f64 - 7e4) as f32)).collect();
    let expected = detrend(tensor::<1>(&line, [1000], &Device::flex(), DType::F64), Detrend::Linear).unwrap();
    let sums = [0, 1].map(|power| {
        values(expected.clone()).iter().enumerate().map(|(at, x)| x * (at as f64).powi(power)).sum::<f64>()
    });
    assert!(sums[0].abs() < 1e-7 && sums[1].abs() < 1e-4, "{sums:?}");
    let found = detrend(tensor::<1>(&line, [1000], &Device::flex(), DType::F32), Detrend::Linear).unwrap();
    let error = values(found).iter().zip(values(expected)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(error < 0.02, "{error}");
    for (n, trend) in [(1, Detrend::Linear), (2, Detrend::Linear), (1, Detrend::Constant)] {
        let rest = values(detrend(Tensor::<1>::ones([n], &Device::flex()) * 3.0, trend).unwrap());
        assert!(rest.iter().all(|value| value.abs() < 1e-6), "{n} {trend}: {rest:?}");
    }
}

#[test]
fn peaks_of_medians_are_the_strongest_bins_of_their_band() {
    let options = WelchOptions::new(16, 5).with_average(Average::Median).with_detrend(Detrend::Linear);
    let signal = tensor::<2>(&noise(3 * options.frame(), 1), [3, options.frame()], &Device::flex(), DType::F32);
    let power = values(welch_psd(signal.clone(), hann(16, DType::F32), &options).unwrap());
    let options = options.with_band(Some(Band::new(2..7)));
    let peaks = welch_peaks(signal, hann(16, DType::F32), &options, 3).unwrap();
    for (row, (bins, found)) in integers(peaks.bins).chunks(3).zip(values(peaks.power).chunks(3)).enumerate() {
        let mut expected: Vec<(usize, f64)> = (2..7).map(|bin| (bin, power[row * 9 + bin])).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (place, (bin, power)) in expected[..3].iter().enumerate() {
            assert_eq!((bins[place], found[place]), (*bin as i64, *power), "row {row}");
        }
    }
}

#[test]
fn a_transient_moves_no_median_and_a_sample_that_is_not_finite_is_not_hidden() {
    let options = WelchOptions::new(8, 5).with_hop(8).with_average(Average::Median);
    let mut samples = noise(2 * 40, 1);
    let of = |samples: &[f64]| {
        let signal = tensor::<2>(samples, [2, 40], &Device::flex(), DType::F32);
        values(welch_psd(signal, hann(8, DType::F32), &options).unwrap())
    };
    let clean = of(&samples);
    samples[3] = 1e6;
    let moved = of(&samples);
    assert!(moved.iter().zip(&clean).all(|(moved, clean)| *moved < 20.0 * clean.max(0.1)), "{moved:?} {clean:?}");
    samples[3] = f64::NAN;
    let found = of(&samples);
    assert!(found[..5].iter().all(|power| power.is_nan()) && found[5..] == clean[5..], "{found:?}");
}

#[test]
fn gradients_match_differences() {
    for average in [Average::Mean, Average::Median] {
        for segments in [3, 4] {
            let options =
                WelchOptions::new(9, segments).with_hop(4).with_average(average).with_detrend(Detrend::Linear);
            let options = options.with_scaling(Scaling::Spectrum);
            let frame = options.frame();
            let both = [noise(frame, 2), crate::common::tape::taper(9)].concat();
            let run = |leaf: Tensor<1>| {
                welch_psd(leaf.clone().narrow(0, 0, frame), leaf.narrow(0, frame, 9), &options).unwrap()
            };
            gradient_matches_differences(&both, run, &format!("{options:?}"));
        }
    }
}

#[test]
fn a_median_with_a_gain_is_refused_by_name() {
    let device = Device::flex();
    let options = WelchOptions::new(8, 2).with_average(Average::Median);
    let weights = WelchWeights::new(Tensor::ones([8], &device)).with_gain(Some(Tensor::ones([5, 3], &device)));
    let error = welch_psd(Tensor::<1>::ones([12], &device), weights, &options).unwrap_err();
    assert_eq!(error.to_string(), "welch_psd: `average` is median, but must be mean, with a gain");
    let error = detrend(Tensor::<2>::empty([3, 0], &device), Detrend::Linear).unwrap_err();
    assert_eq!((error.operation, error.argument), ("detrend", "input"));
}
