//! Every operation at one setting on one signal.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::{WelchOptions, butterfly, welch_peaks, welch_psd};

use super::weights::{WeightNumbers, gained_peaks, gained_psd};
use super::{integers, noise, tensor, values};

/// A setting of every operation, with a signal.
#[derive(Debug, Clone)]
pub struct Case {
    pub options: WelchOptions,
    pub k: usize,
    pub rows: usize,
    /// Samples of a frame past its last segment.
    pub extra: usize,
    pub seed: u64,
}

/// An output of an operation in rows of `length` numbers.
#[derive(Debug)]
pub struct Output {
    pub name: &'static str,
    pub values: Vec<f64>,
    pub length: usize,
    /// The power of a factor on the signal by which the output grows.
    pub degree: i32,
    pub dtype: DType,
}

impl Output {
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.length..][..self.length]
    }
}

impl Case {
    pub fn frame(&self) -> usize {
        self.options.frame() + self.extra
    }

    pub fn samples(&self) -> Vec<f64> {
        noise(self.rows * self.frame(), self.seed)
    }

    pub fn signal(&self, samples: &[f64], dtype: DType) -> Tensor<2> {
        self.signal_on(&Device::flex(), samples, dtype)
    }

    pub fn signal_on(&self, device: &Device, samples: &[f64], dtype: DType) -> Tensor<2> {
        tensor(samples, [samples.len() / self.frame(), self.frame()], device, dtype)
    }

    pub fn weights(&self) -> WeightNumbers {
        WeightNumbers::perturbed(&self.options, self.seed + 1)
    }

    /// Every operation on a signal; the butterfly takes each row's first and last `n_fft` samples as its two parts.
    pub fn outputs(&self, signal: Tensor<2>) -> Vec<Output> {
        let (options, k, n) = (&self.options, self.k, self.options.n_fft);
        let [_, frame] = signal.dims();
        let device = signal.device();
        // Parameters are converted to the type of the signal; not every device has f64.
        let dtype = if device == Device::flex() { DType::F64 } else { DType::F32 };
        let parameters = self.weights().tensors(options, &device, dtype);
        let window = parameters.window.clone();
        let mut outputs = Vec::new();
        let mut float = |name, tensor: Tensor<2>, degree| {
            let (dtype, [_, length]) = (tensor.dtype(), tensor.dims());
            outputs.push(Output { name, values: values(tensor), length, degree, dtype });
        };
        float("welch_psd", welch_psd(signal.clone(), window.clone(), options).expect("the arguments fit"), 2);
        let gained = gained_psd(signal.clone(), &parameters, options).expect("the arguments fit");
        float("gained_psd", gained, 2);
        let exact = welch_peaks(signal.clone(), window, options, k).expect("the arguments fit");
        float("power of welch_peaks", exact.power, 2);
        let gained = gained_peaks(signal.clone(), &parameters, options, k).expect("the arguments fit");
        float("power of gained_peaks", gained.power, 2);
        let rows = ComplexTensor::new(signal.clone().narrow(1, 0, n), signal.narrow(1, frame - self.extra - n, n));
        for gates in [None, Some(parameters.gates)] {
            let out = butterfly(rows.clone(), parameters.twiddles.clone(), gates).expect("the arguments fit");
            float("re of butterfly", out.re, 1);
            float("im of butterfly", out.im, 1);
        }
        for (name, bins) in [("bins of welch_peaks", exact.bins), ("bins of gained_peaks", gained.bins)] {
            let (dtype, [_, length]) = (bins.dtype(), bins.dims());
            let values = integers(bins).into_iter().map(|bin| bin as f64).collect();
            outputs.push(Output { name, values, length, degree: 0, dtype });
        }
        outputs
    }
}
