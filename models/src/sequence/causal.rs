//! Causal convolutions with a skip weight per channel.

use burn::tensor::Tensor;
use firefly_ops::{ArgumentError, long_conv};

/// Causal convolution of every channel of `signal` `[batch, channels, n]` with its row of `kernel` `[channels, k]`,
/// plus `skip` `[channels]` times the signal, times a gate.
///
/// # Errors
/// As [`long_conv`].
pub fn convolve(
    signal: Tensor<3>,
    kernel: Tensor<2>,
    skip: Tensor<1>,
    gate: Option<Tensor<3>>,
) -> Result<Tensor<3>, ArgumentError> {
    let [channels, taps] = kernel.dims();
    // A skip weight is part of the first tap.
    let skip: Tensor<2> = skip.reshape([channels, 1]).pad([(0, 0), (0, taps - 1)], 0.0);
    long_conv(signal, kernel + skip, gate)
}
