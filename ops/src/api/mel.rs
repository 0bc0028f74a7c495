//! Mel spectra.

use burn::backend::Dispatch;
use burn::backend::ops::FloatTensorOps;
use burn::tensor::{Shape, Tensor};

use super::check;
use super::fft::full_window;
use super::rows::{Leading, SampleKind, shape_of};
use crate::error::{Result, ensure};
use crate::mel_filters::{MelFilter, cached_filters};
use crate::op::inputs;
use crate::options::{Logarithm, MelBands, MelOptions};

/// Power or amplitude of windowed frames in mel bands: [`stft`](crate::fft::stft), squared magnitudes and the product
/// with [`mel_filters`], in one operation.
///
/// - `signal`: `[.., samples]`.
/// - `window`: `[window_length]`, of the options' frames.
/// - returns `[.., bands, frames]`, one dimension more, as torchaudio's `MelSpectrogram`. A band whose filter has no
///   bin is 0.
///
/// Differentiable in the signal and in the window.
///
/// ```
/// use burn::tensor::{Device, FloatDType, Tensor};
/// use firefly_ops::options::MelBands;
/// use firefly_ops::{MelOptions, StftOptions, Window, WindowSymmetry, mel};
///
/// let device = Device::flex();
/// let options = MelOptions::new(StftOptions::new(400).with_hop(160), MelBands::new(16_000.0, 80));
/// let window = Window::Hann.tensor(400, WindowSymmetry::Periodic, FloatDType::F32, &device);
/// let bands: Tensor<3> = mel(Tensor::<2>::ones([2, 16_000], &device), window, &options)?;
/// assert_eq!(bands.dims(), [2, 80, 101]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for options out of range, a signal shorter than a frame or than its padding
/// takes, a window of another length, or frames beyond the limits of the device.
pub fn mel<const D: usize, const E: usize, K: SampleKind>(
    signal: Tensor<D, K>,
    window: Tensor<1>,
    options: &MelOptions,
) -> Result<Tensor<E>> {
    dispatch("mel", signal, window, options, None)
}

/// Logarithm of [`mel`], in the same operation.
///
/// | as in | bands | kind | logarithm |
/// | --- | --- | --- | --- |
/// | librosa `melspectrogram`, `power_to_db(top_db=None)` | defaults, zero padding | power | decibels, floor 10⁻¹⁰ |
/// | torchaudio `MelSpectrogram`, `AmplitudeToDB` | HTK scale, no norm | power | decibels, floor 10⁻¹⁰ |
/// | Whisper | the defaults | power | log₁₀, floor 10⁻¹⁰; its last frame is dropped |
/// | HiFi-GAN | the defaults | amplitude | natural, floor 10⁻⁵ |
///
/// A reference level is subtracted afterwards, and so are limits that depend on the largest value, as `top_db` and
/// Whisper's.
///
/// ```
/// use burn::tensor::{Device, FloatDType, Tensor};
/// use firefly_ops::options::{LogUnit, Logarithm, MelBands};
/// use firefly_ops::{MelOptions, StftOptions, Window, WindowSymmetry, log_mel};
///
/// let device = Device::flex();
/// let options = MelOptions::new(StftOptions::new(400).with_hop(160), MelBands::new(16_000.0, 80));
/// let window = Window::Hann.tensor(400, WindowSymmetry::Periodic, FloatDType::F32, &device);
/// let logarithm = Logarithm::new(LogUnit::Ten);
/// let silence: Tensor<2> = log_mel(Tensor::<1>::zeros([16_000], &device), window, &options, &logarithm)?;
/// assert_eq!(silence.dims(), [80, 101]);
/// assert!((silence.max().into_scalar::<f32>() + 10.0).abs() < 1e-5);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`mel`]; an offset or floor that is not positive.
pub fn log_mel<const D: usize, const E: usize, K: SampleKind>(
    signal: Tensor<D, K>,
    window: Tensor<1>,
    options: &MelOptions,
    logarithm: &Logarithm,
) -> Result<Tensor<E>> {
    logarithm.validate("log_mel")?;
    dispatch("log_mel", signal, window, options, Some(*logarithm))
}

/// Mel filters: per band, the weights of the `n_fft / 2 + 1` bins of a spectrum of `n_fft` samples.
///
/// Values are those of `librosa.filters.mel` (and, with the HTK scale, of `torchaudio.functional.melscale_fbanks`,
/// transposed, for an even `n_fft`). A band that is too narrow to hold a bin has weights of 0.
///
/// ```
/// use firefly_ops::options::{MelBands, MelNorm, MelScale, mel_filters};
///
/// let bands = MelBands::new(8_000.0, 2).with_scale(MelScale::Htk).with_norm(MelNorm::None);
/// let filters = mel_filters(8, &bands)?;
/// assert_eq!(filters.len(), 2);
/// assert_eq!(filters[0].len(), 5);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for an `n_fft` of 0, or bands out of range.
pub fn mel_filters(n_fft: usize, bands: &MelBands) -> Result<Vec<Vec<f64>>> {
    const NAME: &str = "mel_filters";
    ensure(n_fft >= 1, NAME, "n_fft", n_fft, "at least 1")?;
    bands.validate(NAME)?;
    let rows = cached_filters(n_fft, bands);
    let row = |filter: &MelFilter| {
        let mut weights = vec![0.0; n_fft / 2 + 1];
        weights[filter.bins()].copy_from_slice(&filter.weights);
        weights
    };
    Ok(rows.iter().map(row).collect())
}

/// Checks the arguments, and runs the operation on rows.
fn dispatch<const D: usize, const E: usize, K: SampleKind>(
    operation: &'static str,
    signal: Tensor<D, K>,
    window: Tensor<1>,
    options: &MelOptions,
    logarithm: Option<Logarithm>,
) -> Result<Tensor<E>> {
    const { assert!(E == D + 1, "bands have one dimension more than the signal") };
    options.validate(operation)?;
    let (_, samples) = Leading::of(&signal);
    options.stft.validate_signal(operation, samples)?;
    let mut inputs = check::InputCheck::of(operation, "signal", &signal)?;
    let frames = options.stft.frames(samples);
    inputs.mel(&signal, options, frames)?;
    let window = full_window(&mut inputs, window, &options.stft)?;
    let dims = signal.dims();
    let signal = inputs.samples(signal);
    // The window has been padded to a frame.
    let mut rows_options = *options;
    rows_options.stft.window_length = None;
    let inputs = inputs::Mel { signal, window: window.into_dispatch() };
    let [bands] = inputs.apply::<Dispatch>(rows_options, logarithm);
    let shape: [usize; E] = shape_of(&dims[..D - 1], &[options.bands.count, frames]);
    Ok(Tensor::from_dispatch(if D == 2 { bands } else { Dispatch::float_reshape(bands, Shape::from(shape)) }))
}
