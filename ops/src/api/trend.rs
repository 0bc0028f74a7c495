//! Trends of rows, such as those of segments before they are windowed.

use burn::tensor::{Tensor, TensorData};

use super::check::InputCheck;
use crate::error::{Result, ensure};
use crate::options::Detrend;

/// The rows without a trend: without their mean, or without their straight line of least squares, as
/// `scipy.signal.detrend`.
///
/// - `input`: `[.., samples]`, of any rank from 1.
/// - returns the same shape; f64 for f64, or f32 for any smaller float. Differentiable.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Detrend;
/// use firefly_ops::trend::detrend;
///
/// let line = Tensor::<1>::from_floats([5.0, 7.0, 9.0, 11.0], &Device::flex());
/// assert!(detrend(line, Detrend::Linear)?.abs().max().into_scalar::<f32>() < 1e-5);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for rows without samples, or a device without kernels.
pub fn detrend<const D: usize>(input: Tensor<D>, trend: Detrend) -> Result<Tensor<D>> {
    const NAME: &str = "detrend";
    let dims = input.dims();
    ensure(dims[D - 1] >= 1, NAME, "input", format_args!("{dims:?}"), "rows of at least 1 sample")?;
    let inputs = InputCheck::of(NAME, "input", &input)?;
    Ok(detrended(inputs.first(input), trend))
}

/// [`detrend`] of checked rows: twice, as the first trend has the rounding of what may be far larger than the rest.
pub(super) fn detrended<const D: usize>(input: Tensor<D>, trend: Detrend) -> Tensor<D> {
    if trend == Detrend::None {
        return input;
    }
    let (samples, mut shape) = (input.dims()[D - 1], [1; D]);
    shape[D - 1] = samples;
    let last = (samples - 1).max(1) as f64;
    let times: Vec<f64> = (0..samples).map(|time| (2.0 * time as f64 - (samples - 1) as f64) / last).collect();
    let energy = times.iter().map(|time| time * time).sum::<f64>().max(1.0);
    let times = Tensor::<D>::from_data(TensorData::new(times, shape), (&input.device().inner(), input.dtype()));
    (0..2).fold(input, |rows, _| {
        let centred = rows.clone() - rows.mean_dim(D - 1);
        if trend == Detrend::Constant {
            return centred;
        }
        let slope = (centred.clone() * times.clone()).sum_dim(D - 1) / energy;
        centred - slope * times.clone()
    })
}
