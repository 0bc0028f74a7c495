//! Long convolutions of tensors in host memory.

use burn::backend::tensor::FloatTensor;
use burn::tensor::DType;

use super::tensors::{AsArray, Host, HostReal, like, with_real};
use crate::cpu::{self, LongConvGradients, LongConvOperands};
use crate::memory::OutputBuffer;
use crate::ops::LongConvTensors;

/// Convolutions, times their gates.
pub(super) fn forward<B: Host>(inputs: LongConvTensors<B>) -> FloatTensor<B> {
    let [signal, kernel] = [inputs.signal, inputs.kernel].map(B::array);
    let gate = inputs.gate.into_tensor().map(B::array);
    with_real!(signal.dtype(), T => {
        let mut output = like::<B, T>(&signal);
        cpu::long_conv::<T>(&convolution(&signal, &kernel, gate.as_ref()), &mut output);
        B::float(output.into_data(signal.shape().clone()))
    })
}

/// Gradients of the inputs for which `requires_grad` is true; in place of the others the inputs are returned.
pub(super) fn backward<B: Host>(
    inputs: LongConvTensors<B>,
    grad: FloatTensor<B>,
    requires_grad: [bool; 3],
) -> LongConvTensors<B> {
    let given = inputs.clone();
    let [signal, kernel, grad] = [inputs.signal, inputs.kernel, grad].map(B::array);
    let gate = inputs.gate.into_tensor().map(B::array);
    with_real!(signal.dtype(), T => {
        let new = |requires_grad: bool, input: &B::Array| requires_grad.then(|| like::<B, T>(input));
        let (mut of_signal, mut of_kernel) = (new(requires_grad[0], &signal), new(requires_grad[1], &kernel));
        let mut of_gate = gate.as_ref().and_then(|gate| new(requires_grad[2], gate));
        let into = LongConvGradients {
            signal: of_signal.as_deref_mut(),
            kernel: of_kernel.as_deref_mut(),
            gate: of_gate.as_deref_mut(),
        };
        cpu::long_conv_backward::<T>(&convolution(&signal, &kernel, gate.as_ref()), grad.slice(), into);
        let tensor = |values: Option<OutputBuffer<T>>, input: &B::Array, given: FloatTensor<B>| {
            values.map_or(given, |values| B::float(values.into_data(input.shape().clone())))
        };
        let of_gate = gate.as_ref().zip(given.gate.into_tensor()).map(|(input, given)| tensor(of_gate, input, given));
        LongConvTensors {
            signal: tensor(of_signal, &signal, given.signal),
            kernel: tensor(of_kernel, &kernel, given.kernel),
            gate: of_gate.into(),
        }
    })
}

/// A long convolution as the kernels take it.
fn convolution<'a, A: AsArray, T: HostReal>(
    signal: &'a A,
    kernel: &'a A,
    gate: Option<&'a A>,
) -> LongConvOperands<'a, T> {
    let (channels, n) = (signal.shape()[1], signal.shape()[2]);
    LongConvOperands { signal: signal.slice(), kernel: kernel.slice(), gate: gate.map(A::slice), channels, n }
}
