//! Logarithmic mel spectra.

use burn::tensor::Tensor;
use firefly_ops::log_mel;
use wasm_bindgen::prelude::*;

use crate::arguments::{MelArguments, read};
use crate::results::Results;
use crate::{row, run};

/// Logarithmic mel spectrum of a signal with options as JSON, `[bands, frames]`.
#[wasm_bindgen]
pub fn log_mel_spectrum(signal: Vec<f32>, options: &str) -> Result<Results, JsError> {
    let arguments: MelArguments = read(options)?;
    run(|| {
        let (options, logarithm, window) = arguments.options()?;
        let bands: Tensor<2> = log_mel(row(signal), window, &options, &logarithm)?;
        Ok(Results::new([bands]))
    })
}
