//! Logarithmic mel spectra.

use burn::tensor::{Device, FloatDType, Gradients, Tensor, TensorData};
use firefly_ops::fft::stft;
use firefly_ops::{LogUnit, Logarithm, log_mel, mel_filters};

use super::inputs::HostTensor;
use super::layer::Layer;
use super::problem::LogMelShape;
use crate::harness::any_tensor::RankedTensor;
use crate::harness::routine::RoutineError;

/// Least power: the power of noise is far above it, and what the logarithm takes from the result stays relative.
const FLOOR: f64 = 1e-10;

/// The natural logarithm of the power in mel bands.
#[derive(Debug, Clone, Copy)]
pub struct LogMelLayer(pub LogMelShape);

/// Signal `[batch, samples]`, window `[n_fft]` and filters `[1, mels, bins]`.
#[derive(Debug, Clone)]
pub struct LogMelInputs {
    signal: Tensor<2>,
    window: Tensor<1>,
    filters: Tensor<3>,
}

impl Layer for LogMelLayer {
    type Inputs = LogMelInputs;

    fn inputs(&self, host: &[&HostTensor], device: &Device, dtype: FloatDType) -> LogMelInputs {
        let options = self.0.options();
        let filters = mel_filters(options.stft.n_fft, &options.bands).unwrap_or_default();
        let shape = [1, filters.len(), options.stft.bins()];
        let filters = TensorData::new(filters.concat(), shape);
        LogMelInputs {
            signal: host[0].tensor(device, dtype),
            window: host[1].tensor(device, dtype),
            filters: Tensor::from_data(filters, (device, dtype.into())),
        }
    }

    fn fused(&self, inputs: LogMelInputs) -> Result<RankedTensor, RoutineError> {
        let logarithm = Logarithm::new(LogUnit::Natural);
        let spectra: Tensor<3> = log_mel(inputs.signal, inputs.window, &self.0.options(), &logarithm)?;
        Ok(spectra.into())
    }

    fn separate(&self, inputs: LogMelInputs) -> Result<RankedTensor, RoutineError> {
        let spectrum = stft::<2, 3>(inputs.signal, Some(inputs.window), &self.0.options().stft)?;
        let bands = inputs.filters.matmul(spectrum.abs_squared());
        Ok(bands.clamp_min(FLOOR).log().into())
    }

    fn tracked(inputs: LogMelInputs) -> LogMelInputs {
        LogMelInputs {
            signal: inputs.signal.autodiff().require_grad(),
            window: inputs.window.autodiff().require_grad(),
            filters: inputs.filters.autodiff(),
        }
    }

    fn gradients(inputs: &LogMelInputs, gradients: &Gradients) -> Option<Vec<RankedTensor>> {
        Some(vec![inputs.signal.grad(gradients)?.into(), inputs.window.grad(gradients)?.into()])
    }
}
