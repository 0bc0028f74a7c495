//! Spectral and causal convolutions of tensors.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;

use super::{complex, contiguous, device, gradient_if, handle, launched, output, real_rows};
use crate::gpu::ComplexRows;
use crate::gpu::long_conv::{ConvolutionGradients, ConvolutionInputs, ConvolutionShape, long_conv, long_conv_backward};
use crate::gpu::spectral_conv::{BatchPlan, SpectralConv, SpectralConvGradients};
use crate::gpu::transform::StridedRows;
use crate::op::{Needed, inputs};
use crate::spectral_shape::SpectralShape;

/// `[batch, out, n…]` from an input `[batch, in, n…]` and weights.
pub(super) fn spectral(inputs: inputs::SpectralConv<CubeTensor>) -> CubeTensor {
    let inputs::SpectralConv { input, weights_re, weights_im } = inputs;
    let sizes = SpectralShape::of(&input.shape(), &weights_re.shape());
    let mut shape = input.shape();
    shape[1] = sizes.outputs;
    let result = output(&input, shape, DType::F32, sizes.batch);
    if sizes.batch > 0 {
        let [weights_re, weights_im] = [weights_re, weights_im].map(contiguous);
        let device = device(&input);
        let layer = SpectralConv { device: &device, shape: &sizes, weights: complex(&weights_re, &weights_im) };
        let [(_input, rows)] = counted_rows([input], &sizes);
        launched(layer.forward(&rows, &contiguous_rows(&result, &sizes)));
    }
    result
}

/// Gradients of the inputs that are needed.
pub(super) fn spectral_backward(inputs: inputs::SpectralConvBackward<CubeTensor>, needed: Needed) -> Vec<CubeTensor> {
    let inputs::SpectralConvBackward { input, weights_re, weights_im, grad_output } = inputs;
    let sizes = SpectralShape::of(&input.shape(), &weights_re.shape());
    // The gradients of both parts of the weights are computed together.
    let of_weights = needed.has(1) || needed.has(2);
    let of_input = gradient_if(needed.has(0), &input, sizes.batch);
    let [of_re, of_im] = [&weights_re, &weights_im].map(|weights| gradient_if(of_weights, weights, sizes.batch));
    if sizes.batch > 0 {
        let into = SpectralConvGradients {
            input: of_input.as_ref().map(|gradient| contiguous_rows(gradient, &sizes)),
            weights: of_re.as_ref().zip(of_im.as_ref()).map(|(re, im)| complex(re, im)),
        };
        let [weights_re, weights_im] = [weights_re, weights_im].map(contiguous);
        let device = device(&input);
        let layer = SpectralConv { device: &device, shape: &sizes, weights: complex(&weights_re, &weights_im) };
        let [(_input, rows), (_grad, grad_rows)] = counted_rows([input, grad_output], &sizes);
        launched(layer.backward(&rows, &grad_rows, &into));
    }
    let of_weights = [(1, of_re), (2, of_im)].into_iter().filter_map(|(input, of)| of.filter(|_| needed.has(input)));
    of_input.into_iter().chain(of_weights).collect()
}

/// Tensors, and their real rows along the last dimension, copied where launches count no rows so far apart.
fn counted_rows<const N: usize>(tensors: [CubeTensor; N], shape: &SpectralShape) -> [(CubeTensor, StridedRows); N] {
    let rows = tensors.map(real_rows);
    let strides: Vec<usize> = rows.iter().map(|(_, rows)| rows.stride).chain([shape.points[shape.last()]]).collect();
    if BatchPlan::of(shape, &strides).is_ok() {
        return rows;
    }
    rows.map(|(tensor, _)| real_rows(into_contiguous(tensor)))
}

/// The real rows of a tensor in contiguous memory.
fn contiguous_rows(tensor: &CubeTensor, shape: &SpectralShape) -> StridedRows {
    StridedRows::contiguous(ComplexRows::real(tensor.handle.clone()), shape.points[shape.last()])
}

/// Convolutions, times their gates.
pub(super) fn causal(inputs: inputs::LongConv<CubeTensor>) -> CubeTensor {
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
pub(super) fn causal_backward(inputs: inputs::LongConvBackward<CubeTensor>, needed: Needed) -> Vec<CubeTensor> {
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
