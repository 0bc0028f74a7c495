//! Mel spectra of tensors.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::ops::numeric::zeros_client;
use burn_cubecl::tensor::CubeTensor;

use super::{contiguous, device, launched, output, signal_rows};
use crate::gpu::mel::{self, MelCall, MelGradients};
use crate::options::{Logarithm, MelOptions};

/// Bands `[rows, bands, frames]` of a signal `[rows, samples]`, or their logarithms.
pub(super) fn mel(
    signal: CubeTensor,
    window: CubeTensor,
    options: &MelOptions,
    logarithm: Option<&Logarithm>,
) -> CubeTensor {
    let ((signal, rows), window) = (signal_rows(signal), contiguous(window));
    let shape = [rows.rows, options.bands.count, options.stft.frames(rows.len)];
    let bands = output(&signal, shape, DType::F32, rows.rows);
    if rows.rows > 0 {
        let call = MelCall { rows, window: &window.handle, options, logarithm };
        launched(mel::mel(&device(&signal), &call, &bands.handle));
    }
    bands
}

/// Gradients of signal and window from the signal, the window and the gradient of the bands. Those that are not
/// required are uninitialised.
pub(super) fn mel_backward(
    [signal, window, grad]: [CubeTensor; 3],
    options: &MelOptions,
    logarithm: Option<&Logarithm>,
    requires_grad: [bool; 2],
) -> (CubeTensor, CubeTensor) {
    let ((signal, rows), [window, grad]) = (signal_rows(signal), [window, grad].map(contiguous));
    let of_signal = zeros_client(signal.client.clone(), signal.device.clone(), signal.shape(), DType::F32);
    let of_window = output(&signal, window.shape(), DType::F32, rows.rows);
    if rows.rows > 0 {
        let into = MelGradients {
            signal: requires_grad[0].then(|| of_signal.handle.clone()),
            window: requires_grad[1].then(|| of_window.handle.clone()),
        };
        let call = MelCall { rows, window: &window.handle, options, logarithm };
        launched(mel::mel_backward(&device(&signal), &call, &grad.handle, &into));
    }
    (of_signal, of_window)
}
