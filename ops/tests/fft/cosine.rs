//! Cosine and sine transforms: against the definition in SciPy's three norms.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::fft::{dct, dct_with, dst_with, idct_with, idst_with};
use firefly_ops::{ArgumentError, Norm};
use firefly_reference::dct;

use crate::common::devices::{computed, is_software};
use crate::common::{noise, tensor, values};
use crate::rows::{check, tolerance};

type Transform = fn(Tensor<2>, usize, isize, Norm) -> Result<Tensor<2>, ArgumentError>;

/// The transforms by SciPy's names.
pub const TRANSFORMS: [(&str, Transform); 4] =
    [("dct", dct_with), ("idct", idct_with), ("dst", dst_with), ("idst", idst_with)];
pub const TYPES: [usize; 4] = [1, 2, 3, 4];

/// SciPy's transform `name` of type `kind` from the definition, which has no factors.
fn expected(name: &str, kind: usize, norm: Norm, row: &[f64]) -> Vec<f64> {
    let (is_forward, is_sine, n) = (!name.starts_with('i'), name.ends_with("st"), row.len());
    let kind = if is_forward { kind } else { [1, 3, 2, 4][kind - 1] };
    let points = match (kind, is_sine) {
        (1, false) => 2 * n - 2,
        (1, true) => 2 * n + 2,
        _ => 2 * n,
    } as f64;
    let factor = match (norm, is_forward) {
        (Norm::Ortho, _) => 1.0 / points.sqrt(),
        (Norm::Backward, false) | (Norm::Forward, true) => 1.0 / points,
        _ => 1.0,
    };
    // In the orthogonal norm, inputs that count once are multiplied by √2, and outputs of such bases divided by it.
    let ends = |row: &mut [f64], factor: f64, types: [usize; 2]| {
        if norm == Norm::Ortho && (types.contains(&kind) && (kind != 1 || !is_sine)) {
            row[if is_sine { n - 1 } else { 0 }] *= factor;
            if kind == 1 {
                row[n - 1] *= factor;
            }
        }
    };
    let mut row = row.to_vec();
    ends(&mut row, 2f64.sqrt(), [1, 3]);
    let mut row = if is_sine { dct::dst(kind, &row) } else { dct::dct(kind, &row) };
    ends(&mut row, 0.5f64.sqrt(), [1, 2]);
    row.into_iter().map(|value| value * factor).collect()
}

pub fn cosine_and_sine_transforms_match_the_definition(device: &Device) {
    for &dtype in computed(device) {
        let lengths = (1..=20).chain([31, 40, 97, 128, 250, 1009]);
        for n in lengths.filter(|n| !is_software(device) || [1, 12, 97].contains(n)) {
            let rows = noise(3 * n, n as u64);
            let input = tensor::<2>(&rows, [3, n], device, dtype);
            for norm in [Norm::Backward, Norm::Ortho, Norm::Forward] {
                for (name, transform) in TRANSFORMS {
                    for kind in TYPES {
                        if kind == 1 && n < 2 {
                            continue;
                        }
                        let got = vec![values(transform(input.clone(), kind, -1, norm).unwrap())];
                        for row in [0, 2] {
                            let expected = expected(name, kind, norm, &rows[row * n..(row + 1) * n]);
                            let label = format!("{name} of type {kind}, {n} values in {dtype:?}, {norm:?}");
                            // Transforms of type 1 have up to 2n + 2 points, with other factors than n.
                            let points = if kind == 1 { 1009 } else { n };
                            check(&label, &got, row, &expected, 3.0 * tolerance(points, dtype));
                        }
                    }
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
    for (name, transform) in TRANSFORMS {
        for kind in TYPES {
            let of_rows = transform(rows.clone(), kind, 1, Norm::Ortho).unwrap();
            let of_columns = transform(rows.clone().transpose(), kind, 0, Norm::Ortho).unwrap();
            let error = values(of_columns.transpose() - of_rows).into_iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            assert!(error < 1e-14, "{name} of type {kind}: {error:e}");
            assert_eq!(transform(Tensor::zeros([0, 4], &device), kind, 1, Norm::Ortho).unwrap().dims(), [0, 4]);
        }
    }
    let again = idct_with(spectrum, 2, 1, Norm::Backward).unwrap();
    assert!(values(again - rows).iter().all(|error| error.abs() < 1e-14));
}
