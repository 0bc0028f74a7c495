//! The operations of [`apply`](crate::batch::apply): the arguments of each, a tuple, and what it computes of a block.

use burn::tensor::{DType, Tensor};
use firefly_ops::cross_spectra::{self, TransferEstimator};
use firefly_ops::fft::{self, ComplexTensor};
use firefly_ops::multitaper::{MultitaperOptions, multitaper};
use firefly_ops::options::ConvolveMode;
use firefly_ops::resampling::resample;
use firefly_ops::{ArgumentError, Band, Detrend, Norm, Scaling, StftOptions, WelchOptions, audio, log_mel, mel, trend};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::batch::{Blocks, Values, Work};
use crate::device::{upload, vector};
use crate::error::value_error;
use crate::kernels::{MAX_TAPS, convolve, polyphase};
use crate::mel::{BandArguments, FrameArguments};

/// Window, samples between segments, segments, sample rate of a density, and trend of an estimate by segments.
type Segmented = (Vec<f64>, usize, usize, Option<f64>, usize);
/// Frames, window, iterations, momentum, seed and length of a signal that is reconstructed.
type Reconstructed = (FrameArguments, Vec<f64>, usize, f64, Option<u64>, Option<usize>);

/// The operation of a name, and how rows are divided into blocks for it.
///
/// # Errors
/// `TypeError` and `OverflowError` for arguments of other types, `ValueError` for a name that is none.
pub fn operation(name: &str, arguments: &Bound<'_, PyTuple>) -> PyResult<(Blocks, Work)> {
    let mut blocks = Blocks::Cached;
    let work = match name {
        "fft" => {
            let (n, inverse, norm): (_, bool, String) = arguments.extract()?;
            let (norm, transform) = (norm_of(&norm)?, if inverse { fft::ifft_with::<2> } else { fft::fft_with::<2> });
            of_complex(move |x| transform(x, Some(n), -1, norm))
        }
        "rfft" => {
            let (n, norm): (_, String) = arguments.extract()?;
            let norm = norm_of(&norm)?;
            of_real(move |x| fft::rfft_with(x, Some(n), -1, norm))
        }
        "irfft" => {
            let (n, norm): (_, String) = arguments.extract()?;
            let norm = norm_of(&norm)?;
            of_complex(move |x| fft::irfft_with(x, Some(n), -1, norm))
        }
        "trigonometric" => {
            let (kind, sines, norm): (usize, bool, String) = arguments.extract()?;
            let norm = norm_of(&norm)?;
            blocks = if kind == 1 { Blocks::Tabled } else { Blocks::Whole };
            of_real(move |x| if sines { fft::dst_with(x, kind, -1, norm) } else { fft::dct_with(x, kind, -1, norm) })
        }
        "hilbert" => {
            let (n,) = arguments.extract()?;
            of_real(move |x| fft::hilbert(x, Some(n), -1))
        }
        "real_cepstrum" => {
            let (n,) = arguments.extract()?;
            of_real(move |x| fft::real_cepstrum(x, Some(n), -1))
        }
        "minimum_phase" => of_real(|x| fft::minimum_phase(x, -1)),
        "detrend" => {
            let (trend,) = arguments.extract()?;
            of_real(move |x| trend::detrend(x, trend_of(trend)))
        }
        "envelope" => envelope(arguments)?,
        "resample" => {
            let (weights, num): (Option<Vec<f64>>, usize) = arguments.extract()?;
            of_real(move |x| match &weights {
                Some(weights) => fft::irfft(weighted(fft::rfft(x)?, 0, weights), num),
                None => resample(x, num, -1),
            })
        }
        "resample_poly" => {
            let (taps, rates, num, outside): (Vec<f64>, _, _, f64) = arguments.extract()?;
            of_real(move |x| match x.dtype() {
                DType::F64 => Ok(polyphase(x, &taps, rates, num, outside)),
                _ => Ok(polyphase(x, &taps, rates, num, outside as f32)),
            })
        }
        "czt" => {
            let (m, w, a) = arguments.extract()?;
            blocks = Blocks::Tabled;
            of_complex(move |x| fft::czt(x, Some(m), w, a, -1))
        }
        "zoom_fft" => {
            let (band, m, rate, endpoint) = arguments.extract()?;
            blocks = Blocks::Tabled;
            of_complex(move |x| fft::zoom_fft(x, band, Some(m), rate, endpoint, -1))
        }
        "convolve" => {
            let (taps,): (Vec<f64>,) = arguments.extract()?;
            of_real(move |x| {
                if taps.len() <= MAX_TAPS {
                    let convolve = if x.dtype() == DType::F64 { convolve::<f64> } else { convolve::<f32> };
                    return Ok(convolve(x, &taps));
                }
                let kernel = constant(&taps, &x).unsqueeze::<2>();
                fft::fft_convolve(x, kernel, ConvolveMode::Valid)
            })
        }
        "convolve_rows" => of_pair(|x, kernel| fft::fft_convolve(x, kernel, ConvolveMode::Valid)),
        "cross" => cross(arguments)?,
        "channels" => channels(arguments)?,
        "multitaper" => {
            blocks = Blocks::Tabled;
            multitaper_estimate(arguments)?
        }
        "mel" => {
            let (window, frames, bands): (Vec<f64>, FrameArguments, BandArguments) = arguments.extract()?;
            let (options, logarithm) = (frames.options(window.len(), bands.bands())?, frames.logarithm()?);
            blocks = Blocks::Whole;
            of_real(move |x| {
                let window = constant(&window, &x);
                match &logarithm {
                    None => mel::<2, 3, _>(x, window, &options),
                    Some(logarithm) => log_mel::<2, 3, _>(x, window, &options, logarithm),
                }
            })
        }
        "inverse_mel" => {
            let (n_fft, count, bands): (usize, usize, BandArguments) = arguments.extract()?;
            let bands = bands.bands();
            blocks = Blocks::Tabled;
            of_real(move |x| audio::inverse_mel(per_frame(x, count), n_fft, &bands))
        }
        "griffin_lim" => {
            let (frames, window, steps, momentum, seed, length): Reconstructed = arguments.extract()?;
            let options = frames.stft(window.len())?;
            blocks = Blocks::Single;
            of_real(move |x| {
                let (window, magnitude) = (Some(constant(&window, &x)), per_frame(x, options.bins()));
                audio::griffin_lim::<3, 2>(magnitude, window, &options, steps, momentum, seed, length)
            })
        }
        "feature" => feature(arguments)?,
        "stft_loss" => {
            let (resolutions,): (Vec<[usize; 3]>,) = arguments.extract()?;
            let options =
                |[n_fft, hop, length]: [usize; 3]| StftOptions::new(n_fft).with_hop(hop).with_window_length(length);
            let resolutions: Vec<_> = resolutions.into_iter().map(options).collect();
            of_pair(move |x, y| Ok(audio::multi_resolution_stft_loss(x, y, Some(&resolutions))?.unsqueeze::<2>()))
        }
        other => return Err(PyValueError::new_err(format!("no operation has the name {other:?}"))),
    };
    Ok((blocks, work))
}

/// The norm of a name.
///
/// # Errors
/// `ValueError` for another name.
fn norm_of(name: &str) -> PyResult<Norm> {
    match name {
        "backward" => Ok(Norm::Backward),
        "ortho" => Ok(Norm::Ortho),
        "forward" => Ok(Norm::Forward),
        other => {
            let text = format!("norm is {other:?}, but must be 'backward', 'ortho' or 'forward'");
            Err(PyValueError::new_err(text))
        }
    }
}

fn of_real<V: Into<Values>>(work: impl Fn(Tensor<2>) -> Result<V, ArgumentError> + Send + Sync + 'static) -> Work {
    Box::new(move |mut inputs| Ok(vec![work(inputs.remove(0).re)?.into()]))
}

fn of_complex<V: Into<Values>>(
    work: impl Fn(ComplexTensor<2>) -> Result<V, ArgumentError> + Send + Sync + 'static,
) -> Work {
    Box::new(move |mut inputs| Ok(vec![work(inputs.remove(0).complex())?.into()]))
}

fn of_pair<V: Into<Values>>(
    work: impl Fn(Tensor<2>, Tensor<2>) -> Result<V, ArgumentError> + Send + Sync + 'static,
) -> Work {
    Box::new(move |mut inputs| {
        let second = inputs.remove(1).re;
        Ok(vec![work(inputs.remove(0).re, second)?.into()])
    })
}

/// Rows of several values per frame, `[rows, count · frames]`, as `[rows, count, frames]`.
fn per_frame(rows: Tensor<2>, count: usize) -> Tensor<3> {
    let [number, length] = rows.dims();
    rows.reshape([number, count, length / count])
}

/// Numbers in the type of rows, and on their device.
fn constant(values: &[f64], like: &Tensor<2>) -> Tensor<1> {
    upload(vector(values.to_vec(), like.dtype()), &like.device())
}

/// Bins from `first` on times weights.
fn weighted(spectrum: ComplexTensor<2>, first: usize, weights: &[f64]) -> ComplexTensor<2> {
    let factors = constant(weights, &spectrum.re).unsqueeze::<2>();
    spectrum.map(|part| part.narrow(1, first, weights.len()) * factors.clone())
}

/// The trend with a number: none, the mean, or a straight line.
fn trend_of(number: usize) -> Detrend {
    [Detrend::None, Detrend::Constant, Detrend::Linear][number]
}

/// Magnitude of the weighted bins from the first on, or its square; and the signal of all bins with other weights.
fn envelope(arguments: &Bound<'_, PyTuple>) -> PyResult<Work> {
    let (first, weights, n_out, is_squared, residual): (_, Vec<f64>, _, bool, Option<Vec<f64>>) =
        arguments.extract()?;
    Ok(Box::new(move |mut inputs| {
        let signal = inputs.remove(0).re;
        // Squares of what is at most 1 are within the range of the type.
        let largest = signal.clone().max_abs_dim(1);
        let least = if largest.dtype() == DType::F64 { f64::MIN_POSITIVE } else { f32::MIN_POSITIVE.into() };
        let largest = largest.clone().mask_fill(largest.clone().lower_scalar(least), 1.0);
        let spectrum = fft::rfft(signal / largest.clone())?;
        let band = weighted(spectrum.clone(), first, &weights);
        let square = fft::ifft_with(band, Some(n_out), -1, Norm::Forward)?.abs_squared();
        let envelope = if is_squared { square * largest.clone().square() } else { square.sqrt() * largest.clone() };
        let mut results = vec![envelope.into()];
        if let Some(weights) = &residual {
            let kept = weighted(spectrum, 0, weights);
            results.push((fft::irfft_with(kept, Some(n_out), -1, Norm::Forward)? * largest).into());
        }
        Ok(results)
    }))
}

fn welch_options((window, hop, segments, rate, trend): &Segmented) -> WelchOptions {
    let scaling = rate.map_or(Scaling::Spectrum, |sample_rate| Scaling::Density { sample_rate });
    let options = WelchOptions::new(window.len(), *segments).with_hop(*hop);
    options.with_scaling(scaling).with_detrend(trend_of(*trend))
}

/// Cross spectra of the rows of two signals.
fn cross(arguments: &Bound<'_, PyTuple>) -> PyResult<Work> {
    let (kind, segmented): (String, Segmented) = arguments.extract()?;
    let (options, window) = (welch_options(&segmented), segmented.0);
    Ok(match &*kind {
        "csd" => of_pair(move |x, y| cross_spectra::csd(x.clone(), y, constant(&window, &x), &options)),
        "coherence" => of_pair(move |x, y| cross_spectra::coherence(x.clone(), y, constant(&window, &x), &options)),
        kind => {
            let estimator = if kind == "H1" { TransferEstimator::H1 } else { TransferEstimator::H2 };
            of_pair(move |x, y| {
                cross_spectra::transfer_function(x.clone(), y, constant(&window, &x), &options, estimator)
            })
        }
    })
}

/// Coherence of all pairs of channels, which are rows that follow each other, or the `k` most coherent pairs.
fn channels(arguments: &Bound<'_, PyTuple>) -> PyResult<Work> {
    type Arguments = (usize, Segmented, Option<[usize; 2]>, Option<(usize, bool)>);
    let (count, segmented, band, pairs): Arguments = arguments.extract()?;
    let options = welch_options(&segmented).with_band(band.map(Band::from));
    Ok(Box::new(move |mut inputs| {
        let rows = inputs.remove(0).re;
        let ([number, samples], dtype, window) = (rows.dims(), rows.dtype(), constant(&segmented.0, &rows));
        let signal = rows.reshape([number / count, count, samples]);
        let Some((k, by_mean)) = pairs else {
            return Ok(vec![cross_spectra::coherence_matrix::<3, 4>(signal, window, &options)?.into()]);
        };
        let pairs = cross_spectra::most_coherent_pairs::<3, 2>(signal, window, &options, k, by_mean)?;
        let numbers = [pairs.first, pairs.second, pairs.bin].map(|number| number.float().cast(dtype));
        Ok(numbers.into_iter().chain([pairs.coherence]).map(Values::from).collect())
    }))
}

/// Multitaper power spectrum, with optional confidence interval and F test for lines per bin.
fn multitaper_estimate(arguments: &Bound<'_, PyTuple>) -> PyResult<Work> {
    let (half_bandwidth, tapers, adaptive_steps, sample_rate, trend, confidence, tests_lines) =
        arguments.extract::<(_, _, _, _, _, Option<f64>, bool)>()?;
    let (scaling, detrend) = (Scaling::Density { sample_rate }, trend_of(trend));
    let options = MultitaperOptions { half_bandwidth, tapers, adaptive_steps, scaling, detrend };
    Ok(Box::new(move |mut inputs| {
        let estimate = multitaper(inputs.remove(0).re, &options)?;
        let mut results = vec![estimate.psd.clone().into()];
        if let Some(confidence) = confidence {
            results.extend(estimate.interval(confidence)?.map(Values::from));
        }
        if tests_lines {
            let test = estimate.line_test()?;
            results.extend([test.statistic.into(), test.p_value.into(), test.amplitude.into()]);
        }
        Ok(results)
    }))
}

/// A number per frame of spectra, or of the magnitudes of the short-time transform of signals.
fn feature(arguments: &Bound<'_, PyTuple>) -> PyResult<Work> {
    type Arguments = (String, Vec<f64>, f64, Option<(FrameArguments, Vec<f64>)>);
    let (kind, frequencies, share, frames): Arguments = arguments.extract()?;
    let framing = frames.map(|(frames, window)| Ok::<_, PyErr>((frames.stft(window.len())?, window))).transpose()?;
    Ok(of_real(move |rows| {
        let hertz = constant(&frequencies, &rows);
        let spectrum = match &framing {
            Some((options, window)) => {
                let window = constant(window, &rows);
                fft::stft::<2, 3>(rows, Some(window), options)?.abs()
            }
            None => per_frame(rows, frequencies.len()),
        };
        match &*kind {
            "centroid" => audio::spectral_centroid(spectrum, hertz),
            "bandwidth" => audio::spectral_bandwidth(spectrum, hertz),
            "kurtosis" => audio::spectral_kurtosis(spectrum, hertz),
            "rolloff" => audio::spectral_rolloff(spectrum, hertz, share),
            _ => audio::spectral_flatness(spectrum),
        }
    }))
}

/// The tapers of `scipy.signal.windows.dpss`, `[k, n]`, and the shares of their energy in the band.
#[pyfunction]
pub fn dpss(n: usize, half_bandwidth: f64, k: usize) -> PyResult<(Vec<Vec<f64>>, Vec<f64>)> {
    let found = firefly_ops::multitaper::dpss(n, half_bandwidth, k).map_err(value_error)?;
    Ok((found.tapers, found.ratios))
}
