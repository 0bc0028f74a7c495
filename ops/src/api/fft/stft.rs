//! Short-time Fourier transforms.

use burn::tensor::Tensor;

use super::ComplexTensor;
use super::along::FftCall;
use super::framing::{padded, resized, row_frames, row_overlap_add};
use crate::api::check;
use crate::error::{ArgumentError, ensure};
use crate::options::{Norm, StftOptions};

/// The least sum of squared windows that [`istft`] divides by, that of `torch.istft`.
const MIN_ENVELOPE: f64 = 1e-11;

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
/// [`ArgumentError`] for options out of range, a signal shorter than a frame, or than half of one where its ends are
/// reflected, or a window of another length.
pub fn stft<const D: usize, const E: usize>(
    signal: Tensor<D>,
    window: Option<Tensor<1>>,
    options: &StftOptions,
) -> Result<ComplexTensor<E>, ArgumentError> {
    const { assert!(E == D + 1, "spectra have one dimension more than the signal") };
    const NAME: &str = "stft";
    options.validate(NAME)?;
    let mut inputs = check::InputCheck::of(NAME, "signal", &signal)?;
    let window = padded_window(&mut inputs, window, options)?;
    let dims = signal.dims();
    let (rows, samples, n_fft) = (dims[..D - 1].iter().product(), dims[D - 1], options.n_fft);
    let mut signal = inputs.first(signal).reshape([rows, samples]);
    options.validate_signal(NAME, samples)?;
    if options.center {
        signal = padded(signal, options.padding(), options.pad);
    }
    let count = options.frames(samples);
    let mut frames = row_frames(signal, n_fft, options.hop, count);
    if let Some(window) = window {
        frames = frames * window.reshape([1, 1, n_fft]);
    }
    let call = FftCall { operation: NAME, forward: true, norm: norm(options) };
    let spectra = if options.onesided { call.real(frames, None, 2)? } else { call.complex(frames.into(), None, 2)? };
    let mut shape = [0; E];
    shape[..D - 1].copy_from_slice(&dims[..D - 1]);
    shape[E - 2..].copy_from_slice(&[options.bins(), count]);
    Ok(spectra.map(|part| part.swap_dims(1, 2).reshape(shape)))
}

/// Inverse of [`stft`]: the signal of which `spectra` are closest to the short-time transform, by least squares (D. W.
/// Griffin and J. S. Lim, "Signal estimation from modified short-time Fourier transform", 1984), in the conventions of
/// `torch.istft`.
///
/// - `spectra`: `[.., bins, frames]`.
/// - `window`, `options`: those of [`stft`].
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
/// [`ArgumentError`] for options out of range, another number of bins, no frames, or a window whose squares, added up at
/// each hop, are 0 at some sample (the nonzero overlap add constraint).
pub fn istft<const E: usize, const D: usize>(
    spectra: ComplexTensor<E>,
    window: Option<Tensor<1>>,
    options: &StftOptions,
    length: Option<usize>,
) -> Result<Tensor<D>, ArgumentError> {
    const { assert!(E == D + 1, "spectra have one dimension more than the signal") };
    const NAME: &str = "istft";
    options.validate(NAME)?;
    let (n_fft, hop, dims) = (options.n_fft, options.hop, spectra.dims());
    let [bins, count] = [dims[E - 2], dims[E - 1]];
    let expected = format_args!("{} bins and at least 1 frame in the last two dimensions", options.bins());
    ensure(bins == options.bins() && count >= 1, NAME, "spectra", format_args!("{dims:?}"), expected)?;
    let mut inputs = check::InputCheck::of(NAME, "spectra.re", &spectra.re)?;
    let window = padded_window(&mut inputs, window, options)?;

    let start = if options.center { n_fft / 2 } else { 0 };
    let total = (count - 1).checked_mul(hop).and_then(|rest| rest.checked_add(n_fft));
    let total = total.ok_or_else(|| ArgumentError::new(NAME, "hop", hop, "small enough for samples to be counted"))?;
    let available = total.saturating_sub(2 * start);
    let length = length.unwrap_or(available);
    let kept = length.min(total - start);
    // Samples between frames that do not touch are in no frame.
    let is_covered = count == 1 || hop <= n_fft || start + kept <= n_fft;
    ensure(is_covered, NAME, "hop", hop, format_args!("at most n_fft, {n_fft}, where there are several frames"))?;
    check_envelope(window.as_ref(), options, count, start..start + kept)?;

    let rows = dims[..E - 2].iter().product();
    let rows_of = |part: Tensor<E>| part.reshape([rows, bins, count]).swap_dims(1, 2);
    let half = n_fft / 2 + 1;
    let spectra = spectra.map(rows_of).map(|part| if options.onesided { part } else { part.narrow(2, 0, half) });
    let call = FftCall { operation: NAME, forward: false, norm: norm(options) };
    let mut frames = call.inverse_real(spectra, Some(n_fft), 2)?;
    let window = window.unwrap_or_else(|| Tensor::ones([n_fft], (&frames.device(), frames.dtype())));
    let window = window.reshape([1, 1, n_fft]);
    frames = frames * window.clone();
    let envelope = row_overlap_add(window.square().expand([1, count, n_fft]), hop);
    let kept_of = |samples: Tensor<2>| samples.narrow(1, start, kept);
    let signal = resized(kept_of(row_overlap_add(frames, hop)) / kept_of(envelope), length);
    let mut shape = [0; D];
    shape[..D - 1].copy_from_slice(&dims[..E - 2]);
    shape[D - 1] = length;
    Ok(signal.reshape(shape))
}

fn norm(options: &StftOptions) -> Norm {
    if options.normalized { Norm::Ortho } else { Norm::Backward }
}

/// The window in the type of the input, with zeros on both sides up to a frame's length; `None` for ones.
fn padded_window(
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

/// Checks that the squared windows add up to more than nothing at each of `samples`.
///
/// A window whose values are not there yet, in a graph that is being captured, is not checked.
fn check_envelope(
    window: Option<&Tensor<1>>,
    options: &StftOptions,
    count: usize,
    samples: std::ops::Range<usize>,
) -> Result<(), ArgumentError> {
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
    ensure(least > MIN_ENVELOPE, "istft", "window", got, "one whose squares, added up at each hop, are nowhere 0")
}
