//! Convolution by Fourier transforms.

use burn::tensor::Tensor;

use super::ComplexTensor;
use super::along::FftCall;
use crate::api::check;
use crate::error::{ArgumentError, ensure};
use crate::fast_length::next_fast_len;
use crate::options::{ConvolveMode, Norm};

/// Convolution along the last dimension: y_j = Σ_i kernel_i signal_(j−i).
///
/// - `signal`: `[.., n]`; `kernel`: `[.., k]`. The leading dimensions are the same, or 1, which is repeated.
/// - returns `[.., length]`, the part of the convolution that `mode` names.
///
/// The transforms are as long as n + k − 1, or up to 15 % longer, so this is faster than a direct convolution for
/// kernels of a few dozen samples and more.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::ConvolveMode;
/// use firefly_ops::fft::fft_convolve;
///
/// let device = Device::flex();
/// let signal = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device);
/// let kernel = Tensor::<1>::from_floats([0.0, 1.0], &device);
/// let delayed = fft_convolve(signal, kernel, ConvolveMode::Full)?;
/// let delayed: Vec<f32> = delayed.into_data().iter().collect();
/// assert!(delayed.iter().zip([0.0, 1.0, 2.0, 3.0]).all(|(got, expected)| (got - expected).abs() < 1e-6));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for leading dimensions that differ, an empty signal or kernel, or a kernel longer than the signal
/// with [`ConvolveMode::Valid`] or [`ConvolveMode::Circular`].
pub fn fft_convolve<const D: usize>(
    signal: Tensor<D>,
    kernel: Tensor<D>,
    mode: ConvolveMode,
) -> Result<Tensor<D>, ArgumentError> {
    const NAME: &str = "fft_convolve";
    let (shape, kernel_shape) = (signal.dims(), kernel.dims());
    let (n, k) = (shape[D - 1], kernel_shape[D - 1]);
    for (argument, length) in [("signal", n), ("kernel", k)] {
        ensure(length >= 1, NAME, argument, format_args!("{length} samples per row"), "at least 1")?;
    }
    let fits = (0..D - 1).all(|dim| shape[dim] == kernel_shape[dim] || shape[dim] == 1 || kernel_shape[dim] == 1);
    let expected = format_args!("a shape whose leading dimensions are those of the signal, {shape:?}, or 1");
    ensure(fits, NAME, "kernel", format_args!("{kernel_shape:?}"), expected)?;
    if matches!(mode, ConvolveMode::Valid | ConvolveMode::Circular) {
        let expected = format_args!("at most as long as the signal, {n}, in this mode");
        ensure(k <= n, NAME, "kernel", format_args!("{k} samples per row"), expected)?;
    }
    let mut inputs = check::InputCheck::of(NAME, "signal", &signal)?;
    let (signal, kernel) = (inputs.first(signal), inputs.next("kernel", kernel, kernel_shape)?);

    let full = n + k - 1;
    let points = match mode {
        ConvolveMode::Circular => n,
        // Even, so that a real transform takes half as many complex values.
        _ => 2 * next_fast_len(full.div_ceil(2)),
    };
    let forward = FftCall { operation: NAME, forward: true, norm: Norm::Backward };
    let spectrum =
        |tensor: Tensor<D>| -> Result<ComplexTensor<D>, ArgumentError> { forward.real(tensor, Some(points), D - 1) };
    let product = spectrum(signal)? * spectrum(kernel)?;
    let convolution = FftCall { forward: false, ..forward }.inverse_real(product, Some(points), D - 1)?;
    let (start, length) = match mode {
        ConvolveMode::Full => (0, full),
        ConvolveMode::Same => ((k - 1) / 2, n),
        ConvolveMode::Valid => (k - 1, n - k + 1),
        ConvolveMode::Circular => (0, n),
    };
    Ok(if length == points { convolution } else { convolution.narrow(D - 1, start, length) })
}
