//! Local maxima of rows, with prominence and their place between bins.

use burn::backend::Dispatch;
use burn::tensor::{Bool, Int, Tensor};

use super::check;
use super::peaks::validate_selection;
use super::rows::{Leading, least_normal};
use crate::error::Result;
use crate::op::inputs;
use crate::options::{Interpolation, LocalMaximaOptions};

/// The `k` strongest local maxima of each row, strongest first.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{LocalMaximaOptions, local_maxima};
///
/// let power = Tensor::<1>::from_floats([1.0, 5.0, 2.0, 3.0, 0.5], &Device::flex());
/// let maxima = local_maxima(power, &LocalMaximaOptions::new(), 2)?;
/// assert_eq!(maxima.bins.into_data().iter::<i64>().collect::<Vec<_>>(), [1, 3]);
/// // The base of the first is the value at its left, that of the second the one between them.
/// assert_eq!(maxima.prominence.into_data().iter::<f32>().collect::<Vec<_>>(), [4.0, 1.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LocalMaxima<const D: usize> {
    /// Bin numbers `[.., k]`, of the type of [`Peaks::bins`](crate::Peaks::bins); −1 where a row has fewer maxima.
    pub bins: Tensor<D, Int>,
    /// Power at those bins `[.., k]`; NaN where the bin is −1, as in the fields that follow.
    pub power: Tensor<D>,
    /// Height above the base, `[.., k]`, in the unit of the power. The base is the higher of the least values on either
    /// side of the maximum, up to the nearest higher value or the end of the row.
    pub prominence: Tensor<D>,
    /// Distance of the line from its bin `[.., k]`, in bins, by the chosen [`Interpolation`]: the frequency of the line
    /// is `(bin + offset) · sample_rate / n_fft`. It is 0 where a neighbour is not positive.
    pub offset: Tensor<D>,
}

/// The `k` strongest local maxima along the last dimension, with the semantics of `scipy.signal.find_peaks`.
///
/// A local maximum is a value, or the middle (rounded down) of a run of equal values, with a lower value on both sides;
/// the first and the last value of a row are none. Of all maxima those are kept that are high enough, then those that
/// are far enough from stronger ones, then those that are prominent enough: see [`LocalMaximaOptions`]. SciPy does the
/// same, but for two cases that it leaves open or treats otherwise: of equal maxima that are too close the lower bin is
/// kept, and a value that is not finite is no maximum.
///
/// - `power`: `[.., length]`, of any rank from 1 and any sign; `length` from 1 to
///   [`MAX_TOP_K_LENGTH`](crate::options::MAX_TOP_K_LENGTH).
/// - `k`: from 1 to `length`.
/// - returns bins, power, prominence and offsets, `[.., k]`, strongest first, equal ones in the order of their bins;
///   f64 for f64, or f32 for any smaller float. Power, prominence and offset are differentiable in `power`.
///
/// At the bins next to DC and Nyquist offsets are off, because the power of those two is not doubled.
///
/// ```
/// use burn::tensor::{Device, FloatDType, Int, Tensor};
/// use firefly_ops::options::Interpolation;
/// use firefly_ops::{LocalMaximaOptions, WelchOptions, Window, WindowSymmetry, local_maxima, welch_psd};
///
/// // A tone between two bins, at 10.3 of 64.
/// let device = Device::flex();
/// let welch = WelchOptions::new(64, 4);
/// let time = Tensor::<1, Int>::arange(0..welch.frame() as i64, &device).float();
/// let signal = (time * (2.0 * std::f32::consts::PI * 10.3 / 64.0)).sin();
/// let window = Window::Hann.tensor(64, WindowSymmetry::Periodic, FloatDType::F32, &device);
/// let power = welch_psd(signal, window, &welch)?;
///
/// let options = LocalMaximaOptions::new().with_prominence(1.0).with_interpolation(Interpolation::Hann);
/// let lines = local_maxima(power, &options, 2)?;
/// assert_eq!(lines.bins.into_data().iter::<i64>().collect::<Vec<_>>(), [10, -1]);
/// let offset = lines.offset.into_data().iter::<f32>().next();
/// assert!(offset.is_some_and(|offset| (offset - 0.3).abs() < 0.01));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for options, a length or `k` out of range, or a device without kernels.
pub fn local_maxima<const D: usize>(
    power: Tensor<D>,
    options: &LocalMaximaOptions,
    k: usize,
) -> Result<LocalMaxima<D>> {
    const NAME: &str = "local_maxima";
    options.validate(NAME)?;
    let (leading, length) = Leading::of(&power);
    validate_selection(NAME, "power", length, k)?;
    let inputs = check::InputCheck::of(NAME, "power", &power)?;
    let dtype = check::bin_dtype(&power.device(), length);

    let power = inputs.first(power);
    let inputs = inputs::LocalMaxima { values: leading.flatten(power.clone()) };
    let [bins, bases] = inputs.apply::<Dispatch>(*options, k, dtype).map(|bins| leading.unflatten_bins(bins, k));
    // The floats follow from the bins by operations of Burn's, which are differentiable.
    let at = |bins: Tensor<D, Int>| power.clone().gather(D - 1, bins.clamp_min(0));
    let missing = bins.clone().lower_elem(0);
    let (height, base) = (at(bins.clone()), at(bases));
    // Above no maximum, bin 0; above every other there is a bin.
    let powers = [at(bins.clone() - 1), height.clone(), at(bins.clone() + 1)];
    let or_nan = |values: Tensor<D>| values.mask_fill(missing.clone(), f32::NAN);
    Ok(LocalMaxima {
        bins,
        prominence: or_nan(height.clone() - base),
        offset: or_nan(offset(powers, options.interpolation, missing.clone())),
        power: or_nan(height),
    })
}

/// The offset of a line from its bin, by power at the bin below, the bin and the bin above; 0 where it is `missing`, or
/// a neighbour is not positive and normal.
fn offset<const D: usize>(powers: [Tensor<D>; 3], interpolation: Interpolation, missing: Tensor<D, Bool>) -> Tensor<D> {
    let least = least_normal(&powers[1]);
    let small = |power: &Tensor<D>| power.clone().lower_elem(least);
    let unusable = missing.bool_or(small(&powers[0])).bool_or(small(&powers[2]));
    // Equal neighbours give 0, and no gradient.
    let powers = powers.map(|power| power.mask_fill(unusable.clone(), 1.0));
    match interpolation {
        Interpolation::LogParabola => {
            let [below, peak, above] = powers.map(Tensor::log);
            let (rise, fall) = (peak.clone() - below, peak - above);
            let curvature = rise.clone() + fall.clone();
            // Three equal values have no vertex.
            let flat = curvature.clone().equal_elem(0.0);
            (rise - fall) / (curvature.mask_fill(flat, 1.0) * 2.0)
        }
        Interpolation::Hann => {
            let [below, peak, above] = powers.map(Tensor::sqrt);
            (above.clone() - below.clone()) * 2.0 / (below + peak * 2.0 + above)
        }
    }
}
