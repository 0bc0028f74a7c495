//! Short-time Fourier transforms.

use burn::tensor::Tensor;

use super::ComplexTensor;
use super::along::FftCall;
use super::framing::{padded, row_frames};
use crate::api::check;
use crate::error::{ArgumentError, ensure};
use crate::options::{Norm, StftOptions};

/// Spectra of windowed frames, in the conventions of `torch.stft`.
///
/// - `signal`: `[.., samples]`, real.
/// - `window`: `[window_length]`; ones if `None`.
/// - returns `[.., bins, frames]`, one dimension more.
///
/// ```
/// use burn::tensor::{Device, FloatDType, Tensor};
/// use firefly_ops::fft::{istft, stft};
/// use firefly_ops::{StftOptions, Window, WindowSymmetry};
///
/// let device = Device::flex();
/// let window = Window::Hann.tensor(400, WindowSymmetry::Periodic, FloatDType::F32, &device);
/// let options = StftOptions::new(400).with_hop(160);
/// let signal = Tensor::<2>::ones([2, 16_000], &device);
/// let spectra = stft::<2, 3>(signal, Some(window.clone()), &options)?;
/// assert_eq!(spectra.dims(), [2, 201, 101]);
/// let again = istft::<3, 2>(spectra, Some(window), &options, Some(16_000))?;
/// assert_eq!(again.dims(), [2, 16_000]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for options out of range, a signal shorter than a frame or than its padding takes, or a window of
/// another length.
pub fn stft<const D: usize, const E: usize>(
    signal: Tensor<D>,
    window: Option<Tensor<1>>,
    options: &StftOptions,
) -> Result<ComplexTensor<E>, ArgumentError> {
    const { assert!(E == D + 1, "spectra have one dimension more than the signal") };
    const NAME: &str = "stft";
    options.validate(NAME)?;
    let mut inputs = check::InputCheck::of(NAME, "signal", &signal)?;
    let framing = SignalFrames::new(NAME, &mut inputs, signal.dims(), window, options)?;
    let frames = framing.windowed(inputs.first(signal));
    let call = FftCall { operation: NAME, forward: true, norm: norm(options) };
    let spectra = if options.onesided { call.real(frames, None, 2)? } else { call.complex(frames.into(), None, 2)? };
    Ok(framing.arranged(spectra))
}

/// Spectra of windowed frames of a complex signal, in the conventions of `torch.stft`.
///
/// - `signal`: `[.., samples]`.
/// - `window`: `[window_length]`, real; ones if `None`.
/// - `options`: with spectra that are not one-sided, since a complex signal's have no symmetry.
/// - returns `[.., n_fft, frames]`, one dimension more.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_ops::StftOptions;
/// use firefly_ops::fft::{ComplexTensor, istft_complex, stft_complex};
///
/// let device = Device::flex();
/// let part = || Tensor::<1>::random([500], Distribution::Default, &device);
/// let signal = ComplexTensor::new(part(), part());
/// let options = StftOptions::new(64).with_onesided(false);
/// let spectra = stft_complex::<1, 2>(signal.clone(), None, &options)?;
/// assert_eq!(spectra.dims(), [64, 32]);
/// let again: ComplexTensor<1> = istft_complex(spectra, None, &options, Some(500))?;
/// assert!((again - signal).abs().max().into_scalar::<f32>() < 1e-5);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for options out of range or one-sided, a signal shorter than a frame or than its padding takes, a
/// window of another length, or parts of different shapes.
pub fn stft_complex<const D: usize, const E: usize>(
    signal: ComplexTensor<D>,
    window: Option<Tensor<1>>,
    options: &StftOptions,
) -> Result<ComplexTensor<E>, ArgumentError> {
    const { assert!(E == D + 1, "spectra have one dimension more than the signal") };
    const NAME: &str = "stft_complex";
    options.validate(NAME)?;
    validate_two_sided(NAME, options)?;
    let dims = signal.dims();
    let mut inputs = check::InputCheck::of(NAME, "signal.re", &signal.re)?;
    let framing = SignalFrames::new(NAME, &mut inputs, dims, window, options)?;
    let im = inputs.next("signal.im", signal.im, dims)?;
    let frames = ComplexTensor { re: inputs.first(signal.re), im }.map(|part| framing.windowed(part));
    let call = FftCall { operation: NAME, forward: true, norm: norm(options) };
    Ok(framing.arranged(call.complex(frames, None, 2)?))
}

/// Frames of a signal, and where their spectra go.
struct SignalFrames<'a, const D: usize> {
    options: &'a StftOptions,
    dims: [usize; D],
    window: Option<Tensor<1>>,
    /// Number of frames.
    count: usize,
}

impl<'a, const D: usize> SignalFrames<'a, D> {
    fn new(
        operation: &'static str,
        inputs: &mut check::InputCheck,
        dims: [usize; D],
        window: Option<Tensor<1>>,
        options: &'a StftOptions,
    ) -> Result<Self, ArgumentError> {
        let window = padded_window(inputs, window, options)?;
        let samples = dims[D - 1];
        options.validate_signal(operation, samples)?;
        Ok(Self { options, dims, window, count: options.frames(samples) })
    }

    /// The frames of a signal times the window: `[.., samples]` → `[rows, frames, n_fft]`.
    fn windowed(&self, signal: Tensor<D>) -> Tensor<3> {
        let &StftOptions { n_fft, hop, center, pad, .. } = self.options;
        let mut rows: Tensor<2> = signal.reshape([self.dims[..D - 1].iter().product(), self.dims[D - 1]]);
        if center {
            rows = padded(rows, self.options.padding(), pad);
        }
        let frames = row_frames(rows, n_fft, hop, self.count);
        match &self.window {
            Some(window) => frames * window.clone().reshape([1, 1, n_fft]),
            None => frames,
        }
    }

    /// Spectra in the order of the result: `[rows, frames, bins]` → `[.., bins, frames]`.
    fn arranged<const E: usize>(&self, spectra: ComplexTensor<3>) -> ComplexTensor<E> {
        let mut shape = [0; E];
        shape[..D - 1].copy_from_slice(&self.dims[..D - 1]);
        shape[E - 2..].copy_from_slice(&[self.options.bins(), self.count]);
        spectra.map(|part| part.swap_dims(1, 2).reshape(shape))
    }
}

pub(super) fn norm(options: &StftOptions) -> Norm {
    if options.normalized { Norm::Ortho } else { Norm::Backward }
}

/// Checks that spectra of a complex signal have both sides.
pub(super) fn validate_two_sided(operation: &'static str, options: &StftOptions) -> Result<(), ArgumentError> {
    ensure(!options.onesided, operation, "onesided", true, "false for complex signals")
}

/// The window in the type of the input, with zeros on both sides up to a frame's length; `None` for ones.
pub(super) fn padded_window(
    inputs: &mut check::InputCheck,
    window: Option<Tensor<1>>,
    options: &StftOptions,
) -> Result<Option<Tensor<1>>, ArgumentError> {
    let length = options.window_samples();
    let window = match window {
        Some(window) => window,
        None if length == options.n_fft => return Ok(None),
        None => inputs.ones([length]),
    };
    full_window(inputs, window, options).map(Some)
}

/// A window in the type of the input, with zeros on both sides up to a frame's length.
pub(in crate::api) fn full_window(
    inputs: &mut check::InputCheck,
    window: Tensor<1>,
    options: &StftOptions,
) -> Result<Tensor<1>, ArgumentError> {
    let (n_fft, length) = (options.n_fft, options.window_samples());
    let window = inputs.next("window", window, [length])?;
    let before = (n_fft - length) / 2;
    let padding = [(before, n_fft - length - before)];
    Ok(if length == n_fft { window } else { window.pad(padding, 0.0) })
}
