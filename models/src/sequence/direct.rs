//! Kernels that are learned tap by tap.

use burn::module::{Module, Param};
use burn::tensor::activation::soft_shrink;
use burn::tensor::{Device, Distribution, Tensor, TensorData};
use firefly_ops::ArgumentError;

use super::causal::convolve;
use crate::expect_valid;

/// Standard deviation of the first taps at first.
const DEVIATION: f64 = 0.02;

/// Causal convolution with a kernel per channel whose taps are parameters, moved towards 0 by a threshold.
///
/// Initial taps are normal random numbers times an exponential decay, exp(−(C/2)^(c/C) t/n) at tap t of n in channel c
/// of C, so that channels have different ranges.
///
/// ```
/// use burn::module::Param;
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::DirectKernel;
///
/// // The sample before, without a threshold.
/// let device = Device::flex();
/// let mut kernel = DirectKernel::new(1, 2, 0.0, &device);
/// kernel.taps = Param::from_tensor(Tensor::from_floats([[0.0, 1.0]], &device));
/// kernel.skip = Param::from_tensor(Tensor::zeros([1], &device));
/// let signal = Tensor::<3>::from_floats([[[1.0, 2.0, 3.0]]], &device);
/// let delayed: Vec<f32> = kernel.forward(signal).into_data().iter().collect();
/// assert!(delayed.iter().zip([0.0, 1.0, 2.0]).all(|(got, expected)| (got - expected).abs() < 1e-5));
/// ```
#[derive(Module, Debug)]
pub struct DirectKernel {
    /// Taps, `[channels, n]`.
    pub taps: Param<Tensor<2>>,
    /// Weight of the sample itself, `[channels]`.
    pub skip: Param<Tensor<1>>,
    #[module(skip)]
    threshold: f64,
}

impl DirectKernel {
    /// The untrained kernels of `channels`, of `length` taps.
    pub fn new(channels: usize, length: usize, threshold: f64, device: &Device) -> Self {
        let rate = |channel: usize| (channels as f64 / 2.0).powf(channel as f64 / channels as f64);
        let decay = |channel| (0..length).map(move |tap| (-rate(channel) * tap as f64 / length as f64).exp() as f32);
        let decay: Vec<f32> = (0..channels).flat_map(decay).collect();
        let decay = Tensor::<2>::from_data(TensorData::new(decay, [channels, length]), device);
        let drawn = Tensor::random([channels, length], Distribution::Normal(0.0, DEVIATION), device);
        let skip = Tensor::random([channels], Distribution::Normal(0.0, 1.0), device);
        Self { taps: Param::from_tensor(drawn * decay), skip: Param::from_tensor(skip), threshold }
    }

    /// Convolution of a signal `[batch, channels, n]`, of any length.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, signal: Tensor<3>) -> Tensor<3> {
        expect_valid(self.try_forward(signal))
    }

    /// Convolution of a signal, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`long_conv`](firefly_ops::long_conv).
    pub fn try_forward(&self, signal: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        convolve(signal, soft_shrink(self.taps.val(), self.threshold), self.skip.val(), None)
    }
}
