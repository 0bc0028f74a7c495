//! Complex rows of noise, and their comparison with a reference.

use burn::tensor::{DType, Device};
use firefly_ops::fft::ComplexTensor;
use firefly_reference::Complex;

use crate::common::{noise, relative_error, tensor, transform_tolerance, values};

/// Largest error of a row, relative to its largest value. Lengths with a large prime factor take a convolution.
pub fn tolerance(n: usize, dtype: DType) -> f64 {
    let factor = if largest_factor(n) > 13 { 2.0 } else { 1.0 };
    factor
        * match dtype {
            DType::F64 => 5e-15 + 5e-16 * (n as f64).log10(),
            _ => transform_tolerance(n),
        }
}

pub fn largest_factor(mut n: usize) -> usize {
    let mut largest = 1;
    let mut factor = 2;
    while factor * factor <= n {
        while n.is_multiple_of(factor) {
            (n, largest) = (n / factor, factor);
        }
        factor += 1;
    }
    largest.max(n)
}

/// Complex rows and their parts as tensors.
pub struct FftRows {
    pub re: Vec<f64>,
    pub im: Vec<f64>,
    width: usize,
}

impl FftRows {
    pub fn noise(rows: usize, width: usize) -> Self {
        let seed = (rows * 1000 + width) as u64;
        Self { re: noise(rows * width, seed), im: noise(rows * width, seed + 1), width }
    }

    pub fn tensor(&self, device: &Device, dtype: DType) -> ComplexTensor<2> {
        let part = |part: &[f64]| tensor(part, [part.len() / self.width, self.width], device, dtype);
        ComplexTensor::new(part(&self.re), part(&self.im))
    }

    pub fn row(&self, row: usize) -> Vec<Complex> {
        let range = row * self.width..(row + 1) * self.width;
        self.re[range.clone()].iter().zip(&self.im[range]).map(|(&re, &im)| Complex::new(re, im)).collect()
    }

    pub fn real(&self, row: usize) -> &[f64] {
        &self.re[row * self.width..(row + 1) * self.width]
    }
}

/// Real and imaginary parts of a row, one after the other.
pub fn flat(row: &[Complex]) -> Vec<f64> {
    row.iter().map(|z| z.re).chain(row.iter().map(|z| z.im)).collect()
}

/// Checks row `row` of a spectrum.
pub fn check(label: &str, got: &[Vec<f64>], row: usize, expected: &[f64], tolerance: f64) {
    let length = expected.len() / got.len();
    let got: Vec<f64> = got.iter().flat_map(|part| part[row * length..(row + 1) * length].to_vec()).collect();
    let error = relative_error(&got, expected);
    assert!(error <= tolerance, "{label}, row {row}: relative error {error:.1e} of {tolerance:.1e}");
}

pub fn both(spectrum: ComplexTensor<2>) -> Vec<Vec<f64>> {
    vec![values(spectrum.re), values(spectrum.im)]
}
