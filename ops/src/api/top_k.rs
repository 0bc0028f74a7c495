//! The largest values of rows.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::check;
use super::leading_dimensions::Leading;
use super::peaks::Peaks;
use crate::error::{ArgumentError, ensure};
use crate::op::inputs;

/// The longest row that [`top_k`] accepts.
pub const MAX_TOP_K_LENGTH: usize = 1 << 20;

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
/// [`ArgumentError`] for a length or `k` out of range, or a device without kernels.
pub fn top_k<const D: usize>(values: Tensor<D>, k: usize) -> Result<Peaks<D>, ArgumentError> {
    const NAME: &str = "top_k";
    let (leading, length) = Leading::of(&values);
    let expected = format_args!("from 1 to {MAX_TOP_K_LENGTH} values per row");
    ensure(
        (1..=MAX_TOP_K_LENGTH).contains(&length),
        NAME,
        "values",
        format_args!("{length} values per row"),
        expected,
    )?;
    ensure((1..=length).contains(&k), NAME, "k", k, format_args!("from 1 to the length of a row, {length}"))?;
    let inputs = check::InputCheck::of(NAME, "values", &values)?;
    let bins = check::bin_dtype(&values.device(), length);
    let values = leading.flatten(inputs.first(values));
    let (bins, largest) = inputs::TopK { values }.apply::<Dispatch>(k, bins);
    Ok(Peaks::of_rows(&leading, bins, largest, k))
}
