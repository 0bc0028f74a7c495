//! Causal convolutions of tensors.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;

use super::row_layout::evenly_spaced;
use super::{contiguous, device, launched, output};
use crate::gpu::long_conv::{
    ConvolutionGradients, ConvolutionInputs, ConvolutionRows, ConvolutionShape, long_conv, long_conv_backward,
};
use crate::ops::LongConvTensors;

/// Convolutions, times their gates.
pub(super) fn forward(inputs: LongConvTensors<CubeBackend>) -> CubeTensor {
    let (shape, kernel) = (sizes(&inputs), contiguous(inputs.kernel));
    let (signal, rows) = rows(inputs.signal);
    let convolved = output(&signal, signal.shape(), DType::F32, shape.batch * shape.channels);
    if shape.batch * shape.channels > 0 {
        // Tensors own the memory that launches read.
        let gate = inputs.gate.into_tensor().map(self::rows);
        let gate = gate.as_ref().map(|(_, rows)| rows);
        launched(long_conv(&device(&signal), &shape, &rows, &kernel.handle, gate, &convolved.handle));
    }
    convolved
}

/// Gradients of the inputs for which `requires_grad` is true; in place of the others the inputs are returned.
pub(super) fn backward(
    inputs: LongConvTensors<CubeBackend>,
    grad: CubeTensor,
    requires_grad: [bool; 3],
) -> LongConvTensors<CubeBackend> {
    let (shape, kernel) = (sizes(&inputs), contiguous(inputs.kernel));
    let (signal, signal_rows) = rows(inputs.signal);
    let count = shape.batch * shape.channels;
    let gradient = |requires_grad: bool, input: &CubeTensor| {
        if requires_grad { output(input, input.shape(), DType::F32, count) } else { input.clone() }
    };
    let gate = inputs.gate.into_tensor();
    let (of_signal, of_kernel) = (gradient(requires_grad[0], &signal), gradient(requires_grad[1], &kernel));
    let of_gate = gate.as_ref().map(|gate| gradient(requires_grad[2], gate));
    if count > 0 {
        let handle = |requires_grad: bool, tensor: &CubeTensor| requires_grad.then(|| tensor.handle.clone());
        let into = ConvolutionGradients {
            signal: handle(requires_grad[0], &of_signal),
            kernel: handle(requires_grad[1], &of_kernel),
            gate: of_gate.as_ref().and_then(|of_gate| handle(requires_grad[2], of_gate)),
        };
        let (gate, grad) = (gate.map(rows), rows(grad));
        let inputs = ConvolutionInputs {
            signal: signal_rows,
            kernel: kernel.handle.clone(),
            gate: gate.as_ref().map(|(_, rows)| rows.clone()),
            grad: grad.1.clone(),
        };
        launched(long_conv_backward(&device(&signal), &shape, &inputs, &into));
    }
    LongConvTensors { signal: of_signal, kernel: of_kernel, gate: of_gate.into() }
}

fn sizes(inputs: &LongConvTensors<CubeBackend>) -> ConvolutionShape {
    let (signal, kernel) = (inputs.signal.shape(), inputs.kernel.shape());
    ConvolutionShape { batch: signal[0], channels: signal[1], n: signal[2], taps: kernel[1] }
}

/// A tensor, and its rows as kernels read them.
fn rows(tensor: CubeTensor) -> (CubeTensor, ConvolutionRows) {
    debug_assert_eq!(tensor.dtype, DType::F32, "the public functions pass f32 to a device");
    let ([tensor], layout) = evenly_spaced([tensor]);
    let rows = ConvolutionRows { values: tensor.handle.clone(), stride: layout.stride };
    (tensor, rows)
}
