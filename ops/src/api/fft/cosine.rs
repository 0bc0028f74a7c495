//! Discrete cosine transform of type II, and its inverse.

use burn::tensor::Tensor;

use super::along::FftCall;
use crate::error::ArgumentError;
use crate::options::Norm;

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
