//! Cosine transforms: against the definition in SciPy's three norms.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::Norm;
use firefly_ops::fft::{dct, dct_with, idct_with};
use firefly_reference::dct::{dct_2, dct_3};

use crate::common::devices::{computed, is_software};
use crate::common::{noise, tensor, values};
use crate::rows::{check, tolerance};

/// SciPy's factors on a spectrum of type II, and on the signal of type III that undoes it: in the orthogonal norm the
/// first coefficient is divided by √2 besides, and multiplied by √2 before it goes back.
fn factors(norm: Norm, n: usize) -> [f64; 2] {
    let points = (2 * n) as f64;
    match norm {
        Norm::Backward => [1.0, 1.0 / points],
        Norm::Ortho => [1.0 / points.sqrt(); 2],
        _ => [1.0 / points, 1.0],
    }
}

fn first_times(mut row: Vec<f64>, factor: f64) -> Vec<f64> {
    row[0] *= factor;
    row
}

pub fn cosine_transforms_match_the_definition(device: &Device) {
    for &dtype in computed(device) {
        let lengths = (1..=40).chain([97, 128, 250, 1009]);
        for n in lengths.filter(|n| !is_software(device) || [1, 12, 97].contains(n)) {
            let rows = noise(3 * n, n as u64);
            let input = tensor::<2>(&rows, [3, n], device, dtype);
            for norm in [Norm::Backward, Norm::Ortho, Norm::Forward] {
                let [forward, inverse] = factors(norm, n);
                let root = if norm == Norm::Ortho { 2f64.sqrt() } else { 1.0 };
                let spectrum = vec![values(dct_with(input.clone(), 1, norm).unwrap())];
                let signal = vec![values(idct_with(input.clone(), -1, norm).unwrap())];
                for row in [0, 2] {
                    let values = &rows[row * n..(row + 1) * n];
                    let scaled = |row: Vec<f64>, factor: f64| row.into_iter().map(|value| value * factor).collect();
                    let expected: Vec<f64> = scaled(first_times(dct_2(values), 1.0 / root), forward);
                    let undone: Vec<f64> = scaled(dct_3(&first_times(values.to_vec(), root)), inverse);
                    let label = |kind: &str| format!("{kind} of {n} in {dtype:?}, {norm:?}");
                    check(&label("dct"), &spectrum, row, &expected, 2.0 * tolerance(n, dtype));
                    check(&label("idct"), &signal, row, &undone, 2.0 * tolerance(n, dtype));
                }
            }
        }
    }
}

/// Values that SciPy's documentation of the definition gives, and a dimension that is not the last.
pub fn columns_have_the_cosines_of_rows() {
    let device = Device::flex();
    let rows = tensor::<2>(&[1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 0.0, -1.0], [2, 4], &device, DType::F64);
    let spectrum = dct(rows.clone()).unwrap();
    let expected = [20.0, -6.308_644_059_797_899, 0.0, -0.448_341_529_167_967_8];
    assert!(values(spectrum.clone()).iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-13));
    let of_columns = dct_with(rows.clone().transpose(), 0, Norm::Backward).unwrap();
    assert_eq!(values(of_columns.transpose()), values(spectrum.clone()));
    let again = idct_with(spectrum, 1, Norm::Backward).unwrap();
    assert!(values(again - rows).iter().all(|error| error.abs() < 1e-14));
    assert_eq!(dct_with(Tensor::<2>::zeros([0, 4], &device), 1, Norm::Ortho).unwrap().dims(), [0, 4]);
}
