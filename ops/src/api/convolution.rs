//! Layers of convolutions by transforms: spectral convolutions, of Fourier neural operators, and causal convolutions with
//! kernels as long as the signal.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::check;
use super::fft::ComplexTensor;
use crate::error::{Result, ensure};
use crate::op::inputs;

const NAME: &str = "spectral_conv";

/// Spectral convolution in one to three dimensions: a Fourier transform of which few modes are kept, a product with
/// complex weights per mode, and the inverse transform.
///
/// With X the transform of `input` along its last dimensions (`rfftn`), the spectrum of the result is
/// Y\[b, o, k\] = Σ_i X\[b, i, k\] · weights\[i, o, k\] at the modes k, and 0 at all other bins. Neither the bins that
/// are dropped nor those zeros are written to memory.
///
/// - `input`: `[batch, in, n…]`, real, with one to three dimensions n of any length.
/// - `weights`: `[in, out, modes…]`, with as many dimensions of modes.
///   - Along the last dimension, modes are the lowest bins of the half spectrum: at most n/2 + 1.
///   - Along any other, they are the lowest ⌈m/2⌉ frequencies from 0 on, then the highest ⌊m/2⌋ negative ones, in the
///     order of the bins of an `fft`: at most n.
/// - returns `[batch, out, n…]`, real; f64 for f64, or f32 for any smaller float.
///
/// All inputs are differentiable. The factors of the two transforms cancel whatever their [norm](crate::Norm), as long
/// as both have the same, so there is none to choose. Imaginary parts of bins that are their own mirror images do not
/// count, as in [`irfft`](crate::fft::irfft).
///
/// Weights of a Fourier neural operator in PyTorch are one tensor of `[in, out, m, …]` per corner of the spectrum. They
/// are concatenated along each dimension but the last, non-negative frequencies first: in two dimensions
/// `cat([weights1, weights2], dim=2)`; in three dimensions
/// `cat([cat([weights1, weights2], dim=2), cat([weights3, weights4], dim=2)], dim=3)`.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_ops::fft::ComplexTensor;
/// use firefly_ops::spectral_conv;
///
/// // A layer from 3 to 5 channels on 64 × 48 grids, with 12 × 7 modes.
/// let device = Device::flex();
/// let input = Tensor::<4>::random([2, 3, 64, 48], Distribution::Default, &device);
/// let part = || Tensor::<4>::random([3, 5, 12, 7], Distribution::Default, &device);
/// assert_eq!(spectral_conv(input, ComplexTensor::new(part(), part()))?.dims(), [2, 5, 64, 48]);
///
/// // Weights of 1 at the lowest mode are the mean.
/// let signal = Tensor::<3>::from_floats([[[1.0, 2.0, 6.0]]], &device);
/// let mean = spectral_conv(signal, Tensor::<3>::ones([1, 1, 1], &device).into())?;
/// assert!((mean - 3.0).abs().max().into_scalar::<f32>() < 1e-6);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for dimensions or channels of length 0, weights of other channels or of more
/// modes than there are bins, a device without kernels, or batches and weights of more values than its kernels count.
pub fn spectral_conv<const D: usize>(input: Tensor<D>, weights: ComplexTensor<D>) -> Result<Tensor<D>> {
    const { assert!(D >= 3 && D <= 5, "batch, channels, and one to three dimensions") };
    let (dims, kept) = (input.dims(), weights.dims());
    check_sizes(&dims, &kept)?;
    let mut inputs = check::InputCheck::of(NAME, "input", &input)?;
    inputs.spectral_conv(&input, kept)?;
    let inputs = inputs::SpectralConv {
        weights_re: inputs.next("weights.re", weights.re, kept)?.into_dispatch(),
        weights_im: inputs.next("weights.im", weights.im, kept)?.into_dispatch(),
        input: inputs.first(input).into_dispatch(),
    };
    let [output] = inputs.apply::<Dispatch>();
    Ok(Tensor::from_dispatch(output))
}

/// Checks the shapes of the input and of the weights.
pub(crate) fn check_sizes(input: &[usize], weights: &[usize]) -> Result<()> {
    let has_values = !input[1..].contains(&0);
    let expected = "a tensor with at least 1 channel, and at least 1 value along each dimension";
    ensure(has_values, NAME, "input", format_args!("{input:?}"), expected)?;
    let [channels, last] = [input[1], input.len() - 1];
    let expected = format_args!("a tensor of {channels} input channels, as many as the input has");
    ensure(weights[0] == channels, NAME, "weights", format_args!("{weights:?}"), expected)?;
    ensure(weights[1] >= 1, NAME, "weights", format_args!("{weights:?}"), "a tensor with at least 1 output channel")?;
    for dim in 2..input.len() {
        let most = if dim == last { input[dim] / 2 + 1 } else { input[dim] };
        let got = format_args!("{} modes along dimension {dim}", weights[dim]);
        let expected = format_args!("from 1 to {most} for a length of {}", input[dim]);
        ensure((1..=most).contains(&weights[dim]), NAME, "weights", got, expected)?;
    }
    Ok(())
}

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
/// [`ArgumentError`](crate::ArgumentError) for rows or kernels without samples, a kernel for another number of
/// channels, a gate of another shape than the signal's, rows beyond the limits of the device, or a device without
/// kernels.
pub fn long_conv(signal: Tensor<3>, kernel: Tensor<2>, gate: Option<Tensor<3>>) -> Result<Tensor<3>> {
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
