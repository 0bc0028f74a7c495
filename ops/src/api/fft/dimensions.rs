//! Transforms along two or any dimensions.

use burn::tensor::Tensor;

use super::ComplexTensor;
use super::along::FftCall;
use crate::error::{ArgumentError, ensure};
use crate::options::Norm;

/// Dimension of a transform, and the length that was given for it.
type TransformDim = (usize, Option<usize>);

/// The dimensions of a transform.
struct TransformDims(Vec<TransformDim>);

impl TransformDims {
    /// The dimensions `dims`, or else the last ones that `s` has lengths for, or else all of `rank`.
    fn of(call: &FftCall, s: Option<&[usize]>, dims: Option<&[isize]>, rank: usize) -> Result<Self, ArgumentError> {
        let operation = call.operation;
        let dims = match (dims, s) {
            (Some(dims), _) => dims.iter().map(|&dim| call.dim(dim, rank)).collect::<Result<Vec<_>, _>>()?,
            (None, Some(s)) if s.len() > rank => {
                let expected = format_args!("at most {rank} lengths for a tensor of {rank} dimensions");
                return Err(ArgumentError::new(operation, "s", format_args!("{} lengths", s.len()), expected));
            }
            (None, Some(s)) => (rank - s.len()..rank).collect(),
            (None, None) => (0..rank).collect(),
        };
        ensure(!dims.is_empty(), operation, "dims", "empty", "at least one dimension")?;
        for (index, dim) in dims.iter().enumerate() {
            let got = format_args!("dimension {dim} twice");
            ensure(!dims[..index].contains(dim), operation, "dims", got, "a dimension once each")?;
        }
        let lengths = match s {
            Some(s) => {
                let expected = format_args!("a length for each of {} dimensions", dims.len());
                ensure(s.len() == dims.len(), operation, "s", format_args!("{} lengths", s.len()), expected)?;
                s.iter().copied().map(Some).collect()
            }
            None => vec![None; dims.len()],
        };
        Ok(Self(dims.into_iter().zip(lengths).collect()))
    }

    /// The last dimension, and the others.
    fn split(&self) -> (TransformDim, &[TransformDim]) {
        let (last, others) = self.0.split_last().expect("there is at least one dimension");
        (*last, others)
    }
}

impl FftCall {
    fn complex_along<const D: usize>(
        &self,
        input: ComplexTensor<D>,
        axes: &[TransformDim],
    ) -> Result<ComplexTensor<D>, ArgumentError> {
        // The last dimension first: its rows are contiguous.
        axes.iter().rev().try_fold(input, |input, &(dim, n)| self.complex(input, n, dim))
    }

    /// Complex to complex along several dimensions, with their lengths `s`.
    pub(super) fn complex_n<const D: usize>(
        &self,
        input: ComplexTensor<D>,
        s: Option<&[usize]>,
        dims: Option<&[isize]>,
    ) -> Result<ComplexTensor<D>, ArgumentError> {
        self.complex_along(input, &TransformDims::of(self, s, dims, D)?.0)
    }

    /// Real to the lower half of a spectrum along several dimensions.
    pub(super) fn real_n<const D: usize>(
        &self,
        input: Tensor<D>,
        s: Option<&[usize]>,
        dims: Option<&[isize]>,
    ) -> Result<ComplexTensor<D>, ArgumentError> {
        let axes = TransformDims::of(self, s, dims, D)?;
        let ((dim, n), others) = axes.split();
        self.complex_along(self.real(input, n, dim)?, others)
    }

    /// The lower half of a spectrum to real values along several dimensions.
    pub(super) fn inverse_real_n<const D: usize>(
        &self,
        input: ComplexTensor<D>,
        s: Option<&[usize]>,
        dims: Option<&[isize]>,
    ) -> Result<Tensor<D>, ArgumentError> {
        let axes = TransformDims::of(self, s, dims, D)?;
        let ((dim, n), others) = axes.split();
        self.inverse_real(self.complex_along(input, others)?, n, dim)
    }
}

/// [`fft`](super::fft()) along each of `dims`.
///
/// - `s`: the length of each of `dims`, to which the input is cut or padded with zeros; its own by default.
/// - `dims`: the dimensions, negative ones counted from the end; the last ones that `s` has lengths for by default, or
///   all.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::fftn;
///
/// let image = Tensor::<3>::ones([2, 6, 5], &Device::flex());
/// let spectrum = fftn(image, None, Some(&[1, 2]), Norm::Backward)?;
/// assert_eq!(spectrum.dims(), [2, 6, 5]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fft`](super::fft()), and for lengths or dimensions that do not fit each other.
pub fn fftn<const D: usize>(
    input: impl Into<ComplexTensor<D>>,
    s: Option<&[usize]>,
    dims: Option<&[isize]>,
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    FftCall { operation: "fftn", forward: true, norm }.complex_n(input.into(), s, dims)
}

/// Inverse of [`fftn`].
///
/// `s` and `dims` are those of [`fftn`].
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::ifftn;
///
/// let spectrum = Tensor::<2>::ones([6, 5], &Device::flex());
/// assert_eq!(ifftn(spectrum, Some(&[12, 10]), None, Norm::Backward)?.dims(), [12, 10]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fft`](super::fft()), and for lengths or dimensions that do not fit each other.
pub fn ifftn<const D: usize>(
    input: impl Into<ComplexTensor<D>>,
    s: Option<&[usize]>,
    dims: Option<&[isize]>,
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    FftCall { operation: "ifftn", forward: false, norm }.complex_n(input.into(), s, dims)
}

/// [`rfft`](super::rfft()) along the last of `dims`, then [`fft`](super::fft()) along the others.
///
/// `s` and `dims` are those of [`fftn`].
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::rfftn;
///
/// let volume = Tensor::<3>::ones([4, 6, 5], &Device::flex());
/// assert_eq!(rfftn(volume, None, None, Norm::Backward)?.dims(), [4, 6, 3]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fft`](super::fft()), and for lengths or dimensions that do not fit each other.
pub fn rfftn<const D: usize>(
    input: Tensor<D>,
    s: Option<&[usize]>,
    dims: Option<&[isize]>,
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    FftCall { operation: "rfftn", forward: true, norm }.real_n(input, s, dims)
}

/// Inverse of [`rfftn`]: real values from the lower half of a spectrum; the last of `s` is 2 (m − 1) for m bins by
/// default.
///
/// `s` and `dims` are those of [`fftn`].
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::{irfftn, rfftn};
///
/// let volume = Tensor::<3>::ones([4, 6, 5], &Device::flex());
/// let spectrum = rfftn(volume, None, None, Norm::Backward)?;
/// assert_eq!(irfftn(spectrum, Some(&[4, 6, 5]), None, Norm::Backward)?.dims(), [4, 6, 5]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fft`](super::fft()), and for lengths or dimensions that do not fit each other.
pub fn irfftn<const D: usize>(
    input: ComplexTensor<D>,
    s: Option<&[usize]>,
    dims: Option<&[isize]>,
    norm: Norm,
) -> Result<Tensor<D>, ArgumentError> {
    FftCall { operation: "irfftn", forward: false, norm }.inverse_real_n(input, s, dims)
}

/// [`fft`](super::fft()) along all but the last of `dims`, then [`hfft`](super::hfft()) along that.
///
/// `s` and `dims` are those of [`fftn`].
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::{ComplexTensor, hfftn};
///
/// let half = ComplexTensor::from(Tensor::<2>::ones([6, 3], &Device::flex()));
/// assert_eq!(hfftn(half, None, None, Norm::Backward)?.dims(), [6, 4]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fft`](super::fft()), and for lengths or dimensions that do not fit each other.
pub fn hfftn<const D: usize>(
    input: ComplexTensor<D>,
    s: Option<&[usize]>,
    dims: Option<&[isize]>,
    norm: Norm,
) -> Result<Tensor<D>, ArgumentError> {
    FftCall { operation: "hfftn", forward: true, norm }.inverse_real_n(input, s, dims)
}

/// Inverse of [`hfftn`].
///
/// `s` and `dims` are those of [`fftn`].
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::ihfftn;
///
/// let spectrum = Tensor::<2>::ones([6, 4], &Device::flex());
/// assert_eq!(ihfftn(spectrum, None, None, Norm::Backward)?.dims(), [6, 3]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fft`](super::fft()), and for lengths or dimensions that do not fit each other.
pub fn ihfftn<const D: usize>(
    input: Tensor<D>,
    s: Option<&[usize]>,
    dims: Option<&[isize]>,
    norm: Norm,
) -> Result<ComplexTensor<D>, ArgumentError> {
    FftCall { operation: "ihfftn", forward: false, norm }.real_n(input, s, dims)
}

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
