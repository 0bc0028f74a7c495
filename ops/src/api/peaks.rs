//! The strongest lines of a Welch spectrum, and the largest values of rows.

use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::{Int, Tensor, TensorData};

use super::check;
use super::fft::ComplexTensor;
use super::psd::{Estimate, WelchWeights, welch_psd_complex_of};
use super::rows::{Leading, SampleKind};
use crate::error::{Result, ensure};
use crate::op::inputs;
use crate::options::{MAX_TOP_K_LENGTH, WelchOptions};

/// The `k` strongest bins of each row, strongest first.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::top_k;
///
/// // A row with fewer finite values than peaks.
/// let peaks = top_k(Tensor::<1>::from_floats([f32::NAN, 4.0, f32::INFINITY], &Device::flex()), 2)?;
/// assert_eq!(peaks.bins.into_data().iter::<i64>().collect::<Vec<_>>(), [1, -1]);
/// assert!(peaks.power.into_data().iter::<f32>().nth(1).is_some_and(f32::is_nan));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Peaks<const D: usize> {
    /// Bin numbers `[.., k]`; −1 where a row has too few finite bins. Of the device's integer type, or of 64 bits where
    /// that type can't hold them.
    pub bins: Tensor<D, Int>,
    /// Power at those bins `[.., k]`; NaN where the bin is −1.
    pub power: Tensor<D>,
}

impl<const D: usize> Peaks<D> {
    /// Peaks of rows, `[rows, k]`, as `[.., k]`.
    pub(super) fn of_rows(leading: &Leading<D>, bins: DispatchTensor, power: DispatchTensor, k: usize) -> Self {
        Self { bins: leading.unflatten_bins(bins, k), power: leading.unflatten(power, k) }
    }
}

/// The `k` strongest bins of [`welch_psd`](crate::welch_psd), of all bins or of those of the options' band.
///
/// - `signal`: `[.., frame]`, of any rank from 1 and [type of samples](SampleKind); `weights`: the window `[n_fft]`, or
///   [`WelchWeights`] with a gain of the bins too; `k`: from 1 to the number of bins searched.
/// - returns bins and power, `[.., k]`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{WelchOptions, welch_peaks};
///
/// // An impulse: DC and Nyquist have power 1, the bins between them 2.
/// let device = Device::flex();
/// let signal = Tensor::<1>::from_floats([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &device);
/// let peaks = welch_peaks(signal, Tensor::<1>::ones([8], &device), &WelchOptions::new(8, 1), 4)?;
/// assert_eq!(peaks.bins.into_data().iter::<i64>().collect::<Vec<_>>(), [1, 2, 3, 0]);
/// assert_eq!(peaks.power.into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 2.0, 2.0, 1.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`welch_psd`](crate::welch_psd), and for `k` out of range.
pub fn welch_peaks<const D: usize, K: SampleKind>(
    signal: Tensor<D, K>,
    weights: impl Into<WelchWeights>,
    options: &WelchOptions,
    k: usize,
) -> Result<Peaks<D>> {
    const NAME: &str = "welch_peaks";
    let (leading, _) = Leading::of(&signal);
    let bins = check::bin_dtype(&signal.device(), options.bins());
    let estimate = weights.into().prepare(NAME, signal, options)?;
    options.validate_k(NAME, k)?;
    let (bins, power) = match estimate {
        Estimate::Fused(inputs::WelchPsd { signal, window, gain }) => {
            inputs::WelchPeaks { signal, window, gain }.apply::<Dispatch>(*options, k, bins)
        }
        Estimate::Composed(power) => {
            let searched = options.searched();
            let Peaks { bins, power } = top_k(power.narrow(1, searched.start, searched.len()), k)?;
            let missing = bins.clone().lower_elem(0);
            let bins = (bins + searched.start as i64).mask_fill(missing, -1);
            (bins.into_dispatch(), power.into_dispatch())
        }
    };
    Ok(Peaks::of_rows(&leading, bins, power, k))
}

/// The `k` strongest bins of [`welch_psd_complex`](crate::welch_psd_complex), of all bins or of those of the options'
/// band.
///
/// - `signal`: `[.., frame]`, as there; `window`: `[n_fft]`, `n_fft` up to [`MAX_TOP_K_LENGTH`]; `k`: from 1 to the number
///   of bins searched.
/// - a band counts bins by rising frequency, as [`fftshift`](crate::fft::fftshift) orders them: its bin b is the frequency
///   `b − n_fft / 2`, with the division rounded down.
/// - returns bins, from 0 to `n_fft − 1` in the order of [`fftfreq`](crate::fft::fftfreq), and power, `[.., k]`. Among
///   equals the lower of these bins is first: the frequency 0 and those above it come before those below.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::ComplexTensor;
/// use firefly_ops::{Band, WelchOptions, welch_peaks_complex};
///
/// // An impulse, whose power is 1 at every frequency, at the frequencies from −2 to 1.
/// let device = Device::flex();
/// let impulse = || ComplexTensor::from(Tensor::<1>::from_floats([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &device));
/// let options = WelchOptions::new(8, 1).with_band(Some(Band::new(4 - 2..4 + 2)));
/// let peaks = welch_peaks_complex(impulse(), Tensor::ones([8], &device), &options, 4)?;
/// assert_eq!(peaks.bins.into_data().iter::<i64>().collect::<Vec<_>>(), [0, 1, 6, 7]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`welch_psd_complex`](crate::welch_psd_complex), and for a longer `n_fft` or `k` out of range.
pub fn welch_peaks_complex<const D: usize>(
    signal: impl Into<ComplexTensor<D>>,
    window: Tensor<1>,
    options: &WelchOptions,
    k: usize,
) -> Result<Peaks<D>> {
    const NAME: &str = "welch_peaks_complex";
    let n = options.n_fft;
    ensure(n <= MAX_TOP_K_LENGTH, NAME, "n_fft", n, format_args!("at most {MAX_TOP_K_LENGTH}"))?;
    let mut power = welch_psd_complex_of(NAME, signal, Some(window), options)?;
    let searched = options.band.map_or(n, |band| band.end - band.first);
    let expected = format_args!("from 1 to the number of bins that are searched, {searched}");
    ensure((1..=searched).contains(&k), NAME, "k", k, expected)?;
    if let Some(band) = options.band {
        // Power that is not a number is no peak.
        let is_searched = |bin: usize| (band.first..band.end).contains(&((bin + n / 2) % n));
        let mask: Vec<f32> = (0..n).map(|bin| if is_searched(bin) { 0.0 } else { f32::NAN }).collect();
        let mut shape = [1; D];
        shape[D - 1] = n;
        let mask = Tensor::from_data(TensorData::new(mask, shape), (&power.device(), power.dtype()));
        power = power + mask;
    }
    top_k(power, k)
}

/// The `k` largest values along the last dimension and their positions, largest first.
///
/// The order is that of [`welch_peaks`](crate::welch_peaks): equal values (0 and −0 are equal) come in the order of
/// their positions; a value that is not finite is never selected, and a row with fewer than `k` finite values ends in
/// (position −1, value NaN). `top_k` of [`welch_psd`](crate::welch_psd) gives the same bits as `welch_peaks`.
///
/// - `values`: `[.., length]`, of any rank from 1; `length` from 1 to [`MAX_TOP_K_LENGTH`], not only a spectrum's.
/// - `k`: from 1 to `length`.
/// - returns positions (as [`Peaks::bins`]) and values (as [`Peaks::power`]), `[.., k]`; f64 for f64, or f32 for any
///   smaller float. Differentiable through the values: a gradient goes to the positions selected.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::top_k;
///
/// let device = Device::flex().autodiff();
/// let values = Tensor::<1>::from_floats([1.0, 4.0, f32::INFINITY, 4.0, 3.0], &device).require_grad();
/// let largest = top_k(values.clone(), 3)?;
/// assert_eq!(largest.bins.into_data().iter::<i64>().collect::<Vec<_>>(), [1, 3, 4]);
/// let gradients = largest.power.sum().backward();
/// let gradient = values.grad(&gradients).map(|gradient| gradient.into_data().iter::<f32>().collect::<Vec<_>>());
/// assert_eq!(gradient, Some(vec![0.0, 1.0, 0.0, 1.0, 1.0]));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for a length or `k` out of range, or a device without kernels.
pub fn top_k<const D: usize>(values: Tensor<D>, k: usize) -> Result<Peaks<D>> {
    const NAME: &str = "top_k";
    let (leading, length) = Leading::of(&values);
    validate_selection(NAME, "values", length, k)?;
    let inputs = check::InputCheck::of(NAME, "values", &values)?;
    let bins = check::bin_dtype(&values.device(), length);
    let values = leading.flatten(inputs.first(values));
    let (bins, largest) = inputs::TopK { values }.apply::<Dispatch>(k, bins);
    Ok(Peaks::of_rows(&leading, bins, largest, k))
}

/// Checks the length of the rows of `argument`, and that `k` of their values can be selected.
pub(crate) fn validate_selection(
    operation: &'static str,
    argument: &'static str,
    length: usize,
    k: usize,
) -> Result<()> {
    let expected = format_args!("from 1 to {MAX_TOP_K_LENGTH} values per row");
    let got = format_args!("{length} values per row");
    ensure((1..=MAX_TOP_K_LENGTH).contains(&length), operation, argument, got, expected)?;
    ensure((1..=length).contains(&k), operation, "k", k, format_args!("from 1 to the length of a row, {length}"))
}
