//! The power spectrum of rows.

use burn::tensor::Tensor;

use super::check;
use super::leading_dimensions::Leading;
use super::psd::welch_psd_of;
use super::samples::SampleKind;
use super::welch_weights::WelchWeights;
use crate::error::{ArgumentError, ensure};
use crate::options::{PowerSpectrumOptions, WelchOptions};

/// One-sided power |X|² of the transform of each row, of any length: a [`welch_psd`](crate::welch_psd) of one segment
/// that is the whole row, and `scipy.signal.periodogram` with its scalings.
///
/// - `signal`: `[.., n]`, of any rank from 1, with n from 1 on.
/// - `window`: `[n]`; ones if `None`.
/// - returns power `[.., n / 2 + 1]`, interior bins doubled.
///
/// Differentiable in the signal and in the window.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{PowerSpectrumOptions, Scaling, power_spectrum};
///
/// let device = Device::flex();
/// // A cosine of amplitude 2 at bin 1 of 6.
/// let signal = Tensor::<1>::from_floats([2.0, 1.0, -1.0, -2.0, -1.0, 1.0], &device);
/// let options = PowerSpectrumOptions::new().with_scaling(Scaling::Spectrum);
/// let power: Vec<f32> = power_spectrum(signal, None, &options)?.into_data().iter().collect();
/// assert!(power.iter().zip([0.0, 2.0, 0.0, 0.0]).all(|(got, expected)| (got - expected).abs() < 1e-6));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for rows without samples, a window of another length, a sample rate that is not positive, or
/// tensors on different devices.
pub fn power_spectrum<const D: usize, K: SampleKind>(
    signal: Tensor<D, K>,
    window: Option<Tensor<1>>,
    options: &PowerSpectrumOptions,
) -> Result<Tensor<D>, ArgumentError> {
    const NAME: &str = "power_spectrum";
    let (_, n) = Leading::of(&signal);
    ensure(n >= 1, NAME, "signal", format_args!("{n} samples per row"), "at least 1")?;
    let welch = WelchOptions::new(n, 1).with_hop(n).with_scaling(options.scaling).with_detrend(options.detrend);
    let window = match window {
        Some(window) => window,
        None => check::InputCheck::of(NAME, "signal", &signal)?.ones([n]),
    };
    welch_psd_of(NAME, signal, WelchWeights::new(window), &welch)
}
