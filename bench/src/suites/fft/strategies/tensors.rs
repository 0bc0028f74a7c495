//! Input sets as tensors of the problem's shape.

use burn::tensor::Tensor;

use crate::suites::fft::inputs::FftInputs;
use crate::suites::fft::problem::FftProblem;

/// Parts of a set: one tensor of real values, two of complex ones.
pub type TensorParts<const D: usize> = Vec<Tensor<D>>;

/// The input sets, `[batch, …]`.
pub fn sets<const D: usize>(problem: &FftProblem, inputs: &FftInputs) -> Vec<TensorParts<D>> {
    let shape: [usize; D] = std::array::from_fn(|dim| problem.input_dims()[dim]);
    let shaped = |tensor: &Tensor<2>| tensor.clone().reshape(shape);
    inputs.tensors().iter().map(|parts| parts.iter().map(shaped).collect()).collect()
}
