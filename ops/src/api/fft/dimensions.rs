//! Transforms along two or any dimensions.

use burn::tensor::{AsIndex, Tensor};

use super::ComplexTensor;
use super::along::FftCall;
use crate::error::{Result, ensure};

/// Dimension of a transform, and the length that was given for it.
type TransformDim = (usize, Option<usize>);

/// The dimensions of a transform.
struct TransformDims(Vec<TransformDim>);

impl TransformDims {
    /// The dimensions `dims` of `rank`, with their lengths `s`.
    fn of(call: &FftCall, s: Option<impl AsRef<[usize]>>, dims: &[impl AsIndex], rank: usize) -> Result<Self> {
        let operation = call.operation;
        let dims = dims.iter().map(|&dim| call.dim(dim, rank)).collect::<Result<Vec<_>>>()?;
        ensure(!dims.is_empty(), operation, "dims", "empty", "at least one dimension")?;
        for (index, dim) in dims.iter().enumerate() {
            let got = format_args!("dimension {dim} twice");
            ensure(!dims[..index].contains(dim), operation, "dims", got, "a dimension once each")?;
        }
        let lengths = match s.as_ref().map(AsRef::as_ref) {
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
    ) -> Result<ComplexTensor<D>> {
        // The last dimension first: its rows are contiguous.
        axes.iter().rev().try_fold(input, |input, &(dim, n)| self.complex(input, n, dim))
    }

    /// Complex to complex along dimensions, with their lengths `s`.
    pub(super) fn complex_n<const D: usize>(
        &self,
        input: impl Into<ComplexTensor<D>>,
        s: Option<impl AsRef<[usize]>>,
        dims: &[impl AsIndex],
    ) -> Result<ComplexTensor<D>> {
        self.complex_along(input.into(), &TransformDims::of(self, s, dims, D)?.0)
    }

    /// Real to the lower half of a spectrum along dimensions.
    pub(super) fn real_n<const D: usize>(
        &self,
        input: Tensor<D>,
        s: Option<impl AsRef<[usize]>>,
        dims: &[impl AsIndex],
    ) -> Result<ComplexTensor<D>> {
        let axes = TransformDims::of(self, s, dims, D)?;
        let ((dim, n), others) = axes.split();
        self.complex_along(self.real(input, n, dim)?, others)
    }

    /// The lower half of a spectrum to real values along dimensions.
    pub(super) fn inverse_real_n<const D: usize>(
        &self,
        input: ComplexTensor<D>,
        s: Option<impl AsRef<[usize]>>,
        dims: &[impl AsIndex],
    ) -> Result<Tensor<D>> {
        let axes = TransformDims::of(self, s, dims, D)?;
        let ((dim, n), others) = axes.split();
        self.inverse_real(self.complex_along(input, others)?, n, dim)
    }
}

transforms! {
    s: [usize; D], Option<&[usize]> as s;
    dims: &[impl AsIndex] as dims, &std::array::from_fn::<usize, D, _>(|dim| dim);
    "- `s`: the length of each of `dims`, to which the input is cut or padded with zeros; if `None`, its own, or \
        2 (m − 1) for m bins of a lower half.\n- `dims`: the dimensions; negative ones count from the end.";
    "As [`fft`](super::fft()), and for lengths or dimensions that do not fit each other.";

    /// [`fft`](super::fft()) along all dimensions.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::Norm;
    /// use firefly_ops::fft::{fftn, fftn_with};
    ///
    /// let images = Tensor::<3>::ones([2, 6, 5], &Device::flex());
    /// assert_eq!(fftn(images.clone())?.dims(), [2, 6, 5]);
    /// // Along the last two.
    /// assert_eq!(fftn_with(images, Some(&[12, 10]), &[1, 2], Norm::Ortho)?.dims(), [2, 12, 10]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    fftn(impl Into<ComplexTensor<D>>) -> ComplexTensor<D>, fftn_with = complex_n(true);

    /// Inverse of [`fftn`].
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::Norm;
    /// use firefly_ops::fft::{fftn, ifftn, ifftn_with};
    ///
    /// let image = Tensor::<2>::from_floats([[1.0, 2.0, 4.0], [0.0, 8.0, -1.0]], &Device::flex());
    /// let spectrum = fftn(image.clone())?;
    /// assert_eq!(ifftn_with(spectrum.clone(), None, &[0], Norm::Ortho)?.dims(), [2, 3]);
    /// let error = (ifftn(spectrum)?.re - image).abs().max();
    /// assert!(error.into_scalar::<f32>() < 1e-6);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    ifftn(impl Into<ComplexTensor<D>>) -> ComplexTensor<D>, ifftn_with = complex_n(false);

    /// [`rfft`](super::rfft()) along the last dimension, then [`fft`](super::fft()) along the others.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::Norm;
    /// use firefly_ops::fft::{rfftn, rfftn_with};
    ///
    /// let volume = Tensor::<3>::ones([4, 6, 5], &Device::flex());
    /// assert_eq!(rfftn(volume.clone())?.dims(), [4, 6, 3]);
    /// // One-sided along the last of the dimensions in the list.
    /// assert_eq!(rfftn_with(volume, None, &[2, 0], Norm::Backward)?.dims(), [3, 6, 5]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    rfftn(Tensor<D>) -> ComplexTensor<D>, rfftn_with = real_n(true);

    /// Inverse of [`rfftn`]: real values of the shape `s` from the lower half of a spectrum. By default the last of `s`
    /// is 2 (m − 1) for m bins.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::Norm;
    /// use firefly_ops::fft::{irfftn, irfftn_with, rfftn};
    ///
    /// let spectrum = rfftn(Tensor::<3>::ones([4, 6, 5], &Device::flex()))?;
    /// assert_eq!(irfftn(spectrum.clone(), [4, 6, 5])?.dims(), [4, 6, 5]);
    /// assert_eq!(irfftn(spectrum.clone(), None)?.dims(), [4, 6, 4]);
    /// assert_eq!(irfftn_with(spectrum, Some(&[6, 5]), &[-2, -1], Norm::Ortho)?.dims(), [4, 6, 5]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    irfftn(ComplexTensor<D>, s) -> Tensor<D>, irfftn_with = inverse_real_n(false);

    /// [`fft`](super::fft()) along all but the last dimension, then [`hfft`](super::hfft()) along that: real values of
    /// the shape `s`. By default the last of `s` is 2 (m − 1) for m values.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::{ComplexTensor, hfftn};
    ///
    /// let half = ComplexTensor::from(Tensor::<2>::ones([6, 3], &Device::flex()));
    /// assert_eq!(hfftn(half, None)?.dims(), [6, 4]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    hfftn(ComplexTensor<D>, s) -> Tensor<D>, hfftn_with = inverse_real_n(true);

    /// Inverse of [`hfftn`].
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::ihfftn;
    ///
    /// let spectrum = Tensor::<2>::ones([6, 4], &Device::flex());
    /// assert_eq!(ihfftn(spectrum)?.dims(), [6, 3]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    ihfftn(Tensor<D>) -> ComplexTensor<D>, ihfftn_with = real_n(false);
}

transforms! {
    s: [usize; 2], Option<[usize; 2]> as s;
    dims: [impl AsIndex; 2] as &dims, &[-2, -1];
    "- `s`: the lengths of `dims`, to which the input is cut or padded with zeros; if `None`, its own, or 2 (m − 1) \
        for m bins of a lower half.\n- `dims`: the dimensions; negative ones count from the end.";
    "As [`fft`](super::fft()), and for lengths or dimensions that do not fit each other.";

    /// [`fftn`] along the last two dimensions.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::Norm;
    /// use firefly_ops::fft::{fft2, fft2_with};
    ///
    /// // The spectrum of a constant image has one bin that is not 0.
    /// let image = Tensor::<2>::ones([2, 3], &Device::flex());
    /// let spectrum = fft2_with(image.clone(), None, [-2, -1], Norm::Forward)?;
    /// let re: Vec<f32> = spectrum.re.into_data().iter().collect();
    /// assert!(re.iter().zip([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).all(|(got, expected)| (got - expected).abs() < 1e-6));
    /// assert!((fft2(image)?.re.max().into_scalar::<f32>() - 6.0).abs() < 1e-5); // their sum
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    fft2(impl Into<ComplexTensor<D>>) -> ComplexTensor<D>, fft2_with = complex_n(true);

    /// [`ifftn`] along the last two dimensions.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::{fft2, ifft2};
    ///
    /// let image = Tensor::<2>::from_floats([[1.0, 2.0, 4.0], [0.0, 8.0, -1.0]], &Device::flex());
    /// let error = (ifft2(fft2(image.clone())?)?.re - image).abs().max();
    /// assert!(error.into_scalar::<f32>() < 1e-6);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    ifft2(impl Into<ComplexTensor<D>>) -> ComplexTensor<D>, ifft2_with = complex_n(false);

    /// [`rfftn`] along the last two dimensions.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::Norm;
    /// use firefly_ops::fft::{rfft2, rfft2_with};
    ///
    /// let images = Tensor::<4>::ones([8, 3, 32, 20], &Device::flex()); // [batch, channels, rows, columns]
    /// assert_eq!(rfft2(images.clone())?.dims(), [8, 3, 32, 11]);
    /// assert_eq!(rfft2_with(images, Some([16, 16]), [2, 3], Norm::Ortho)?.dims(), [8, 3, 16, 9]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    rfft2(Tensor<D>) -> ComplexTensor<D>, rfft2_with = real_n(true);

    /// [`irfftn`] along the last two dimensions, of lengths `s`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::{irfft2, rfft2};
    ///
    /// // An odd number of columns has to be given.
    /// let image = Tensor::<2>::from_floats([[1.0, 2.0, 4.0], [0.0, 8.0, -1.0]], &Device::flex());
    /// let error = (irfft2(rfft2(image.clone())?, [2, 3])? - image).abs().max();
    /// assert!(error.into_scalar::<f32>() < 1e-5);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    irfft2(ComplexTensor<D>, s) -> Tensor<D>, irfft2_with = inverse_real_n(false);

    /// [`hfftn`] along the last two dimensions, of lengths `s`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::Norm;
    /// use firefly_ops::fft::{ComplexTensor, hfft2, hfft2_with};
    ///
    /// let half = ComplexTensor::from(Tensor::<3>::ones([5, 6, 3], &Device::flex()));
    /// assert_eq!(hfft2(half.clone(), None)?.dims(), [5, 6, 4]);
    /// assert_eq!(hfft2_with(half, None, [2, 1], Norm::Backward)?.dims(), [5, 10, 3]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    hfft2(ComplexTensor<D>, s) -> Tensor<D>, hfft2_with = inverse_real_n(true);

    /// [`ihfftn`] along the last two dimensions.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::fft::{hfft2, ihfft2};
    ///
    /// let spectrum = Tensor::<2>::from_floats([[8.0, 1.0, 0.0, 2.0], [1.0, 4.0, 3.0, 0.0]], &Device::flex());
    /// let half = ihfft2(spectrum.clone())?;
    /// assert_eq!(half.dims(), [2, 3]);
    /// let error = (hfft2(half, [2, 4])? - spectrum).abs().max();
    /// assert!(error.into_scalar::<f32>() < 1e-5);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    ihfft2(Tensor<D>) -> ComplexTensor<D>, ihfft2_with = real_n(false);
}
