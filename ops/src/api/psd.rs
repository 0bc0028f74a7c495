//! Welch's averaged periodogram.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::check;
use crate::error::ArgumentError;
use crate::ops::SpectralOps;
use crate::options::WelchOptions;

/// Averaged one-sided power of each row, after P. D. Welch, "The use of fast Fourier transform for the estimation of
/// power spectra", IEEE Trans. Audio Electroacoust. 15 (1967).
///
/// - `signal`: `[batch, frame]`, in any unit; `frame` at least [`options.frame()`](WelchOptions::frame).
/// - `window`: `[n_fft]`.
/// - returns power `[batch, bins]`, in the unit squared (per hertz with density scaling).
///
/// # Errors
/// [`ArgumentError`] for options out of range, a frame that is too short, a window of another length, or tensors on
/// different devices.
pub fn welch_psd(signal: Tensor<2>, window: Tensor<1>, options: &WelchOptions) -> Result<Tensor<2>, ArgumentError> {
    let (signal, window) = prepare("welch_psd", signal, window, options)?;
    Ok(Tensor::from_dispatch(Dispatch::welch_psd(signal.into_dispatch(), window.into_dispatch(), *options)))
}

/// The checked inputs of an exact Welch operation, in one type.
pub(super) fn prepare(
    operation: &'static str,
    signal: Tensor<2>,
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<(Tensor<2>, Tensor<1>), ArgumentError> {
    check::signal(operation, &signal, options)?;
    let mut inputs = check::Inputs::of(operation, "signal", &signal)?;
    let window = inputs.next("window", window, [options.n_fft])?;
    Ok((inputs.first(signal), window))
}
