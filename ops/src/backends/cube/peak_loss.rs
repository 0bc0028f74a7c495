//! Losses of power against target peaks, of tensors.

use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;

use super::{contiguous, device, output, size};
use crate::gpu::{self, PeakLossBuffers};
use crate::ops::PeakLossTensors;
use crate::options::PeakLossOptions;

/// The tensors in contiguous memory as the kernels take them, and the power.
fn buffers(inputs: PeakLossTensors<CubeBackend>) -> (CubeTensor, PeakLossBuffers) {
    let [power, strongest, reference_power, peaks, target_power] = inputs.into_array().map(contiguous);
    let ([rows, bins], [_, ranks]) = (size(&power), size(&strongest));
    let [strongest, reference_power, peaks, target_power] =
        [strongest, reference_power, peaks, target_power].map(|tensor| tensor.handle);
    let buffers = PeakLossBuffers {
        power: power.handle.clone(),
        strongest,
        reference_power,
        peaks,
        target_power,
        rows,
        bins,
        ranks,
    };
    (power, buffers)
}

/// The losses, `[rows, 2]`.
pub(super) fn forward(inputs: PeakLossTensors<CubeBackend>, options: &PeakLossOptions) -> CubeTensor {
    let (power, buffers) = buffers(inputs);
    let losses = output(&power, [buffers.rows, 2], DType::F32, buffers.rows);
    if buffers.rows > 0 {
        gpu::peak_loss(&device(&power), &buffers, options, &losses.handle);
    }
    losses
}

/// The gradient in the power, `[rows, bins]`, for that of the losses.
pub(super) fn backward(
    inputs: PeakLossTensors<CubeBackend>,
    grad: CubeTensor,
    options: &PeakLossOptions,
) -> CubeTensor {
    let ((power, buffers), grad) = (buffers(inputs), contiguous(grad));
    let of_power = output(&power, [buffers.rows, buffers.bins], DType::F32, buffers.rows);
    if buffers.rows > 0 {
        gpu::peak_loss_backward(&device(&power), &buffers, &grad.handle, options, &of_power.handle);
    }
    of_power
}
