//! Transforms along two dimensions.

use burn::tensor::Tensor;

use super::ComplexTensor;
use super::along::FftCall;
use crate::error::ArgumentError;
use crate::options::Norm;

/// [`fftn`](super::fftn) along two dimensions, such as `[-2, -1]`, with lengths `s` if given.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::fft2;
///
/// // The spectrum of a constant image has one bin that is not 0.
/// let image = Tensor::<2>::ones([2, 3], &Device::flex());
/// let spectrum = fft2(image, None, [-2, -1], Norm::Forward)?;
/// let re: Vec<f32> = spectrum.re.into_data().iter().collect();
/// assert!(re.iter().zip([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).all(|(got, expected)| (got - expected).abs() < 1e-6));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fftn`](super::fftn).
pub fn fft2<const D: usize>(
    input: impl Into<ComplexTensor<D>>,
    s: Option<[usize; 2]>,
    dims: [isize; 2],
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    let call = FftCall { operation: "fft2", forward: true, norm };
    call.complex_n(input.into(), s.as_ref().map(<[_; 2]>::as_slice), Some(&dims))
}

/// [`ifftn`](super::ifftn) along two dimensions, such as `[-2, -1]`, with lengths `s` if given.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::{fft2, ifft2};
///
/// let image = Tensor::<2>::from_floats([[1.0, 2.0, 4.0], [0.0, 8.0, -1.0]], &Device::flex());
/// let spectrum = fft2(image.clone(), None, [0, 1], Norm::Backward)?;
/// let error = (ifft2(spectrum, None, [0, 1], Norm::Backward)?.re - image).abs().max();
/// assert!(error.into_scalar::<f32>() < 1e-6);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`ifftn`](super::ifftn).
pub fn ifft2<const D: usize>(
    input: impl Into<ComplexTensor<D>>,
    s: Option<[usize; 2]>,
    dims: [isize; 2],
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    let call = FftCall { operation: "ifft2", forward: false, norm };
    call.complex_n(input.into(), s.as_ref().map(<[_; 2]>::as_slice), Some(&dims))
}

/// [`rfftn`](super::rfftn) along two dimensions, such as `[-2, -1]`, with lengths `s` if given.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::rfft2;
///
/// let images = Tensor::<4>::ones([8, 3, 32, 20], &Device::flex()); // [batch, channels, rows, columns]
/// assert_eq!(rfft2(images, None, [-2, -1], Norm::Backward)?.dims(), [8, 3, 32, 11]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`rfftn`](super::rfftn).
pub fn rfft2<const D: usize>(
    input: Tensor<D>,
    s: Option<[usize; 2]>,
    dims: [isize; 2],
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    let call = FftCall { operation: "rfft2", forward: true, norm };
    call.real_n(input, s.as_ref().map(<[_; 2]>::as_slice), Some(&dims))
}

/// [`irfftn`](super::irfftn) along two dimensions, such as `[-2, -1]`, with lengths `s` if given.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::{irfft2, rfft2};
///
/// // An odd number of columns has to be given.
/// let image = Tensor::<2>::from_floats([[1.0, 2.0, 4.0], [0.0, 8.0, -1.0]], &Device::flex());
/// let spectrum = rfft2(image.clone(), None, [0, 1], Norm::Ortho)?;
/// let error = (irfft2(spectrum, Some([2, 3]), [0, 1], Norm::Ortho)? - image).abs().max();
/// assert!(error.into_scalar::<f32>() < 1e-6);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`irfftn`](super::irfftn).
pub fn irfft2<const D: usize>(
    input: ComplexTensor<D>,
    s: Option<[usize; 2]>,
    dims: [isize; 2],
    norm: Norm,
) -> Result<Tensor<D>, ArgumentError> {
    let call = FftCall { operation: "irfft2", forward: false, norm };
    call.inverse_real_n(input, s.as_ref().map(<[_; 2]>::as_slice), Some(&dims))
}

/// [`hfftn`](super::hfftn) along two dimensions, such as `[-2, -1]`, with lengths `s` if given.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::{ComplexTensor, hfft2};
///
/// let half = ComplexTensor::from(Tensor::<3>::ones([5, 6, 3], &Device::flex()));
/// assert_eq!(hfft2(half, None, [1, 2], Norm::Backward)?.dims(), [5, 6, 4]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`hfftn`](super::hfftn).
pub fn hfft2<const D: usize>(
    input: ComplexTensor<D>,
    s: Option<[usize; 2]>,
    dims: [isize; 2],
    norm: Norm,
) -> Result<Tensor<D>, ArgumentError> {
    let call = FftCall { operation: "hfft2", forward: true, norm };
    call.inverse_real_n(input, s.as_ref().map(<[_; 2]>::as_slice), Some(&dims))
}

/// [`ihfftn`](super::ihfftn) along two dimensions, such as `[-2, -1]`, with lengths `s` if given.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::{hfft2, ihfft2};
///
/// let spectrum = Tensor::<2>::from_floats([[8.0, 1.0, 0.0, 2.0], [1.0, 4.0, 3.0, 0.0]], &Device::flex());
/// let half = ihfft2(spectrum.clone(), None, [0, 1], Norm::Backward)?;
/// assert_eq!(half.dims(), [2, 3]);
/// let error = (hfft2(half, Some([2, 4]), [0, 1], Norm::Backward)? - spectrum).abs().max();
/// assert!(error.into_scalar::<f32>() < 1e-5);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`ihfftn`](super::ihfftn).
pub fn ihfft2<const D: usize>(
    input: Tensor<D>,
    s: Option<[usize; 2]>,
    dims: [isize; 2],
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    let call = FftCall { operation: "ihfft2", forward: false, norm };
    call.real_n(input, s.as_ref().map(<[_; 2]>::as_slice), Some(&dims))
}
