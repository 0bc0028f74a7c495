//! Multitaper estimates, their tapers, tests and intervals.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::multitaper::{MultitaperOptions, dpss, multitaper, multitaper_psd};
use firefly_ops::{Detrend, Scaling};
use serde::Deserialize;

use crate::common::{noise, relative_error, tensor, values};
use crate::{BOTH, Fixtures, close, gradient_matches_differences};

#[derive(Deserialize)]
pub struct DpssCase {
    n: usize,
    nw: f64,
    k: usize,
    step: usize,
    tapers: Vec<Vec<f64>>,
    ratios: Vec<f64>,
}

#[derive(Deserialize)]
pub struct Case {
    n: usize,
    nw: f64,
    k: usize,
    adaptive: bool,
    psd: Vec<f64>,
    statistic: Vec<f64>,
    p: Vec<f64>,
    #[serde(default)]
    width: Vec<f64>,
}

impl Case {
    fn options(&self) -> MultitaperOptions {
        let adaptive_steps = if self.adaptive { 50 } else { 0 };
        MultitaperOptions { tapers: self.k, adaptive_steps, ..MultitaperOptions::new(self.nw, Fixtures::RATE) }
    }
}

#[test]
fn sequences_are_those_of_scipy() {
    let fixtures = Fixtures::load();
    assert_eq!(fixtures.dpss.len(), 5);
    for DpssCase { n, nw, k, step, tapers, ratios } in fixtures.dpss {
        let found = dpss(n, nw, k).unwrap();
        assert_eq!((found.tapers.len(), found.ratios.len()), (k, k));
        for order in 0..k {
            let every: Vec<f64> = found.tapers[order].iter().copied().step_by(step).collect();
            let error = every.iter().zip(&tapers[order]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(every.len() == tapers[order].len() && error < 1e-10, "{n} {nw} {order}: {error:.1e}");
            let ratio = (found.ratios[order] - ratios[order]).abs();
            assert!(ratio < 1e-10, "{n} {nw} {order}: {ratio:.1e}");
        }
    }
}

#[test]
fn sequences_are_orthogonal_in_every_length() {
    for (n, nw, k) in [(3, 1.0, 3), (8, 3.9, 8), (501, 20.0, 39), (20_000, 4.0, 8)] {
        let found = dpss(n, nw, k).unwrap();
        for (i, j) in (0..k).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            let product: f64 = found.tapers[i].iter().zip(&found.tapers[j]).map(|(a, b)| a * b).sum();
            let expected = if i == j { 1.0 } else { 0.0 };
            assert!((product - expected).abs() < 1e-7, "{n} {nw}: {i} {j} {product}");
        }
        assert!(found.ratios.is_sorted_by(|a, b| a >= b || (a - b).abs() < 1e-8), "{n} {nw}: {:?}", found.ratios);
    }
}

#[test]
fn estimates_are_those_of_mne_and_definitions() {
    let fixtures = Fixtures::load();
    assert_eq!(fixtures.multitaper.len(), 3);
    for (case, dtype) in fixtures.multitaper.iter().flat_map(|case| BOTH.map(|dtype| (case, dtype))) {
        let signal = fixtures.row(0, dtype).narrow(0, 0, case.n);
        let estimate = multitaper(signal.clone(), &case.options()).unwrap();
        let what = format!("{} {} {} {dtype:?}", case.n, case.nw, case.adaptive);
        let is_exact = dtype == DType::F64;
        // MNE ends its iteration when weights change by less than 1e-5.
        let tolerance = if case.adaptive {
            1e-4
        } else if is_exact {
            1e-10
        } else {
            1e-5
        };
        for (bin, (found, expected)) in values(estimate.psd.clone()).iter().zip(&case.psd).enumerate() {
            let floor = if is_exact { 0.0 } else { 1e-6 * case.psd.iter().copied().fold(0.0, f64::max) };
            assert!((found - expected).abs() <= tolerance * expected + floor, "{what}, bin {bin}: {found} {expected}");
        }
        close(multitaper_psd(signal, &case.options()).unwrap(), &values(estimate.psd.clone()), 0.0, &what);
        let test = estimate.line_test().unwrap();
        close(test.statistic, &case.statistic, if is_exact { 1e-9 } else { 1e-2 }, &what);
        close(test.p_value, &case.p, if is_exact { 1e-9 } else { 1e-4 }, &what);
        if !case.width.is_empty() {
            let [low, high] = estimate.interval(0.95).unwrap();
            let tolerance = if is_exact { 1e-9 } else { 1e-3 };
            close(high / estimate.psd.clone(), &case.width, tolerance, &what);
            close(estimate.psd.clone() / low, &case.width, tolerance, &what);
        }
    }
}

#[test]
fn sines_have_the_power_of_their_definition() {
    let (n, count) = (30, 3);
    let samples = noise(2 * n, 4);
    let signal = tensor::<3>(&samples, [2, 1, n], &Device::flex(), DType::F64);
    let options = MultitaperOptions {
        half_bandwidth: None,
        tapers: count,
        adaptive_steps: 0,
        scaling: Scaling::Power,
        detrend: Detrend::None,
    };
    let found = multitaper_psd(signal, &options).unwrap();
    assert_eq!(found.dims(), [2, 1, 16]);
    let mut expected = Vec::new();
    for (row, bin) in (0..2).flat_map(|row| (0..16).map(move |bin| (row, bin))) {
        let mut power = 0.0;
        for order in 1..=count {
            let mut sum = [0.0; 2];
            for j in 0..n {
                let angle = std::f64::consts::PI * (order * (j + 1)) as f64 / (n + 1) as f64;
                let value = (2.0 / (n + 1) as f64).sqrt() * angle.sin() * samples[row * n + j];
                let (sin, cos) = (-std::f64::consts::TAU * (bin * j) as f64 / n as f64).sin_cos();
                sum = [sum[0] + value * cos, sum[1] + value * sin];
            }
            power += (sum[0] * sum[0] + sum[1] * sum[1]) / count as f64;
        }
        expected.push(power * if bin == 0 || bin == 15 { 1.0 } else { 2.0 });
    }
    assert!(relative_error(&values(found), &expected) < 1e-12);
}

#[test]
fn no_rows_have_empty_results() {
    for adaptive_steps in [0, 4] {
        let options = MultitaperOptions { adaptive_steps, ..MultitaperOptions::new(2.5, 1.0) };
        let estimate = multitaper(Tensor::<3>::zeros([2, 0, 40], &Device::flex()), &options).unwrap();
        assert_eq!(estimate.psd.dims(), [2, 0, 21]);
        assert_eq!(estimate.line_test().unwrap().amplitude.dims(), [2, 0, 21]);
        assert_eq!(estimate.interval(0.9).unwrap().map(|end| end.dims()), [[2, 0, 21]; 2]);
    }
}

#[test]
fn silence_has_no_power_and_its_gradient_is_finite() {
    let options = MultitaperOptions { adaptive_steps: 4, ..MultitaperOptions::new(2.5, 1.0) };
    let signal = Tensor::<1>::zeros([40], &Device::flex().autodiff()).require_grad();
    let power = multitaper_psd(signal.clone(), &options).unwrap();
    assert_eq!(values(power.clone().inner()), [0.0; 21]);
    let gradient = values(signal.grad(&power.sum().backward()).unwrap());
    assert!(gradient.iter().all(|value| value.is_finite()), "{gradient:?}");
}

#[test]
fn gradients_match_differences() {
    let signal = noise(24, 1);
    for adaptive_steps in [0, 5] {
        let options =
            MultitaperOptions { detrend: Detrend::Linear, adaptive_steps, ..MultitaperOptions::new(2.5, 3.0) };
        gradient_matches_differences(&signal, |leaf| multitaper_psd(leaf, &options).unwrap(), "multitaper_psd");
        gradient_matches_differences(
            &signal,
            |leaf| {
                let estimate = multitaper(leaf, &options).unwrap();
                let [low, high] = estimate.interval(0.9).unwrap();
                let test = estimate.line_test().unwrap();
                Tensor::cat(vec![low, high, test.p_value, test.amplitude.re, test.amplitude.im], 0)
            },
            "interval and line_test",
        );
    }
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let options = MultitaperOptions::new(2.5, 1.0);
    let fault = |n: usize, options: MultitaperOptions| {
        let error = multitaper_psd(Tensor::<1>::ones([n], &Device::flex()), &options).unwrap_err();
        (error.operation, error.argument)
    };
    let sines = MultitaperOptions { half_bandwidth: None, ..options };
    let scaled = |scaling| MultitaperOptions { scaling, ..options };
    assert_eq!(fault(3, options), ("multitaper", "tapers"));
    assert_eq!(fault(40, MultitaperOptions { tapers: 0, ..sines }), ("multitaper", "tapers"));
    assert_eq!(fault(4, options), ("dpss", "half_bandwidth"));
    assert_eq!(fault(40, scaled(Scaling::Spectrum)), ("multitaper", "scaling"));
    assert_eq!(fault(40, scaled(Scaling::Density { sample_rate: f64::NAN })), ("multitaper", "sample_rate"));
    for (options, tapers) in [(sines, 3), (options, 1)] {
        let adaptive = MultitaperOptions { adaptive_steps: 9, tapers, ..options };
        assert_eq!(fault(40, adaptive), ("multitaper", "adaptive_steps"));
    }
    assert_eq!([dpss(8, 4.0, 2), dpss(8, 0.0, 2)].map(|found| found.unwrap_err().argument), ["half_bandwidth"; 2]);
    assert_eq!([dpss(8, 2.0, 0), dpss(8, 2.0, 9)].map(|found| found.unwrap_err().argument), ["k"; 2]);
    let one = MultitaperOptions { tapers: 1, ..sines };
    let one = multitaper(Tensor::<1>::ones([40], &Device::flex()), &one).unwrap();
    assert_eq!(one.line_test().unwrap_err().to_string(), "line_test: `tapers` is 1, but must be at least 2");
    assert_eq!(one.interval(0.95).unwrap_err().argument, "tapers");
    let several = multitaper(Tensor::<1>::ones([40], &Device::flex()), &options).unwrap();
    assert_eq!(several.interval(1.0).unwrap_err().argument, "confidence");
}
