//! Mel spectra of tensors in host memory.

use burn::backend::tensor::FloatTensor;
use burn::tensor::DType;

use super::tensors::{AsArray, Host, with_real};
use super::{float, sizes, zeros};
use crate::cpu::{self, MelCall};
use crate::memory::OutputBuffer;
use crate::options::{Logarithm, MelOptions};

/// Bands `[rows, bands, frames]` of a signal `[rows, samples]`, or their logarithms.
pub(super) fn forward<B: Host>(
    signal: FloatTensor<B>,
    window: FloatTensor<B>,
    options: &MelOptions,
    logarithm: Option<&Logarithm>,
) -> FloatTensor<B> {
    let [signal, window] = [signal, window].map(B::array);
    let (rows, samples) = sizes(&signal);
    let shape = [rows, options.bands.count, options.stft.frames(samples)];
    with_real!(signal.dtype(), T => {
        let mut bands = OutputBuffer::<T>::new(shape.iter().product());
        let call = MelCall { samples, window: window.slice(), options, logarithm };
        cpu::mel::<T>(signal.slice(), &call, &mut bands);
        B::float(bands.into_data(shape))
    })
}

/// Gradients of signal and window from the signal, the window and the gradient of the bands. Those that are not required
/// are zero.
pub(super) fn backward<B: Host>(
    inputs: [FloatTensor<B>; 3],
    options: &MelOptions,
    logarithm: Option<&Logarithm>,
    requires_grad: [bool; 2],
) -> (FloatTensor<B>, FloatTensor<B>) {
    let [signal, window, grad] = inputs.map(B::array);
    let (_, samples) = sizes(&signal);
    with_real!(signal.dtype(), T => {
        let (mut of_signal, mut of_window) = (zeros::<T>(signal.shape()), zeros::<T>(window.shape()));
        let call = MelCall { samples, window: window.slice(), options, logarithm };
        let into = [
            requires_grad[0].then_some(&mut of_signal[..]),
            requires_grad[1].then_some(&mut of_window[..]),
        ];
        cpu::mel_backward::<T>(signal.slice(), &call, grad.slice(), into);
        (float::<B, T>(of_signal, signal.shape().clone()), float::<B, T>(of_window, window.shape().clone()))
    })
}
