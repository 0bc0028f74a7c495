//! Transforms along one dimension: Fourier and discrete cosine transforms, and convolution by them.

use burn::tensor::Tensor;

use super::ComplexTensor;
use super::along::FftCall;
use crate::api::check;
use crate::error::{ArgumentError, ensure};
use crate::fast_length::next_fast_len;
use crate::options::{ConvolveMode, Norm};

/// Discrete Fourier transform along `dim`: X_k = Σ_j x_j exp(−2πi jk/n).
///
/// - `input`: complex, or real; of any shape.
/// - `n`: points of the transform; longer input is cut, shorter input is padded with zeros. As long as the input by
///   default.
/// - `dim`: the dimension; negative ones count from the end.
/// - returns the spectrum, `n` values along `dim`; bin k is (k/n) of the sampling rate, from n/2 on less than zero.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::fft;
///
/// let signal = Tensor::<1>::from_floats([1.0, 0.0, -1.0], &Device::flex());
/// let spectrum = fft(signal, None, -1, Norm::Backward)?;
/// let re: Vec<f32> = spectrum.re.into_data().iter().collect();
/// assert!(re.iter().zip([0.0, 1.5, 1.5]).all(|(got, expected)| (got - expected).abs() < 1e-6));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for an `n` of 0, a dimension that is not there or has no values, parts of different shapes, or a
/// device without kernels.
pub fn fft<const D: usize>(
    input: impl Into<ComplexTensor<D>>,
    n: Option<usize>,
    dim: isize,
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    let call = FftCall { operation: "fft", forward: true, norm };
    call.complex(input.into(), n, call.dim(dim, D)?)
}

/// Inverse of [`fft`], with its arguments: x_j = 1/n Σ_k X_k exp(2πi jk/n).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::{fft, ifft};
///
/// let signal = Tensor::<2>::from_floats([[1.0, 2.0, 4.0], [0.0, 8.0, -1.0]], &Device::flex());
/// let spectrum = fft(signal.clone(), None, 1, Norm::Ortho)?;
/// let error = (ifft(spectrum, None, 1, Norm::Ortho)?.re - signal).abs().max();
/// assert!(error.into_scalar::<f32>() < 1e-6);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fft`].
pub fn ifft<const D: usize>(
    input: impl Into<ComplexTensor<D>>,
    n: Option<usize>,
    dim: isize,
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    let call = FftCall { operation: "ifft", forward: false, norm };
    call.complex(input.into(), n, call.dim(dim, D)?)
}

/// The lower n/2 + 1 bins of [`fft`] of real values; the others are their conjugates.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::rfft;
///
/// let signal = Tensor::<2>::ones([2, 15], &Device::flex());
/// assert_eq!(rfft(signal.clone(), None, -1, Norm::Backward)?.dims(), [2, 8]);
/// assert_eq!(rfft(signal, Some(20), -1, Norm::Backward)?.dims(), [2, 11]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fft`].
pub fn rfft<const D: usize>(
    input: Tensor<D>,
    n: Option<usize>,
    dim: isize,
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    let call = FftCall { operation: "rfft", forward: true, norm };
    call.real(input, n, call.dim(dim, D)?)
}

/// Inverse of [`rfft`]: real values from the lower half of a spectrum.
///
/// - `n`: values along `dim`, 2 (m − 1) for m bins by default. What gave an odd number of samples needs it. Bins past
///   n/2 are cut, missing ones are 0.
/// - The imaginary parts of bin 0 and, with an even `n`, of bin n/2 do not count.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::{irfft, rfft};
///
/// let signal = Tensor::<1>::from_floats([1.0, 2.0, 4.0], &Device::flex());
/// let spectrum = rfft(signal.clone(), None, 0, Norm::Backward)?;
/// let error = (irfft(spectrum, Some(3), 0, Norm::Backward)? - signal).abs().max();
/// assert!(error.into_scalar::<f32>() < 1e-6);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fft`]; a spectrum of one bin needs an `n`.
pub fn irfft<const D: usize>(
    input: ComplexTensor<D>,
    n: Option<usize>,
    dim: isize,
    norm: Norm,
) -> Result<Tensor<D>, ArgumentError> {
    let call = FftCall { operation: "irfft", forward: false, norm };
    call.inverse_real(input, n, call.dim(dim, D)?)
}

/// The real spectrum, `n` values along `dim`, of a signal with Hermitian symmetry, of which `input` is the lower half.
///
/// `n` is 2 (m − 1) for m values by default.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::{ComplexTensor, hfft};
///
/// // The signal 1, 2, 3, 2.
/// let half = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &Device::flex());
/// let spectrum = hfft(ComplexTensor::from(half), None, 0, Norm::Backward)?;
/// assert_eq!(spectrum.into_data().iter::<f32>().collect::<Vec<_>>(), [8.0, -2.0, 0.0, -2.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`irfft`].
pub fn hfft<const D: usize>(
    input: ComplexTensor<D>,
    n: Option<usize>,
    dim: isize,
    norm: Norm,
) -> Result<Tensor<D>, ArgumentError> {
    let call = FftCall { operation: "hfft", forward: true, norm };
    call.inverse_real(input, n, call.dim(dim, D)?)
}

/// Inverse of [`hfft`]: the lower n/2 + 1 values of a Hermitian signal from its real spectrum.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::ihfft;
///
/// let spectrum = Tensor::<1>::from_floats([8.0, -2.0, 0.0, -2.0], &Device::flex());
/// let half = ihfft(spectrum, None, 0, Norm::Backward)?;
/// assert_eq!(half.re.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fft`].
pub fn ihfft<const D: usize>(
    input: Tensor<D>,
    n: Option<usize>,
    dim: isize,
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    let call = FftCall { operation: "ihfft", forward: false, norm };
    call.real(input, n, call.dim(dim, D)?)
}

/// Discrete cosine transform of type II along `dim`, as `scipy.fft.dct`: y_k = 2 Σ_j x_j cos(πk(2j + 1)/2n), all of it
/// divided by 2n in [`Norm::Forward`], and by √(2n) in [`Norm::Ortho`], in which y_0 is also divided by √2.
///
/// - `input`: real, of any shape and any length n along `dim`.
/// - `dim`: the dimension; negative ones count from the end.
/// - returns the `n` coefficients along `dim`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::{dct, idct};
///
/// let signal = Tensor::<1>::from_floats([1.0, 2.0, 3.0, 4.0], &Device::flex());
/// let spectrum = dct(signal.clone(), -1, Norm::Backward)?;
/// let expected = Tensor::from_floats([20.0, -6.308644, 0.0, -0.44834152], &Device::flex());
/// assert!((spectrum.clone() - expected).abs().max().into_scalar::<f32>() < 1e-5);
/// let error = (idct(spectrum, -1, Norm::Backward)? - signal).abs().max();
/// assert!(error.into_scalar::<f32>() < 1e-5);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for a dimension that is not there or has no values, or a device without kernels.
pub fn dct<const D: usize>(input: Tensor<D>, dim: isize, norm: Norm) -> Result<Tensor<D>, ArgumentError> {
    FftCall { operation: "dct", forward: true, norm }.cosine(input, dim)
}

/// Inverse of [`dct`], with its arguments: the discrete cosine transform of type III, scaled, as `scipy.fft.idct`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::idct;
///
/// // The mean, and a half-period of a cosine.
/// let signal = idct(Tensor::<1>::from_floats([4.0, 4.0], &Device::flex()), 0, Norm::Backward)?;
/// let expected = Tensor::from_floats([1.0 + 0.5f32.sqrt() * 2.0, 1.0 - 0.5f32.sqrt() * 2.0], &Device::flex());
/// assert!((signal - expected).abs().max().into_scalar::<f32>() < 1e-6);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`dct`].
pub fn idct<const D: usize>(input: Tensor<D>, dim: isize, norm: Norm) -> Result<Tensor<D>, ArgumentError> {
    FftCall { operation: "idct", forward: false, norm }.cosine(input, dim)
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
