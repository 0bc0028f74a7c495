//! Causal convolution.

use burn::tensor::{Device, FloatDType, Gradients, Tensor};
use firefly_ops::fft::{irfft, next_fast_len, rfft};
use firefly_ops::{Norm, long_conv};

use super::inputs::HostTensor;
use super::layer::Layer;
use crate::harness::any_tensor::RankedTensor;
use crate::harness::routine::RoutineError;

/// A causal convolution of every row of a signal with its channel's kernel.
#[derive(Debug, Clone, Copy)]
pub struct LongConvLayer;

/// Signal `[batch, channels, n]`, kernel `[channels, n]`, and what the result is multiplied by, as the signal.
#[derive(Debug, Clone)]
pub struct LongConvInputs {
    signal: Tensor<3>,
    kernel: Tensor<2>,
    gate: Option<Tensor<3>>,
}

impl Layer for LongConvLayer {
    type Inputs = LongConvInputs;

    fn inputs(&self, host: &[&HostTensor], device: &Device, dtype: FloatDType) -> LongConvInputs {
        LongConvInputs {
            signal: host[0].tensor(device, dtype),
            kernel: host[1].tensor(device, dtype),
            gate: host.get(2).map(|gate| gate.tensor(device, dtype)),
        }
    }

    fn fused(&self, inputs: LongConvInputs) -> Result<RankedTensor, RoutineError> {
        Ok(long_conv(inputs.signal, inputs.kernel, inputs.gate)?.into())
    }

    fn separate(&self, inputs: LongConvInputs) -> Result<RankedTensor, RoutineError> {
        let LongConvInputs { signal, kernel, gate } = inputs;
        let n = signal.dims()[2];
        let points = next_fast_len(n + kernel.dims()[1] - 1);
        let spectrum = rfft(signal, Some(points), -1, Norm::Backward)?;
        let response = rfft(kernel.unsqueeze::<3>(), Some(points), -1, Norm::Backward)?;
        let result = irfft(spectrum * response, Some(points), -1, Norm::Backward)?.narrow(2, 0, n);
        Ok(match gate {
            Some(gate) => result * gate,
            None => result,
        }
        .into())
    }

    fn tracked(inputs: LongConvInputs) -> LongConvInputs {
        LongConvInputs {
            signal: inputs.signal.autodiff().require_grad(),
            kernel: inputs.kernel.autodiff().require_grad(),
            gate: inputs.gate.map(|gate| gate.autodiff().require_grad()),
        }
    }

    fn gradients(inputs: &LongConvInputs, gradients: &Gradients) -> Option<Vec<RankedTensor>> {
        let mut all = vec![inputs.signal.grad(gradients)?.into(), inputs.kernel.grad(gradients)?.into()];
        if let Some(gate) = &inputs.gate {
            all.push(gate.grad(gradients)?.into());
        }
        Some(all)
    }
}
