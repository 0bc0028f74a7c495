//! Spectral convolutions of tensors.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;

use super::row_layout::evenly_spaced;
use super::{complex, contiguous, device, launched, output};
use crate::gpu::ComplexRows;
use crate::gpu::spectral_conv::{BatchPlan, SpectralConv, SpectralConvGradients};
use crate::gpu::transform::StridedRows;
use crate::ops::SpectralConvTensors;
use crate::spectral_shape::SpectralShape;

/// `[batch, out, n…]` from an input `[batch, in, n…]` and weights.
pub(super) fn forward(inputs: SpectralConvTensors<CubeBackend>) -> CubeTensor {
    let SpectralConvTensors { input, weights_re, weights_im } = inputs;
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

/// Gradients of the inputs for which `requires_grad` is true; in place of the others the inputs are returned.
pub(super) fn backward(
    inputs: SpectralConvTensors<CubeBackend>,
    grad: CubeTensor,
    requires_grad: [bool; 3],
) -> SpectralConvTensors<CubeBackend> {
    let mut gradients = inputs.clone();
    let SpectralConvTensors { input, weights_re, weights_im } = inputs;
    let sizes = SpectralShape::of(&input.shape(), &weights_re.shape());
    let like = |tensor: &CubeTensor| output(tensor, tensor.shape(), DType::F32, sizes.batch);
    if requires_grad[0] {
        gradients.input = like(&input);
    }
    if requires_grad[1] || requires_grad[2] {
        (gradients.weights_re, gradients.weights_im) = (like(&weights_re), like(&weights_im));
    }
    if sizes.batch > 0 {
        let into = SpectralConvGradients {
            input: requires_grad[0].then(|| contiguous_rows(&gradients.input, &sizes)),
            weights: (requires_grad[1] || requires_grad[2])
                .then(|| complex(&gradients.weights_re, &gradients.weights_im)),
        };
        let [weights_re, weights_im] = [weights_re, weights_im].map(contiguous);
        let device = device(&input);
        let layer = SpectralConv { device: &device, shape: &sizes, weights: complex(&weights_re, &weights_im) };
        let [(_input, rows), (_grad, grad_rows)] = counted_rows([input, grad], &sizes);
        launched(layer.backward(&rows, &grad_rows, &into));
    }
    gradients
}

/// Tensors, and their real rows along the last dimension: as they are, or copied where launches count no rows so far
/// apart.
fn counted_rows<const N: usize>(tensors: [CubeTensor; N], shape: &SpectralShape) -> [(CubeTensor, StridedRows); N] {
    let rows = tensors.map(rows_of);
    let strides: Vec<usize> = rows.iter().map(|(_, rows)| rows.stride).chain([shape.points[shape.last()]]).collect();
    if BatchPlan::of(shape, &strides).is_ok() {
        return rows;
    }
    rows.map(|(tensor, _)| rows_of(into_contiguous(tensor)))
}

/// A tensor, and its real rows along the last dimension.
fn rows_of(tensor: CubeTensor) -> (CubeTensor, StridedRows) {
    let ([tensor], layout) = evenly_spaced([tensor]);
    let rows = StridedRows { values: real(&tensor), stride: layout.stride, len: layout.len };
    (tensor, rows)
}

/// The real rows of a tensor in contiguous memory.
fn contiguous_rows(tensor: &CubeTensor, shape: &SpectralShape) -> StridedRows {
    let len = shape.points[shape.last()];
    StridedRows { values: real(tensor), stride: len, len }
}

fn real(tensor: &CubeTensor) -> ComplexRows {
    ComplexRows { re: tensor.handle.clone(), im: None }
}
