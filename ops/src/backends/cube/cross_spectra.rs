//! Products of spectra of channels.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;

use super::{complex, contiguous, device, gradient_if, output};
use crate::backends::composed;
use crate::gpu::{self, CrossShape};
use crate::op::{Needed, inputs};

/// `[batch, m, n, bins]` of spectra `[batch, m, segments, bins]` and `[batch, n, segments, bins]`.
pub(super) fn forward(inputs: inputs::CrossSpectra<CubeTensor>, is_hermitian: bool) -> [CubeTensor; 2] {
    let shape = CrossShape::of(&inputs.first_re, &inputs.second_re);
    if !shape.is_counted() {
        return composed::cross_spectra::<CubeBackend>(inputs);
    }
    let inputs::CrossSpectra { first_re, first_im, second_re, second_im } = inputs.map(contiguous);
    let ([m, n], values) = (shape.channels, shape.values());
    let outputs = [0; 2].map(|_| output(&first_re, [shape.batch, m, n, shape.bins], DType::F32, values));
    if values > 0 {
        let (first, second) = (complex(&first_re, &first_im), complex(&second_re, &second_im));
        let into = complex(&outputs[0], &outputs[1]);
        gpu::cross_spectra(&device(&first_re), &shape, [&first, &second], is_hermitian, &into);
    }
    outputs
}

/// Gradients of the inputs that are needed.
pub(super) fn backward(inputs: inputs::CrossSpectraBackward<CubeTensor>, needed: Needed) -> Vec<CubeTensor> {
    let shape = CrossShape::of(&inputs.first_re, &inputs.second_re);
    if !shape.is_counted() {
        return composed::cross_spectra_backward::<CubeBackend>(inputs, needed);
    }
    let inputs = inputs.map(contiguous);
    let (first, second) = ([&inputs.first_re, &inputs.first_im], [&inputs.second_re, &inputs.second_im]);
    // The gradients of both parts are computed together.
    let [of_first, of_second] = [(0, first), (2, second)].map(|(input, parts)| {
        parts.map(|part| gradient_if(needed.has(input) || needed.has(input + 1), part, shape.values()))
    });
    if shape.values() > 0 {
        let [first, second, grad] = [first, second, [&inputs.grad_re, &inputs.grad_im]].map(|[re, im]| complex(re, im));
        let into = [&of_first, &of_second].map(|[re, im]| Some(complex(re.as_ref()?, im.as_ref()?)));
        let into = into.each_ref().map(Option::as_ref);
        gpu::cross_spectra_backward(&device(&inputs.first_re), &shape, [&first, &second], &grad, into);
    }
    let gradients = of_first.into_iter().chain(of_second).enumerate();
    gradients.filter_map(|(input, of)| of.filter(|_| needed.has(input))).collect()
}

impl CrossShape {
    fn of(first: &CubeTensor, second: &CubeTensor) -> Self {
        let [batch, m, segments, bins] = first.shape().dims();
        Self { batch, channels: [m, second.shape()[1]], segments, bins }
    }

    /// Products of values, 0 if there is nothing to compute.
    fn values(&self) -> usize {
        self.batch * self.channels[0] * self.channels[1] * self.segments * self.bins
    }
}
