//! Power spectra of rows, and of the segments of signals.

use burn::tensor::{Device, FloatDType, Gradients, Tensor, TensorData};
use firefly_ops::fft::{rfft, stft};
use firefly_ops::{Norm, PowerSpectrumOptions, StftOptions, power_spectrum, welch_psd};

use super::inputs::HostTensor;
use super::layer::Layer;
use super::problem::WelchPsdShape;
use crate::harness::any_tensor::RankedTensor;
use crate::harness::routine::RoutineError;

/// Signal, window, and the factors of bins, which are 2 for those that stand for a negative frequency too.
#[derive(Debug, Clone)]
pub struct PowerInputs<const D: usize> {
    signal: Tensor<D>,
    window: Tensor<1>,
    factors: Tensor<1>,
}

impl<const D: usize> PowerInputs<D> {
    fn new(host: &[&HostTensor], device: &Device, dtype: FloatDType) -> Self {
        let window: Tensor<1> = host[1].tensor(device, dtype);
        let n = window.dims()[0];
        let has_negative = |bin: usize| bin > 0 && 2 * bin < n;
        let factors: Vec<f32> = (0..=n / 2).map(|bin| if has_negative(bin) { 2.0 } else { 1.0 }).collect();
        let factors = TensorData::new(factors, [n / 2 + 1]);
        Self {
            signal: host[0].tensor(device, dtype),
            window,
            factors: Tensor::from_data(factors, (device, dtype.into())),
        }
    }

    fn tracked(self) -> Self {
        Self {
            signal: self.signal.autodiff().require_grad(),
            window: self.window.autodiff().require_grad(),
            factors: self.factors.autodiff(),
        }
    }

    fn gradients(&self, gradients: &Gradients) -> Option<Vec<RankedTensor>>
    where
        RankedTensor: From<Tensor<D>>,
    {
        Some(vec![self.signal.grad(gradients)?.into(), self.window.grad(gradients)?.into()])
    }
}

/// Power of every row `[batch, channels, n]`.
#[derive(Debug, Clone, Copy)]
pub struct PowerSpectrumLayer;

impl Layer for PowerSpectrumLayer {
    type Inputs = PowerInputs<3>;

    fn inputs(&self, host: &[&HostTensor], device: &Device, dtype: FloatDType) -> Self::Inputs {
        PowerInputs::new(host, device, dtype)
    }

    fn fused(&self, inputs: Self::Inputs) -> Result<RankedTensor, RoutineError> {
        Ok(power_spectrum(inputs.signal, Some(inputs.window), &PowerSpectrumOptions::new())?.into())
    }

    fn separate(&self, inputs: Self::Inputs) -> Result<RankedTensor, RoutineError> {
        let spectrum = rfft(inputs.signal * inputs.window.unsqueeze(), None, -1, Norm::Backward)?;
        Ok((spectrum.abs_squared() * inputs.factors.unsqueeze()).into())
    }

    fn tracked(inputs: Self::Inputs) -> Self::Inputs {
        inputs.tracked()
    }

    fn gradients(inputs: &Self::Inputs, gradients: &Gradients) -> Option<Vec<RankedTensor>> {
        inputs.gradients(gradients)
    }
}

/// Power of signals `[batch, samples]`, averaged over their segments.
#[derive(Debug, Clone, Copy)]
pub struct WelchPsdLayer(pub WelchPsdShape);

impl Layer for WelchPsdLayer {
    type Inputs = PowerInputs<2>;

    fn inputs(&self, host: &[&HostTensor], device: &Device, dtype: FloatDType) -> Self::Inputs {
        PowerInputs::new(host, device, dtype)
    }

    fn fused(&self, inputs: Self::Inputs) -> Result<RankedTensor, RoutineError> {
        Ok(welch_psd(inputs.signal, inputs.window, &self.0.options())?.into())
    }

    fn separate(&self, inputs: Self::Inputs) -> Result<RankedTensor, RoutineError> {
        let WelchPsdShape { n_fft, hop, .. } = self.0;
        let options = StftOptions::new(n_fft).with_hop(hop).with_center(false);
        let power = stft::<2, 3>(inputs.signal, Some(inputs.window), &options)?.abs_squared();
        let mean: Tensor<2> = power.mean_dim(2).squeeze_dim(2);
        Ok((mean * inputs.factors.unsqueeze()).into())
    }

    fn tracked(inputs: Self::Inputs) -> Self::Inputs {
        inputs.tracked()
    }

    fn gradients(inputs: &Self::Inputs, gradients: &Gradients) -> Option<Vec<RankedTensor>> {
        inputs.gradients(gradients)
    }
}
