//! Results of operations, which JavaScript takes out of the module's memory, or out of that of the device.

use std::cell::Cell;

use burn::tensor::{Int, Tensor, TensorData};
use firefly_ops::Peaks;
use firefly_ops::fft::ComplexTensor;
#[cfg(not(feature = "webgpu"))]
use js_sys::Float32Array;
use wasm_bindgen::prelude::*;

/// Results of an operation. Each is taken once; the module for WebGPU returns promises of them.
#[wasm_bindgen]
pub struct Results {
    floats: Vec<Cell<Option<Tensor<1>>>>,
    bins: Cell<Option<Tensor<1, Int>>>,
}

impl Results {
    /// Results of f32.
    pub fn new<const D: usize>(floats: impl IntoIterator<Item = Tensor<D>>) -> Self {
        let floats = floats.into_iter().map(|tensor| Cell::new(Some(tensor.flatten(0, D - 1))));
        Self { floats: floats.collect(), bins: Cell::new(None) }
    }

    /// These results and bin numbers, all below 2³¹.
    pub fn with_bins<const D: usize>(self, bins: Tensor<D, Int>) -> Self {
        self.bins.set(Some(bins.flatten(0, D - 1)));
        self
    }

    fn take_floats(&self, part: usize) -> Result<Tensor<1>, JsError> {
        self.floats.get(part).and_then(Cell::take).ok_or_else(taken)
    }
}

impl From<ComplexTensor<2>> for Results {
    fn from(tensor: ComplexTensor<2>) -> Self {
        Self::new([tensor.re, tensor.im])
    }
}

impl From<Peaks<2>> for Results {
    fn from(peaks: Peaks<2>) -> Self {
        Self::new([peaks.power]).with_bins(peaks.bins)
    }
}

#[cfg(not(feature = "webgpu"))]
#[wasm_bindgen]
impl Results {
    /// Takes a part of f32, by its number.
    pub fn floats(&self, part: usize) -> Result<Vec<f32>, JsError> {
        Ok(values(self.take_floats(part)?.into_data()))
    }

    /// Takes a part of f32 into an array of as many values.
    pub fn copy_floats(&self, part: usize, into: &Float32Array) -> Result<(), JsError> {
        into.copy_from(&values(self.take_floats(part)?.into_data()));
        Ok(())
    }

    /// Takes the bin numbers.
    pub fn bins(&self) -> Result<Vec<i32>, JsError> {
        Ok(bin_values(self.bins.take().ok_or_else(taken)?.into_data()))
    }
}

#[cfg(feature = "webgpu")]
#[wasm_bindgen]
impl Results {
    /// Takes a part of f32, by its number, when the device has computed it.
    pub async fn floats(&self, part: usize) -> Result<Vec<f32>, JsError> {
        Ok(values(self.take_floats(part)?.into_data_async().await?))
    }

    /// Takes the bin numbers, when the device has computed them.
    pub async fn bins(&self) -> Result<Vec<i32>, JsError> {
        Ok(bin_values(self.bins.take().ok_or_else(taken)?.into_data_async().await?))
    }
}

fn taken() -> JsError {
    JsError::new("the result was taken before")
}

fn values(data: TensorData) -> Vec<f32> {
    data.try_into_vec().expect("results are of f32")
}

fn bin_values(data: TensorData) -> Vec<i32> {
    match data.as_slice::<i64>() {
        Ok(bins) => bins.iter().map(|&bin| bin as i32).collect(),
        Err(_) => data.iter::<i32>().collect(),
    }
}
