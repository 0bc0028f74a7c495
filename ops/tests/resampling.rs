//! Resampled signals: against SciPy, and in their gradients.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, Tensor};
use common::differences::check_gradient;
use common::{noise, relative_error, tensor, values};
use firefly_ops::resampling::{resample, resample_poly};
use firefly_ops::{ArgumentError, Window};
use serde::Deserialize;

/// A case of `fixtures/make_transforms.py`.
#[derive(Deserialize)]
struct Case {
    name: String,
    num: Option<usize>,
    up: Option<usize>,
    down: Option<usize>,
    window: Option<String>,
    input: Vec<Vec<f64>>,
    output: Vec<Vec<f64>>,
}

impl Case {
    fn run(&self, input: Tensor<2>, dim: isize) -> Tensor<2> {
        let Some(num) = self.num else {
            let window = self.window.as_ref().map(|name| name.parse::<Window>().unwrap());
            return resample_poly(input, self.up.unwrap(), self.down.unwrap(), dim, window).unwrap();
        };
        resample(input, num, dim).unwrap()
    }
}

#[test]
fn resampled_rows_and_columns_are_those_of_scipy() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("fixtures/transforms.json")).unwrap();
    let mut count = 0;
    for case in cases.iter().filter(|case| case.name.starts_with("resample")) {
        count += 1;
        let (row, expected) = (&case.input[0], &case.output[0]);
        for dtype in [DType::F32, DType::F64] {
            // Another row beside it.
            let other = noise(row.len(), 1);
            let rows = tensor::<2>(&[other, row.clone()].concat(), [2, row.len()], &Device::flex(), dtype);
            let got = values(case.run(rows.clone(), -1));
            let error = relative_error(&got[expected.len()..], expected);
            let most = if dtype == DType::F64 { 1e-12 } else { 1e-5 };
            let label = || format!("{} of {} in {dtype:?}: {error:.1e}", case.name, row.len());
            assert_eq!(got.len(), 2 * expected.len(), "{}", label());
            assert!(error < most, "{}", label());
            let of_columns = values(case.run(rows.transpose(), 0).transpose());
            assert!(relative_error(&of_columns, &got) < most, "{}", label());
        }
    }
    assert_eq!(count, 12 + 9);
}

/// Sine waves below both Nyquist frequencies stay what they are.
#[test]
fn a_tone_stays_a_tone() {
    let (n, up, down) = (800, 160, 147);
    let tone = |count: usize, rate: f64| (0..count).map(|j| (0.05 * j as f64 / rate).sin()).collect::<Vec<_>>();
    let input = tensor::<1>(&tone(n, 1.0), [n], &Device::flex(), DType::F64);
    let got = values(resample_poly(input, up, down, 0, None).unwrap());
    let expected = tone(got.len(), f64::from(up as u16) / f64::from(down as u16));
    let middle = 100..got.len() - 100;
    let error = relative_error(&got[middle.clone()], &expected[middle]);
    assert!(error < 2e-3, "{error:.1e}");
}

#[test]
fn gradients_match_finite_differences() {
    let row = noise(12, 3);
    for num in [5, 8, 9, 16] {
        check_gradient("resample", &row, [12], |row: Tensor<1>| resample(row, num, 0).unwrap());
    }
    for (up, down) in [(3, 2), (2, 3), (1, 4), (7, 11)] {
        let rows = |rows: Tensor<2>| resample_poly(rows, up, down, 0, None).unwrap();
        check_gradient("resample_poly", &row, [6, 2], rows);
    }
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    fn refused<T>(result: Result<T, ArgumentError>, message: &str) {
        assert_eq!(result.err().unwrap().to_string(), message);
    }
    let device = Device::flex();
    let input = || Tensor::<2>::ones([3, 4], &device);
    let none = || Tensor::<2>::zeros([3, 0], &device);
    let values = "must be a tensor with at least 1 value along dimension 1";
    refused(resample(input(), 0, 1), "resample: `num` is 0, but must be at least 1 sample");
    refused(resample(none(), 5, 1), &format!("resample: `input` is [3, 0], but {values}"));
    let poly = |input, up, down, window| resample_poly(input, up, down, 1, window);
    refused(poly(input(), 0, 2, None), "resample_poly: `up` is 0, but must be from 1 to 16,777,216");
    refused(poly(input(), 2, 0, None), "resample_poly: `down` is 0, but must be from 1 to 16,777,216");
    refused(poly(none(), 2, 1, None), &format!("resample_poly: `input` is [3, 0], but {values}"));
    let window = Some(Window::Kaiser { beta: -1.0 });
    refused(poly(input(), 2, 1, window), "resample_poly: `beta` is -1, but must be from 0 to 700");
    let dimension = "resample_poly: `dim` is 2, but must be from -2 to 1 for a tensor of 2 dimensions";
    refused(resample_poly(input(), 2, 1, 2, None), dimension);
}
