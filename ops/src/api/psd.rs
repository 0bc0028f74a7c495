//! Welch's averaged periodogram.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::check;
use super::leading_dimensions::Leading;
use crate::error::ArgumentError;
use crate::halved::halved;
use crate::ops::{SpectralOps, WelchTensors};
use crate::options::WelchOptions;

/// Averaged one-sided power of each row, after P. D. Welch, "The use of fast Fourier transform for the estimation of
/// power spectra", IEEE Trans. Audio Electroacoust. 15 (1967).
///
/// - `signal`: `[.., frame]`, of any rank from 1, in any unit; `frame` at least
///   [`options.frame()`](WelchOptions::frame).
/// - `window`: `[n_fft]`.
/// - returns power `[.., bins]`, in the unit squared (per hertz with density scaling).
///
/// ```
/// use burn::tensor::{Device, FloatDType, Tensor};
/// use firefly_ops::{WelchOptions, Window, WindowSymmetry, welch_psd};
///
/// let device = Device::flex();
/// let options = WelchOptions::new(64, 2);
/// let window = Window::Hann.tensor(64, WindowSymmetry::Periodic, FloatDType::F32, &device);
/// let signal = Tensor::<3>::ones([4, 2, options.frame()], &device);
/// let power = welch_psd(signal, window, &options)?;
/// assert_eq!(power.dims(), [4, 2, 33]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for options out of range, a frame that is too short, a window of another length, or tensors on
/// different devices.
pub fn welch_psd<const D: usize>(
    signal: Tensor<D>,
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<Tensor<D>, ArgumentError> {
    welch_psd_of("welch_psd", signal, window, options)
}

/// [`welch_psd`] for `operation`, which errors name.
pub(super) fn welch_psd_of<const D: usize>(
    operation: &'static str,
    signal: Tensor<D>,
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<Tensor<D>, ArgumentError> {
    let (leading, _) = Leading::of(&signal);
    let WelchTensors { signal, window } = prepare(operation, signal, window, options)?;
    let inputs = WelchTensors { signal: halved::<Dispatch>(signal, options.halvings), window };
    Ok(leading.unflatten(Dispatch::welch_psd(inputs, options.with_halvings(0)), options.bins()))
}

/// The checked inputs of an exact Welch operation, in one type and as rows.
pub(super) fn prepare<const D: usize>(
    operation: &'static str,
    signal: Tensor<D>,
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<WelchTensors<Dispatch>, ArgumentError> {
    check::signal(operation, &signal, options)?;
    let mut inputs = check::InputCheck::of(operation, "signal", &signal)?;
    inputs.transforms(["signal", "n_fft"], &signal, [options.n_fft, options.segments], false)?;
    let window = inputs.next("window", window, [options.n_fft])?;
    Ok(WelchTensors { signal: Leading::of(&signal).0.flatten(inputs.first(signal)), window: window.into_dispatch() })
}
