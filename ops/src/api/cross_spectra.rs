//! Cross spectra, coherence and transfer functions of two signals or of all channels, by Welch's method, as in SciPy.
//!
//! Signals are real, `[.., frame]` or `[.., channels, frame]`; windows are `[n_fft]`. Results are differentiable in
//! both. All are compositions of Burn's operations and [`rfft`](crate::fft::rfft): each segment's spectrum is in memory
//! once, and those of pairs are matrix products per bin. Errors are [`ArgumentError`](crate::ArgumentError)s for
//! options out of range, a frame that is too short, inputs of other shapes or on other devices, and, but for [`csd`],
//! another average than the mean.
//!
//! ```
//! use burn::tensor::{Device, Distribution, Tensor};
//! use firefly_ops::cross_spectra::*;
//! use firefly_ops::{Band, WelchOptions};
//!
//! // Three channels of noise, and one with three times the second.
//! let (options, device) = (WelchOptions::new(64, 40), Device::flex());
//! let noise = Tensor::<2>::random([3, options.frame()], Distribution::Normal(0.0, 1.0), &device);
//! let channels = Tensor::cat(vec![noise.clone(), noise.clone().narrow(0, 1, 1) * 3.0], 0);
//! let (x, y) = (channels.clone().narrow(0, 1, 1), channels.clone().narrow(0, 3, 1));
//! let window = || Tensor::<1>::ones([64], &device);
//!
//! assert_eq!(csd(x.clone(), y.clone(), window(), &options)?.dims(), [1, 33]);
//! let response = transfer_function(x.clone(), y.clone(), window(), &options, TransferEstimator::H1)?;
//! assert!((response.abs() - 3.0).abs().max().into_scalar::<f32>() < 1e-4);
//! assert!(coherence(x, y, window(), &options)?.min().into_scalar::<f32>() > 0.999);
//!
//! assert_eq!(csd_matrix::<2, 3>(channels.clone(), window(), &options)?.dims(), [4, 4, 33]);
//! assert_eq!(coherence_matrix::<2, 3>(channels.clone(), window(), &options)?.dims(), [4, 4, 33]);
//! let best = most_coherent_pairs::<2, 1>(channels, window(), &options.with_band(Some(Band::new(1..32))), 1, true)?;
//! assert_eq!([best.first, best.second].map(|channel| channel.into_scalar::<i64>()), [1, 3]);
//! # Ok::<(), firefly_ops::ArgumentError>(())
//! ```

use std::ops::Range;

use burn::backend::Dispatch;
use burn::backend::ops::IntTensorOps;
use burn::tensor::{Bool, Int, Shape, Tensor, TensorData};

use super::check::{self, InputCheck};
use super::fft::ComplexTensor;
use super::peaks::top_k;
use super::rows::reshaped;
use super::segments::{averaged, one_sided, scale, spectra};
use crate::error::{Result, ensure};
use crate::op::inputs;
use crate::options::{MAX_TOP_K_LENGTH, WelchOptions};

/// Values of a strip of the matrix of all pairs, over all bins, that [`most_coherent_pairs`] computes at a time.
const STRIP_VALUES: usize = 1 << 21;

/// Cross spectral density of the rows of two signals of one shape, as `scipy.signal.csd`: conj(X) Y averaged over
/// segments, interior bins doubled; `[.., bins]`, in the product of both units (per hertz with density scaling). A
/// median is that of real and of imaginary parts.
pub fn csd<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<ComplexTensor<D>> {
    let (shape, [x, y], window) = pair("csd", [x, y], window, options)?;
    let scale = one_sided(options.n_fft, &window) * scale(&window, options.scaling);
    let cross = x.conj() * y;
    let [re, im] = [cross.re, cross.im].map(|part| averaged(part, options.average));
    Ok(ComplexTensor { re: re?, im: im? }.map(|part| reshaped(part * scale.clone(), shape)))
}

/// Magnitude-squared coherence of the rows of two signals, as `scipy.signal.coherence`: |Pxy|² / (Pxx Pyy), from 0 to
/// 1, `[.., bins]`. One segment is always coherent; independent noise has 1/S in the mean over S segments. Where a
/// signal has no power the result is NaN, as is its gradient.
pub fn coherence<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<Tensor<D>> {
    options.validate_mean("coherence", "mean")?;
    let (shape, [x, y], _) = pair("coherence", [x, y], window, options)?;
    // A product of two powers may leave the range of f32, that of two amplitudes does not.
    let [of_x, of_y] = [&x, &y].map(|spectra| mean_power(spectra).sqrt());
    let cross = (x.conj() * y).map(|part| part.mean_dim(1) / of_x.clone() / of_y.clone());
    Ok(reshaped(cross.abs_squared(), shape))
}

/// Estimator of the transfer function of a linear system from its input x and its output y.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransferEstimator {
    /// Pxy / Pxx: unbiased by noise in the output.
    #[default]
    H1,
    /// Pyy / Pyx: unbiased by noise in the input.
    H2,
}

/// Transfer function (frequency response) from the rows of `x` to those of `y`, after J. S. Bendat and A. G. Piersol,
/// "Random data" (2010): `[.., bins]`, in the unit of `y` over that of `x`; NaN where the denominator is 0.
pub fn transfer_function<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    window: Tensor<1>,
    options: &WelchOptions,
    estimator: TransferEstimator,
) -> Result<ComplexTensor<D>> {
    options.validate_mean("transfer_function", "mean")?;
    let (shape, [x, y], _) = pair("transfer_function", [x, y], window, options)?;
    let power = mean_power(if estimator == TransferEstimator::H1 { &x } else { &y });
    let ratio = (x.conj() * y).map(|part| part.mean_dim(1) / power.clone());
    let squared = ratio.clone().abs_squared();
    // Of q = Pxy / Pyy, H2 is 1 / conj(q).
    Ok(ratio.map(|part| match estimator {
        TransferEstimator::H1 => reshaped(part, shape),
        TransferEstimator::H2 => reshaped(part / squared.clone(), shape),
    }))
}

/// Cross spectral densities of all pairs of channels, `[.., channels, channels, bins]`: conj(Xᵢ) Xⱼ in row i and column
/// j, scaled as [`csd`].
pub fn csd_matrix<const D: usize, const E: usize>(
    signal: Tensor<D>,
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<ComplexTensor<E>> {
    let (channels, window) = ChannelSpectra::new("csd_matrix", signal, window, options)?;
    let scale = one_sided(options.n_fft, &window) * scale(&window, options.scaling) / options.averaged() as f64;
    let scale = scale.reshape([1, 1, 1, options.bins()]);
    Ok(channels.products(0..channels.count).map(|part| channels.matrix(part * scale.clone())))
}

/// [`coherence`] of all pairs of channels, `[.., channels, channels, bins]`.
pub fn coherence_matrix<const D: usize, const E: usize>(
    signal: Tensor<D>,
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<Tensor<E>> {
    let channels = ChannelSpectra::new("coherence_matrix", signal, window, options)?.0.normalised(f64::NAN);
    Ok(channels.matrix(channels.products(0..channels.count).abs_squared()))
}

/// The most coherent pairs of channels, each field `[.., k]`: strongest first, of equal ones the first in the order of
/// channels.
#[derive(Debug, Clone)]
pub struct CoherentPairs<const E: usize> {
    /// The lower channel of each pair.
    pub first: Tensor<E, Int>,
    /// The higher channel.
    pub second: Tensor<E, Int>,
    /// The bin of the band at which the pair is most coherent.
    pub bin: Tensor<E, Int>,
    /// The coherence at that bin, or the mean of the band.
    pub coherence: Tensor<E>,
}

/// The `k` pairs of channels of the greatest [`coherence`] in the [band](WelchOptions::with_band) of the options: at a
/// bin of it, or in the mean of its bins. A bin without power of a channel counts as 0.
///
/// The matrix of all pairs is computed in strips of some channels with all, of about 2 million values: memory grows
/// with the number of channels, not of pairs.
///
/// # Errors
/// As [the module](self) has them, and for a `k` that is not from 1 to the number of pairs.
pub fn most_coherent_pairs<const D: usize, const E: usize>(
    signal: Tensor<D>,
    window: Tensor<1>,
    options: &WelchOptions,
    k: usize,
    by_mean: bool,
) -> Result<CoherentPairs<E>> {
    const { assert!(D == E + 1, "channels and samples become pairs") };
    const NAME: &str = "most_coherent_pairs";
    let channels = ChannelSpectra::new(NAME, signal, window, options)?.0.normalised(1.0);
    let (count, batch, band) = (channels.count, channels.batch, options.searched());
    let most = (count * (count - 1) / 2).min(MAX_TOP_K_LENGTH.saturating_sub(count));
    ensure((1..=most).contains(&k), NAME, "k", k, format_args!("from 1 to the number of pairs, {most}"))?;
    let rows = STRIP_VALUES / (count * band.len() * batch.max(1));
    let rows = rows.min((MAX_TOP_K_LENGTH - k) / count).clamp(1, count);
    let spectra = channels.spectra.map(|part| part.narrow(3, band.start, band.len()));
    let channels = ChannelSpectra { spectra, ..channels };
    // The pairs so far as numbers (the first channel times all, plus the second), their bins and values.
    let mut best: Option<(Tensor<2, Int>, Tensor<2, Int>, Tensor<2>)> = None;
    for strip in (0..count - 1).step_by(rows).map(|first| first..(first + rows).min(count)) {
        let coherence = channels.products(strip.clone()).abs_squared();
        let (device, undefined) = (coherence.device(), coherence.clone().is_nan());
        let coherence = coherence.mask_fill(undefined, 0.0);
        let numbers = strip.start * count..strip.end * count;
        let size = [batch, numbers.len()];
        let pair = Tensor::<1, Int>::arange(numbers.start as i64..numbers.end as i64, &device).unsqueeze::<2>();
        // A channel with itself or a lower one is below every pair.
        let pairs = (0..batch).flat_map(|_| numbers.clone());
        let lower: Vec<bool> = pairs.map(|pair| pair % count <= pair / count).collect();
        let lower = Tensor::<2, Bool>::from_data(TensorData::new(lower, size), &device);
        let bin = coherence.clone().argmax(3).reshape(size) + band.start as i64;
        let values = if by_mean { coherence.mean_dim(3) } else { coherence.max_dim(3) };
        let found = (pair.expand(Shape::from(size)), bin, values.reshape(size).mask_fill(lower, -1.0));
        let (pair, bin, values) = match best.take() {
            Some(best) => (
                Tensor::cat(vec![best.0, found.0], 1),
                Tensor::cat(vec![best.1, found.1], 1),
                Tensor::cat(vec![best.2, found.2], 1),
            ),
            None => found,
        };
        let found = top_k(values.clone(), k.min(values.dims()[1]))?;
        best = Some((pair.gather(1, found.bins.clone()), bin.gather(1, found.bins), found.power));
    }
    let (pair, bin, coherence) = best.expect("a pair has a first channel");
    let mut shape = [k; E];
    shape[..E - 1].copy_from_slice(&channels.shape[..E - 1]);
    let [pair, bin] = [pair, bin]
        .map(|of_rows| Tensor::from_dispatch(Dispatch::int_reshape(of_rows.into_dispatch(), Shape::from(shape))));
    let first = pair.clone() / count as i64;
    let second = pair - first.clone() * count as i64;
    Ok(CoherentPairs { first, second, bin, coherence: reshaped(coherence, shape) })
}

/// Power, the mean over segments, `[rows, 1, bins]`.
fn mean_power(spectra: &ComplexTensor<3>) -> Tensor<3> {
    spectra.clone().abs_squared().mean_dim(1)
}

/// The shape of a result, spectra of the segments of both signals, `[rows, segments, bins]`, and the window.
#[allow(clippy::type_complexity, reason = "three results of one check")]
fn pair<const D: usize>(
    operation: &'static str,
    [x, y]: [Tensor<D>; 2],
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<([usize; D], [ComplexTensor<3>; 2], Tensor<1>)> {
    check::signal(operation, "x", &x, options)?;
    let mut shape = x.dims();
    let mut inputs = InputCheck::of(operation, "x", &x)?;
    let y = inputs.next("y", y, shape)?;
    let window = inputs.next("window", window, [options.n_fft])?;
    let rows = [shape[..D - 1].iter().product(), shape[D - 1]];
    let [x, y] = [inputs.first(x), y].map(|signal| spectra(reshaped(signal, rows), &window, options));
    shape[D - 1] = options.bins();
    Ok((shape, [x?, y?], window))
}

/// Spectra of the segments of channels, `[batch, channels, segments, bins]`.
struct ChannelSpectra<const D: usize> {
    spectra: ComplexTensor<4>,
    shape: [usize; D],
    batch: usize,
    /// Number of channels.
    count: usize,
}

impl<const D: usize> ChannelSpectra<D> {
    /// The spectra, and the window.
    fn new(
        operation: &'static str,
        signal: Tensor<D>,
        window: Tensor<1>,
        options: &WelchOptions,
    ) -> Result<(Self, Tensor<1>)> {
        const { assert!(D >= 2, "channels are a dimension") };
        options.validate_mean(operation, "mean")?;
        check::signal(operation, "signal", &signal, options)?;
        let shape = signal.dims();
        let (batch, count) = (shape[..D - 2].iter().product(), shape[D - 2]);
        ensure(count >= 1, operation, "signal", format_args!("{shape:?}"), "of at least 1 channel")?;
        let mut inputs = InputCheck::of(operation, "signal", &signal)?;
        let window = inputs.next("window", window, [options.n_fft])?;
        let rows = reshaped(inputs.first(signal), [batch * count, shape[D - 1]]);
        let spectra = spectra(rows, &window, options)?;
        let size = [batch, count, options.averaged(), options.bins()];
        Ok((Self { spectra: spectra.map(|part| part.reshape(size)), shape, batch, count }, window))
    }

    /// Spectra with a power of 1: products are coherent parts. A power of 0 is replaced by `instead_of_0`.
    fn normalised(self, instead_of_0: f64) -> Self {
        let power = self.spectra.clone().abs_squared().sum_dim(2);
        let amplitude = power.clone().mask_fill(power.equal_elem(0.0), instead_of_0).sqrt();
        Self { spectra: self.spectra.map(|part| part / amplitude.clone()), ..self }
    }

    /// conj(Xᵢ) Xⱼ of some channels i and all j, summed over segments: `[batch, rows, channels, bins]`.
    fn products(&self, rows: Range<usize>) -> ComplexTensor<4> {
        let is_hermitian = rows.len() == self.count;
        let ComplexTensor { re, im } = self.spectra.clone();
        let first = self.spectra.clone().map(|part| part.narrow(1, rows.start, rows.len()));
        let [first_re, first_im, second_re, second_im] = [first.re, first.im, re, im].map(Tensor::into_dispatch);
        let inputs = inputs::CrossSpectra { first_re, first_im, second_re, second_im };
        let [re, im] = inputs.apply::<Dispatch>(is_hermitian).map(Tensor::from_dispatch);
        ComplexTensor { re, im }
    }

    /// `[batch, channels, channels, bins]` as `[.., channels, channels, bins]`.
    fn matrix<const E: usize>(&self, values: Tensor<4>) -> Tensor<E> {
        const { assert!(E == D + 1, "matrices have one dimension more than the signal") };
        let mut shape = [0; E];
        shape[..D - 2].copy_from_slice(&self.shape[..D - 2]);
        shape[D - 2..].copy_from_slice(&[self.count, self.count, values.dims()[3]]);
        reshaped(values, shape)
    }
}
