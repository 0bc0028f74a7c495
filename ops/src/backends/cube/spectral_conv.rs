//! Spectral convolutions of tensors.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;

use super::rows::evenly_spaced;
use super::{complex, contiguous, device, launched, output};
use crate::gpu::ComplexRows;
use crate::gpu::spectral_conv::{SpectralConv, SpectralConvGradients};
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
        let (_input, rows) = rows_of(input);
        launched(layer.forward(&rows, &contiguous_rows(&result, &sizes)));
    }
    result
}

/// Gradients of the inputs for which `wanted` is true; in place of the others the inputs are returned.
pub(super) fn backward(
    inputs: SpectralConvTensors<CubeBackend>,
    grad: CubeTensor,
    wanted: [bool; 3],
) -> SpectralConvTensors<CubeBackend> {
    let mut gradients = inputs.clone();
    let SpectralConvTensors { input, weights_re, weights_im } = inputs;
    let sizes = SpectralShape::of(&input.shape(), &weights_re.shape());
    let like = |tensor: &CubeTensor| output(tensor, tensor.shape(), DType::F32, sizes.batch);
    if wanted[0] {
        gradients.input = like(&input);
    }
    if wanted[1] || wanted[2] {
        (gradients.weights_re, gradients.weights_im) = (like(&weights_re), like(&weights_im));
    }
    if sizes.batch > 0 {
        let into = SpectralConvGradients {
            input: wanted[0].then(|| contiguous_rows(&gradients.input, &sizes)),
            weights: (wanted[1] || wanted[2]).then(|| complex(&gradients.weights_re, &gradients.weights_im)),
        };
        let [weights_re, weights_im] = [weights_re, weights_im].map(contiguous);
        let device = device(&input);
        let layer = SpectralConv { device: &device, shape: &sizes, weights: complex(&weights_re, &weights_im) };
        let ((_input, rows), (_grad, grad_rows)) = (rows_of(input), rows_of(grad));
        launched(layer.backward(&rows, &grad_rows, &into));
    }
    gradients
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
