//! Fourier transforms of rows.

use firefly_ops::fft::{self, ComplexTensor};
use firefly_ops::{ArgumentError, Norm};
use wasm_bindgen::prelude::*;

use crate::results::Results;
use crate::{rows, run};

/// Discrete Fourier transform of rows of `n` complex values, or its inverse.
#[wasm_bindgen]
pub fn fft(re: Vec<f32>, im: Vec<f32>, n: usize, norm: &str, inverse: bool) -> Result<Results, JsError> {
    let operation = if inverse { "ifft" } else { "fft" };
    run(|| {
        let norm = read_norm(operation, norm)?;
        let signal = complex_rows(operation, [re, im], n)?;
        let result =
            if inverse { fft::ifft_with(signal, None, -1, norm) } else { fft::fft_with(signal, None, -1, norm) };
        Ok(result?.into())
    })
}

/// Transform of rows of `n` real values: `n / 2 + 1` complex values of each.
#[wasm_bindgen]
pub fn rfft(signal: Vec<f32>, n: usize, norm: &str) -> Result<Results, JsError> {
    run(|| Ok(fft::rfft_with(rows("rfft", "signal", signal, n)?, None, -1, read_norm("rfft", norm)?)?.into()))
}

/// Rows of `n` real values of their transforms, `n / 2 + 1` complex values of each.
#[wasm_bindgen]
pub fn irfft(re: Vec<f32>, im: Vec<f32>, n: usize, norm: &str) -> Result<Results, JsError> {
    run(|| {
        let spectra = complex_rows("irfft", [re, im], n / 2 + 1)?;
        Ok(Results::new([fft::irfft_with(spectra, Some(n), -1, read_norm("irfft", norm)?)?]))
    })
}

fn complex_rows(operation: &'static str, [re, im]: [Vec<f32>; 2], n: usize) -> Result<ComplexTensor<2>, ArgumentError> {
    if re.len() != im.len() {
        let (got, expected) = (format!("of {} values", im.len()), format!("of {}, as re is", re.len()));
        return Err(ArgumentError::new(operation, "im", got, expected));
    }
    Ok(ComplexTensor::new(rows(operation, "re", re, n)?, rows(operation, "im", im, n)?))
}

fn read_norm(operation: &'static str, name: &str) -> Result<Norm, ArgumentError> {
    match name {
        "backward" => Ok(Norm::Backward),
        "ortho" => Ok(Norm::Ortho),
        "forward" => Ok(Norm::Forward),
        other => Err(ArgumentError::new(operation, "norm", other, "backward, ortho or forward")),
    }
}
