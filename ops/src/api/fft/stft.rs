//! Short-time Fourier transforms, and the signals of such transforms.

use std::ops::Range;

use burn::tensor::Tensor;

use super::ComplexTensor;
use super::along::FftCall;
use super::framing::{padded, resized, row_frames, row_overlap_add};
use crate::api::check;
use crate::api::rows::{reshaped, shape_of};
use crate::error::{ArgumentError, Result, ensure};
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
) -> Result<ComplexTensor<E>> {
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
) -> Result<ComplexTensor<E>> {
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
    count: usize,
}

impl<'a, const D: usize> SignalFrames<'a, D> {
    fn new(
        operation: &'static str,
        inputs: &mut check::InputCheck,
        dims: [usize; D],
        window: Option<Tensor<1>>,
        options: &'a StftOptions,
    ) -> Result<Self> {
        let window = padded_window(inputs, window, options)?;
        let samples = dims[D - 1];
        options.validate_signal(operation, samples)?;
        Ok(Self { options, dims, window, count: options.frames(samples) })
    }

    /// The frames of a signal times the window: `[.., samples]` → `[rows, frames, n_fft]`.
    fn windowed(&self, signal: Tensor<D>) -> Tensor<3> {
        let &StftOptions { n_fft, hop, center, pad, .. } = self.options;
        let mut rows = reshaped(signal, [self.dims[..D - 1].iter().product(), self.dims[D - 1]]);
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
        let shape = shape_of(&self.dims[..D - 1], &[self.options.bins(), self.count]);
        spectra.map(|part| reshaped(part.swap_dims(1, 2), shape))
    }
}

pub(super) fn norm(options: &StftOptions) -> Norm {
    if options.normalized { Norm::Ortho } else { Norm::Backward }
}

/// Checks that spectra of a complex signal have both sides.
pub(super) fn validate_two_sided(operation: &'static str, options: &StftOptions) -> Result<()> {
    ensure(!options.onesided, operation, "onesided", true, "false for complex signals")
}

/// The window in the type of the input, with zeros on both sides up to a frame's length; `None` for ones.
pub(super) fn padded_window(
    inputs: &mut check::InputCheck,
    window: Option<Tensor<1>>,
    options: &StftOptions,
) -> Result<Option<Tensor<1>>> {
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
) -> Result<Tensor<1>> {
    let (n_fft, length) = (options.n_fft, options.window_samples());
    let window = inputs.next("window", window, [length])?;
    let before = (n_fft - length) / 2;
    let padding = [(before, n_fft - length - before)];
    Ok(if length == n_fft { window } else { window.pad(padding, 0.0) })
}

/// The least sum of squared windows that [`istft`] divides by, that of `torch.istft`.
const MIN_ENVELOPE: f64 = 1e-11;

/// Inverse of [`stft`](super::stft): the signal of which `spectra` are closest to the short-time transform, by least
/// squares (D. W. Griffin and J. S. Lim, "Signal estimation from modified short-time Fourier transform", 1984), in the
/// conventions of `torch.istft`.
///
/// - `spectra`: `[.., bins, frames]`.
/// - `window`, `options`: those of [`stft`](super::stft).
/// - `length`: samples per row; all of them if `None`, without the ends of a centred signal. Samples past the last
///   frame are 0.
///
/// ```
/// use burn::tensor::{Device, Distribution, FloatDType, Tensor};
/// use firefly_ops::fft::{istft, stft};
/// use firefly_ops::{StftOptions, Window, WindowSymmetry};
///
/// let device = Device::flex();
/// let window = Window::Hann.tensor(64, WindowSymmetry::Periodic, FloatDType::F32, &device);
/// let options = StftOptions::new(64);
/// let signal = Tensor::<1>::random([500], Distribution::Default, &device);
/// let spectra = stft::<1, 2>(signal.clone(), Some(window.clone()), &options)?;
/// let again: Tensor<1> = istft(spectra, Some(window), &options, Some(500))?;
/// assert!((again - signal).abs().max().into_scalar::<f32>() < 1e-5);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for options out of range, another number of bins, no frames, parts of different shapes, or a window
/// whose squares, added up at each hop, are 0 at some sample (the nonzero overlap add constraint).
pub fn istft<const E: usize, const D: usize>(
    spectra: ComplexTensor<E>,
    window: Option<Tensor<1>>,
    options: &StftOptions,
    length: Option<usize>,
) -> Result<Tensor<D>> {
    const { assert!(E == D + 1, "spectra have one dimension more than the signal") };
    const NAME: &str = "istft";
    let sum = FrameSum::new(NAME, &spectra, window, options, length)?;
    let half = options.n_fft / 2 + 1;
    let lower = |part: Tensor<3>| if options.onesided { part } else { part.narrow(2, 0, half) };
    let spectra = spectra.map(|part| lower(sum.spectra(part)));
    let call = FftCall { operation: NAME, forward: false, norm: norm(options) };
    Ok(sum.signal(call.inverse_real(spectra, Some(options.n_fft), 2)?))
}

/// Inverse of [`stft_complex`](super::stft_complex), as [`istft`] is of [`stft`](super::stft).
///
/// - `spectra`: `[.., n_fft, frames]`.
/// - `window`, `options`, `length`: as for [`istft`], with spectra that are not one-sided.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::StftOptions;
/// use firefly_ops::fft::{ComplexTensor, istft_complex};
///
/// // Bin 1 alone, in two frames of 4 samples that do not overlap: the signal turns by a quarter per sample.
/// let re = Tensor::<2>::from_floats([[0.0, 0.0], [4.0, 4.0], [0.0, 0.0], [0.0, 0.0]], &Device::flex());
/// let options = StftOptions::new(4).with_hop(4).with_center(false).with_onesided(false);
/// let signal: ComplexTensor<1> = istft_complex(ComplexTensor::from(re), None, &options, None)?;
/// let re: Vec<f32> = signal.re.into_data().iter().collect();
/// assert!(re.iter().zip([1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0]).all(|(got, expected)| (got - expected).abs() < 1e-6));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`istft`], and [`ArgumentError`] for one-sided spectra.
pub fn istft_complex<const E: usize, const D: usize>(
    spectra: ComplexTensor<E>,
    window: Option<Tensor<1>>,
    options: &StftOptions,
    length: Option<usize>,
) -> Result<ComplexTensor<D>> {
    const { assert!(E == D + 1, "spectra have one dimension more than the signal") };
    const NAME: &str = "istft_complex";
    validate_two_sided(NAME, options)?;
    let sum = FrameSum::new(NAME, &spectra, window, options, length)?;
    let call = FftCall { operation: NAME, forward: false, norm: norm(options) };
    let frames = call.complex(spectra.map(|part| sum.spectra(part)), None, 2)?;
    Ok(frames.map(|part| sum.signal(part)))
}

/// Sum of frames that makes a signal of them.
struct FrameSum<'a, const E: usize> {
    options: &'a StftOptions,
    dims: [usize; E],
    window: Option<Tensor<1>>,
    /// Samples of the sum that are of the signal.
    kept: Range<usize>,
    length: usize,
}

impl<'a, const E: usize> FrameSum<'a, E> {
    fn new(
        operation: &'static str,
        spectra: &ComplexTensor<E>,
        window: Option<Tensor<1>>,
        options: &'a StftOptions,
        length: Option<usize>,
    ) -> Result<Self> {
        options.validate(operation)?;
        let (n_fft, hop, dims) = (options.n_fft, options.hop, spectra.dims());
        let [bins, count] = [dims[E - 2], dims[E - 1]];
        let expected = format_args!("{} bins and at least 1 frame in the last two dimensions", options.bins());
        ensure(bins == options.bins() && count >= 1, operation, "spectra", format_args!("{dims:?}"), expected)?;
        let mut inputs = check::InputCheck::of(operation, "spectra.re", &spectra.re)?;
        let im = spectra.im.dims();
        ensure(im == dims, operation, "spectra.im", format_args!("{im:?}"), format_args!("{dims:?}"))?;
        let window = padded_window(&mut inputs, window, options)?;

        let start = options.padding();
        let total = (count - 1).checked_mul(hop).and_then(|rest| rest.checked_add(n_fft));
        let too_long = || ArgumentError::new(operation, "hop", hop, "small enough for samples to be counted");
        let total = total.ok_or_else(too_long)?;
        let length = length.unwrap_or(total.saturating_sub(2 * start));
        let kept = start..start + length.min(total - start);
        let expected = "at least 1 sample: one frame that is centred has none without a length if n_fft is even";
        ensure(!kept.is_empty(), operation, "length", length, expected)?;
        // Samples between frames that do not touch are in no frame.
        let is_covered = count == 1 || hop <= n_fft || kept.end <= n_fft;
        let expected = format_args!("at most n_fft, {n_fft}, where there are several frames");
        ensure(is_covered, operation, "hop", hop, expected)?;
        check_envelope(operation, window.as_ref(), options, count, kept.clone())?;
        Ok(Self { options, dims, window, kept, length })
    }

    /// A spectrum per row: `[.., bins, frames]` → `[rows, frames, bins]`.
    fn spectra(&self, part: Tensor<E>) -> Tensor<3> {
        let [bins, count] = [self.dims[E - 2], self.dims[E - 1]];
        reshaped(part, [self.dims[..E - 2].iter().product(), bins, count]).swap_dims(1, 2)
    }

    /// The sum of windowed frames over that of squared windows: `[rows, frames, n_fft]` → `[.., samples]`.
    fn signal<const D: usize>(&self, frames: Tensor<3>) -> Tensor<D> {
        let (n_fft, hop, count) = (self.options.n_fft, self.options.hop, self.dims[E - 1]);
        let ones = || Tensor::ones([n_fft], (&frames.device(), frames.dtype()));
        let window = self.window.clone().unwrap_or_else(ones).reshape([1, 1, n_fft]);
        let frames = frames * window.clone();
        let envelope = row_overlap_add(window.square().expand([1, count, n_fft]), hop);
        let kept = |samples: Tensor<2>| samples.narrow(1, self.kept.start, self.kept.len());
        let signal = resized(kept(row_overlap_add(frames, hop)) / kept(envelope), self.length);
        reshaped(signal, shape_of(&self.dims[..E - 2], &[self.length]))
    }
}

/// Checks that the squared windows add up to more than nothing at each of `samples`.
///
/// A window whose values are not there yet, in a graph that is being captured, is not checked.
fn check_envelope(
    operation: &'static str,
    window: Option<&Tensor<1>>,
    options: &StftOptions,
    count: usize,
    samples: Range<usize>,
) -> Result<()> {
    let window: Vec<f64> = match window.map(|window| window.clone().try_into_vec_as()) {
        Some(Ok(window)) => window,
        Some(Err(_)) => return Ok(()),
        None => vec![1.0; options.n_fft],
    };
    let mut envelope = vec![0.0; samples.end];
    for start in (0..count).map(|frame| frame * options.hop).take_while(|start| *start < samples.end) {
        for (sum, value) in envelope[start..].iter_mut().zip(&window) {
            *sum += value * value;
        }
    }
    let least = envelope[samples].iter().copied().fold(f64::INFINITY, f64::min);
    let got = format_args!("one whose squares add up to {least:e} at some sample");
    ensure(least > MIN_ENVELOPE, operation, "window", got, "one whose squares, added up at each hop, are nowhere 0")
}
