//! Logarithmic mel spectra.

use burn::tensor::{Device, Tensor, TensorData};
use firefly_ops::log_mel;
use wasm_bindgen::prelude::*;

use crate::arguments::{MelArguments, read};
use crate::{run, values};

/// Logarithmic mel spectrum of a signal with options as JSON, `[bands, frames]`.
#[wasm_bindgen]
pub fn log_mel_spectrum(signal: Vec<f32>, options: &str) -> Result<Vec<f32>, JsError> {
    let arguments: MelArguments = read(options)?;
    run(|| {
        let (options, logarithm, window) = arguments.options()?;
        let samples = signal.len();
        let signal = Tensor::<1>::from_data(TensorData::new(signal, [samples]), &Device::flex());
        let bands: Tensor<2> = log_mel(signal, window, &options, &logarithm)?;
        Ok(values(bands))
    })
}
