//! Frequencies of bins, and spectra with frequency 0 in the middle.

use burn::tensor::{AsIndex, DType, Device, FloatDType, Tensor, TensorData};

use super::along::FftCall;
use crate::error::{Result, ensure};
use crate::options::Norm;

/// Frequencies of the bins of an `n`-point [`fft`](super::fft()), `[n]`: 0 to the highest, then the negative ones from
/// the lowest to −1/(n `spacing`). In cycles per unit of `spacing`, the distance between samples.
///
/// ```
/// use burn::tensor::{Device, FloatDType};
/// use firefly_ops::fft::fftfreq;
///
/// let frequencies = fftfreq(5, 0.2, FloatDType::F32, &Device::flex())?;
/// assert_eq!(frequencies.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 1.0, 2.0, -2.0, -1.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for an `n` of 0, or a spacing that is 0 or not finite.
pub fn fftfreq(n: usize, spacing: f64, dtype: FloatDType, device: &Device) -> Result<Tensor<1>> {
    let negative = n.div_ceil(2);
    let signed = |bin: usize| if bin < negative { bin as f64 } else { bin as f64 - n as f64 };
    frequencies("fftfreq", n, spacing, (0..n).map(signed), (device, dtype))
}

/// Frequencies of the bins of an `n`-point [`rfft`](super::rfft()), `[n/2 + 1]`, as [`fftfreq`] but Nyquist positive.
///
/// ```
/// use burn::tensor::{Device, FloatDType};
/// use firefly_ops::fft::rfftfreq;
///
/// let frequencies = rfftfreq(4, 0.25, FloatDType::F32, &Device::flex())?;
/// assert_eq!(frequencies.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 1.0, 2.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`fftfreq`].
pub fn rfftfreq(n: usize, spacing: f64, dtype: FloatDType, device: &Device) -> Result<Tensor<1>> {
    frequencies("rfftfreq", n, spacing, (0..n / 2 + 1).map(|bin| bin as f64), (device, dtype))
}

fn frequencies(
    operation: &'static str,
    n: usize,
    spacing: f64,
    bins: impl Iterator<Item = f64>,
    (device, dtype): (&Device, FloatDType),
) -> Result<Tensor<1>> {
    ensure(n >= 1, operation, "n", n, "at least 1 point")?;
    ensure(spacing.is_finite() && spacing != 0.0, operation, "spacing", spacing, "a finite number that is not 0")?;
    let values: Vec<f64> = bins.map(|bin| bin / (n as f64 * spacing)).collect();
    let count = values.len();
    Ok(Tensor::from_data(TensorData::new(values, [count]), (device, DType::from(dtype))))
}

/// Bins moved along all dimensions so that frequency 0 is in the middle, at index n/2.
///
/// For a complex spectrum: `spectrum.map(..)` of it.
///
/// ```
/// use burn::tensor::{Device, FloatDType};
/// use firefly_ops::fft::{fftfreq, fftshift};
///
/// let frequencies = fftshift(fftfreq(4, 0.25, FloatDType::F32, &Device::flex())?);
/// assert_eq!(frequencies.into_data().iter::<f32>().collect::<Vec<_>>(), [-2.0, -1.0, 0.0, 1.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
pub fn fftshift<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    shifted(tensor, 0..D, |n| n / 2)
}

/// [`fftshift`] along `dims` alone, of which negative ones count from the end.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::fftshift_with;
///
/// let spectra = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::flex());
/// fftshift_with(spectra, &[-1])?.into_data().assert_eq(&[[3.0, 1.0, 2.0], [6.0, 4.0, 5.0]].into(), false);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for a dimension that is not there.
pub fn fftshift_with<const D: usize>(tensor: Tensor<D>, dims: &[impl AsIndex]) -> Result<Tensor<D>> {
    Ok(shifted(tensor, dims_of("fftshift", dims, D)?, |n| n / 2))
}

/// Inverse of [`fftshift`].
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::{fftshift, ifftshift};
///
/// let spectrum = Tensor::<1>::from_floats([1.0, 2.0, 3.0, 4.0, 5.0], &Device::flex());
/// let again = ifftshift(fftshift(spectrum));
/// assert_eq!(again.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0, 5.0]);
/// ```
pub fn ifftshift<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    shifted(tensor, 0..D, |n| n.div_ceil(2))
}

/// Inverse of [`fftshift_with`], with its arguments and errors.
pub fn ifftshift_with<const D: usize>(tensor: Tensor<D>, dims: &[impl AsIndex]) -> Result<Tensor<D>> {
    Ok(shifted(tensor, dims_of("ifftshift", dims, D)?, |n| n.div_ceil(2)))
}

fn dims_of(operation: &'static str, dims: &[impl AsIndex], rank: usize) -> Result<Vec<usize>> {
    let call = FftCall { operation, forward: true, norm: Norm::Backward };
    dims.iter().map(|&dim| call.dim(dim, rank)).collect()
}

fn shifted<const D: usize>(
    tensor: Tensor<D>,
    dims: impl IntoIterator<Item = usize>,
    places: impl Fn(usize) -> usize,
) -> Tensor<D> {
    let shape = tensor.dims();
    dims.into_iter().fold(tensor, |tensor, dim| tensor.roll_dim(places(shape[dim]) as isize, dim))
}
