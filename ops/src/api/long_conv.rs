//! Causal convolutions with kernels as long as the signal.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::check;
use crate::error::{ArgumentError, ensure};
use crate::op::inputs;

/// Causal convolution of every channel with its kernel, times a gate: y_t = gate_t Σ_(s ≤ t) kernel_s signal_(t−s).
///
/// The layer of state-space models and of Hyena, by Fourier transforms of n + k − 1 points or a little more, of which
/// nothing is written but the result.
///
/// - `signal`: `[batch, channels, n]`.
/// - `kernel`: `[channels, k]`, of any length k; what a signal of n samples never meets, the taps from n on, does not
///   count.
/// - `gate`: `[batch, channels, n]`, factors of the output; all are 1 by default.
/// - returns `[batch, channels, n]`.
///
/// A skip weight per channel, y + D · signal before the gate, is a kernel whose first tap is D greater.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::long_conv;
///
/// let device = Device::flex();
/// let signal = Tensor::<3>::from_floats([[[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]]], &device);
/// let kernel = Tensor::<2>::from_floats([[0.0, 1.0, 0.0], [1.0, 2.0, 3.0]], &device);
/// let y: Vec<f32> = long_conv(signal, kernel, None)?.into_data().iter().collect();
/// let expected = [0.0, 1.0, 2.0, 1.0, 3.0, 6.0];
/// assert!(y.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-5));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for rows or kernels without samples, a kernel for another number of channels, a gate of another
/// shape than the signal's, rows beyond the limits of the device, or a device without kernels.
pub fn long_conv(signal: Tensor<3>, kernel: Tensor<2>, gate: Option<Tensor<3>>) -> Result<Tensor<3>, ArgumentError> {
    const NAME: &str = "long_conv";
    let shape @ [_, channels, n] = signal.dims();
    let [_, taps] = kernel.dims();
    for (argument, length) in [("signal", n), ("kernel", taps)] {
        ensure(length >= 1, NAME, argument, format_args!("{length} samples per row"), "at least 1")?;
    }
    let mut inputs = check::InputCheck::of(NAME, "signal", &signal)?;
    inputs.long_conv(&signal, taps)?;
    let kernel = inputs.next("kernel", kernel, [channels, taps])?.into_dispatch();
    let gate = gate.map(|gate| inputs.next("gate", gate, shape)).transpose()?.map(Tensor::into_dispatch);
    let signal = inputs.first(signal).into_dispatch();
    let [convolved] = inputs::LongConv { signal, kernel, gate }.apply::<Dispatch>();
    Ok(Tensor::from_dispatch(convolved))
}
