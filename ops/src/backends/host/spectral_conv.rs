//! Spectral convolutions of tensors in host memory.

use burn::backend::tensor::FloatTensor;
use burn::tensor::DType;

use super::tensors::{AsArray, Host, like, with_real};
use crate::cpu::{self, SpectralConvGradients};
use crate::memory::OutputBuffer;
use crate::ops::SpectralConvTensors;
use crate::spectral_shape::SpectralShape;

/// Convolutions.
pub(super) fn forward<B: Host>(inputs: SpectralConvTensors<B>) -> FloatTensor<B> {
    let [input, re, im] = [inputs.input, inputs.weights_re, inputs.weights_im].map(B::array);
    let sizes = SpectralShape::of(input.shape(), re.shape());
    let mut shape = input.shape().clone();
    shape[1] = sizes.outputs;
    with_real!(input.dtype(), T => {
        let mut output = OutputBuffer::<T>::new(shape.num_elements());
        cpu::spectral_conv::<T>(input.slice(), [re.slice(), im.slice()], &sizes, &mut output);
        B::float(output.into_data(shape))
    })
}

/// Gradients of the inputs for which `requires_grad` is true; in place of the others the inputs are returned.
pub(super) fn backward<B: Host>(
    inputs: SpectralConvTensors<B>,
    grad: FloatTensor<B>,
    requires_grad: [bool; 3],
) -> SpectralConvTensors<B> {
    let mut gradients = inputs.clone();
    let [input, re, im] = [inputs.input, inputs.weights_re, inputs.weights_im].map(B::array);
    let grad = B::array(grad);
    let sizes = SpectralShape::of(input.shape(), re.shape());
    let (of_input, of_weights) = (requires_grad[0], requires_grad[1] || requires_grad[2]);
    with_real!(input.dtype(), T => {
        let mut into_input = of_input.then(|| like::<B, T>(&input));
        let mut into_weights = of_weights.then(|| [&re, &im].map(like::<B, T>));
        let mut workspace = OutputBuffer::<T>::new(cpu::workspace_len(&sizes, of_weights));
        let into = SpectralConvGradients {
            input: into_input.as_deref_mut(),
            weights: into_weights.as_mut().map(|parts| parts.each_mut().map(|part| &mut **part)),
        };
        let weights = [re.slice(), im.slice()];
        cpu::spectral_conv_backward::<T>(input.slice(), weights, &sizes, grad.slice(), into, &mut workspace);
        let tensor = |values: OutputBuffer<T>, input: &B::Array| B::float(values.into_data(input.shape().clone()));
        if let Some(into) = into_input {
            gradients.input = tensor(into, &input);
        }
        if let Some([into_re, into_im]) = into_weights {
            (gradients.weights_re, gradients.weights_im) = (tensor(into_re, &re), tensor(into_im, &im));
        }
    });
    gradients
}
