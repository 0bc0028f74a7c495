//! The strongest lines of a Welch spectrum.

use burn::backend::Dispatch;
use burn::tensor::{Int, Tensor};

use super::{check, psd};
use crate::error::ArgumentError;
use crate::ops::SpectralOps;
use crate::options::WelchOptions;

/// The `k` strongest bins of each row, strongest first.
#[derive(Debug, Clone)]
pub struct Peaks {
    /// Bin numbers `[batch, k]`; −1 where a row has too few finite bins. Of the device's integer type, or of 64 bits
    /// where that type can't hold them.
    pub bins: Tensor<2, Int>,
    /// Power at those bins `[batch, k]`; NaN where the bin is −1.
    pub power: Tensor<2>,
}

/// The `k` strongest bins of [`welch_psd`](crate::welch_psd).
///
/// - `signal`: `[batch, frame]`; `window`: `[n_fft]`; `k`: from 1 to the number of bins.
/// - returns bins and power, `[batch, k]`.
///
/// # Errors
/// As [`welch_psd`](crate::welch_psd), and for `k` out of range.
pub fn welch_peaks(
    signal: Tensor<2>,
    window: Tensor<1>,
    options: &WelchOptions,
    k: usize,
) -> Result<Peaks, ArgumentError> {
    let (signal, window) = psd::prepare("welch_peaks", signal, window, options)?;
    check::peak_count("welch_peaks", k, options)?;
    let int = check::bin_dtype(&signal.device(), options);
    let (bins, power) = Dispatch::welch_peaks(signal.into_dispatch(), window.into_dispatch(), *options, k, int);
    Ok(Peaks { bins: Tensor::from_dispatch(bins), power: Tensor::from_dispatch(power) })
}
