//! Causal convolutions of tensors.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;

use super::{contiguous, device, gradient_if, handle, launched, output, real_rows};
use crate::gpu::long_conv::{ConvolutionGradients, ConvolutionInputs, ConvolutionShape, long_conv, long_conv_backward};
use crate::op::{Needed, inputs};

/// Convolutions, times their gates.
pub(super) fn forward(inputs: inputs::LongConv<CubeTensor>) -> CubeTensor {
    let (shape, kernel) = (sizes(&inputs.signal, &inputs.kernel), contiguous(inputs.kernel));
    let (signal, rows) = real_rows(inputs.signal);
    let convolved = output(&signal, signal.shape(), DType::F32, shape.batch * shape.channels);
    if shape.batch * shape.channels > 0 {
        // Tensors own the memory that launches read.
        let gate = inputs.gate.map(real_rows);
        let gate = gate.as_ref().map(|(_, rows)| rows);
        launched(long_conv(&device(&signal), &shape, &rows, &kernel.handle, gate, &convolved.handle));
    }
    convolved
}

/// Gradients of the inputs that are needed.
pub(super) fn backward(inputs: inputs::LongConvBackward<CubeTensor>, needed: Needed) -> Vec<CubeTensor> {
    let (shape, kernel) = (sizes(&inputs.signal, &inputs.kernel), contiguous(inputs.kernel));
    let (signal, signal_rows) = real_rows(inputs.signal);
    let count = shape.batch * shape.channels;
    let of_signal = gradient_if(needed.has(0), &signal, count);
    let of_kernel = gradient_if(needed.has(1), &kernel, count);
    let of_gate = inputs.gate.as_ref().and_then(|gate| gradient_if(needed.has(2), gate, count));
    if count > 0 {
        let [of_signal, of_kernel, of_gate] = [&of_signal, &of_kernel, &of_gate].map(|of| handle(of.as_ref()));
        let into = ConvolutionGradients { signal: of_signal, kernel: of_kernel, gate: of_gate };
        // Tensors own the memory that launches read.
        let (gate, grad) = (inputs.gate.map(real_rows), real_rows(inputs.grad_output));
        let inputs = ConvolutionInputs {
            signal: signal_rows,
            kernel: kernel.handle.clone(),
            gate: gate.as_ref().map(|(_, rows)| rows.clone()),
            grad: grad.1.clone(),
        };
        launched(long_conv_backward(&device(&signal), &shape, &inputs, &into));
    }
    [of_signal, of_kernel, of_gate].into_iter().flatten().collect()
}

fn sizes(signal: &CubeTensor, kernel: &CubeTensor) -> ConvolutionShape {
    let (signal, kernel) = (signal.shape(), kernel.shape());
    ConvolutionShape { batch: signal[0], channels: signal[1], n: signal[2], taps: kernel[1] }
}
