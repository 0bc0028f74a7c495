//! Fourier transforms along one dimension, and convolution by them.

use burn::tensor::{AsIndex, Tensor};

use super::ComplexTensor;
use super::along::FftCall;
use crate::api::check;
use crate::error::{Result, ensure};
use crate::fast_length::next_fast_len;
use crate::options::{ConvolveMode, Norm};

transforms! {
    n: usize, Option<usize> as n.map(|n| [n]);
    dim: impl AsIndex as &[dim], &[-1];
    "- `n`: points of the transform; longer input is cut, shorter input is padded with zeros. If `None`, as many as \
        the input has, or 2 (m − 1) for m bins of a lower half.\n- `dim`: the dimension; negative ones count from \
        the end.";
    "[`ArgumentError`](crate::ArgumentError) for an `n` of 0, a spectrum of one bin without `n`, a dimension that is not \
        there or has no values, parts of different shapes, or a device without kernels.";

    /// Discrete Fourier transform along the last dimension: X_k = Σ_j x_j exp(−2πi jk/n).
    ///
    /// - `input`: complex, or real; of any shape.
    /// - returns the spectrum, of the same shape; bin k is (k/n) of the sampling rate, from n/2 on less than zero.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::fft;
    ///
    /// let signal = Tensor::<1>::from_floats([1.0, 0.0, -1.0], &Device::flex());
    /// let re: Vec<f32> = fft(signal)?.re.into_data().iter().collect();
    /// assert!(re.iter().zip([0.0, 1.5, 1.5]).all(|(got, expected)| (got - expected).abs() < 1e-6));
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    fft(impl Into<ComplexTensor<D>>) -> ComplexTensor<D>, fft_with = complex_n(true);

    /// Inverse of [`fft`]: x_j = 1/n Σ_k X_k exp(2πi jk/n).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::Norm;
    /// use firefly_ops::fft::{fft, fft_with, ifft, ifft_with};
    ///
    /// let signal = Tensor::<2>::from_floats([[1.0, 2.0, 4.0], [0.0, 8.0, -1.0]], &Device::flex());
    /// let columns = ifft_with(fft_with(signal.clone(), None, 0, Norm::Ortho)?, None, 0, Norm::Ortho)?;
    /// for again in [ifft(fft(signal.clone())?)?, columns] {
    ///     assert!((again.re - signal.clone()).abs().max().into_scalar::<f32>() < 1e-5);
    /// }
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    ifft(impl Into<ComplexTensor<D>>) -> ComplexTensor<D>, ifft_with = complex_n(false);

    /// The lower n/2 + 1 bins of [`fft`] of real values; the others are their conjugates.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::Norm;
    /// use firefly_ops::fft::{rfft, rfft_with};
    ///
    /// let signal = Tensor::<2>::ones([2, 15], &Device::flex());
    /// assert_eq!(rfft(signal.clone())?.dims(), [2, 8]);
    /// assert_eq!(rfft_with(signal, Some(20), 1, Norm::Ortho)?.dims(), [2, 11]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    rfft(Tensor<D>) -> ComplexTensor<D>, rfft_with = real_n(true);

    /// Inverse of [`rfft`]: `n` real values from the lower half of a spectrum.
    ///
    /// - `n`: 2 (m − 1) for m bins by default. What gave an odd number of samples needs it. Bins past n/2 are cut,
    ///   missing ones are 0.
    /// - The imaginary parts of bin 0 and, with an even `n`, of bin n/2 do not count.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::Norm;
    /// use firefly_ops::fft::{irfft, irfft_with, rfft};
    ///
    /// let signal = Tensor::<1>::from_floats([1.0, 2.0, 4.0], &Device::flex());
    /// let spectrum = rfft(signal.clone())?;
    /// let error = (irfft(spectrum.clone(), 3)? - signal).abs().max();
    /// assert!(error.into_scalar::<f32>() < 1e-6);
    /// assert_eq!(irfft_with(spectrum, None, 0, Norm::Forward)?.dims(), [2]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    irfft(ComplexTensor<D>, n) -> Tensor<D>, irfft_with = inverse_real_n(false);

    /// The real spectrum, of `n` values, of a signal with Hermitian symmetry, of which `input` is the lower half.
    ///
    /// `n` is 2 (m − 1) for m values by default.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::{ComplexTensor, hfft};
    ///
    /// // The signal 1, 2, 3, 2.
    /// let half = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &Device::flex());
    /// let spectrum = hfft(ComplexTensor::from(half), 4)?;
    /// assert_eq!(spectrum.into_data().iter::<f32>().collect::<Vec<_>>(), [8.0, -2.0, 0.0, -2.0]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    hfft(ComplexTensor<D>, n) -> Tensor<D>, hfft_with = inverse_real_n(true);

    /// Inverse of [`hfft`]: the lower n/2 + 1 values of a Hermitian signal from its real spectrum.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::ihfft;
    ///
    /// let spectrum = Tensor::<1>::from_floats([8.0, -2.0, 0.0, -2.0], &Device::flex());
    /// let half = ihfft(spectrum)?;
    /// assert_eq!(half.re.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    ihfft(Tensor<D>) -> ComplexTensor<D>, ihfft_with = real_n(false);
}

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
/// use firefly_ops::fft::{ConvolveMode, fft_convolve};
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
/// [`ArgumentError`](crate::ArgumentError) for leading dimensions that differ, an empty signal or kernel, or a kernel
/// longer than the signal with [`ConvolveMode::Valid`] or [`ConvolveMode::Circular`].
pub fn fft_convolve<const D: usize>(signal: Tensor<D>, kernel: Tensor<D>, mode: ConvolveMode) -> Result<Tensor<D>> {
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
        // What is wrapped around lies in the first k − 1 samples.
        ConvolveMode::Valid => 2 * next_fast_len(n.div_ceil(2)),
        // Even, so that a real transform takes half as many complex values.
        _ => 2 * next_fast_len(full.div_ceil(2)),
    };
    let forward = FftCall { operation: NAME, forward: true, norm: Norm::Backward };
    let product = forward.real(signal, Some(points), D - 1)? * forward.real(kernel, Some(points), D - 1)?;
    let convolution = FftCall { forward: false, ..forward }.inverse_real(product, Some(points), D - 1)?;
    let (start, length) = match mode {
        ConvolveMode::Full => (0, full),
        ConvolveMode::Same => ((k - 1) / 2, n),
        ConvolveMode::Valid => (k - 1, n - k + 1),
        ConvolveMode::Circular => (0, n),
    };
    Ok(if length == points { convolution } else { convolution.narrow(D - 1, start, length) })
}
