//! Significance of peaks of Welch spectra, and frequency, amplitude and phase of their lines with standard errors.
//!
//! The floor is the median of bins beside a peak's main lobe, over that of white Gaussian noise, which is taken to be
//! as strong in all of them. Probabilities are of the ratio of two estimates: power has the distribution of segments
//! with their overlap and window, the floor that of a median of so many correlated bins.
//!
//! A line's frequency is the maximum of the transform of the frame under the sum of the segments' windows, the most
//! likely one under that taper: D. C. Rife and R. R. Boorstyn, "Single-tone parameter estimation from discrete-time
//! observations", IEEE Trans. Inf. Theory 20 (1974). Standard errors are those of the taper in noise of the floor's
//! power, for lines clear of it, alone in their main lobe and free of leakage: under a rectangular window that of a
//! strong line's own negative frequency is more than the noise. The variance of frequencies is above the Cramér–Rao
//! bound by 0 dB for adjacent rectangular windows, 3.7 dB for a Hann window and 1.1 dB for 8 that half overlap. Segments
//! that lie apart have maxima of nearly the same height beside it: errors are then of all of them, by their likelihood.
//!
//! Results are computed on the host in f64, from power in the signal's type. They have no gradients.
//!
//! ```
//! use burn::tensor::{Device, Distribution, Int, Tensor};
//! use firefly_ops::significance::{DEFAULT_NEIGHBOURS, PeakTest};
//! use firefly_ops::{WelchOptions, welch_peaks};
//!
//! // A cosine of amplitude 0.5 between two bins, in noise of variance 1.
//! let (options, device) = (WelchOptions::new(512, 4).with_hop(512), Device::flex());
//! let phase = Tensor::<1, Int>::arange(0..2048, &device).float() * (std::f32::consts::TAU * 40.3 / 512.0);
//! let signal = phase.cos() * 0.5 + Tensor::<1>::random([2048], Distribution::Normal(0.0, 1.0), &device);
//! let window = Tensor::ones([512], &device);
//! let test = PeakTest::new(window.clone(), &options, DEFAULT_NEIGHBOURS)?;
//! let peaks = welch_peaks(signal.clone(), window, &options, 1)?;
//! let found = test.peaks(signal, peaks.bins)?[0].expect("bin 40 has a floor");
//! assert!(found.false_alarm < 1e-6 && found.frequency_error < 1e-4);
//! assert!((found.frequency - 40.3 / 512.0).abs() < 6.0 * found.frequency_error);
//! # Ok::<(), firefly_ops::from_host::HostError>(())
//! ```

mod noise;

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use burn::tensor::kind::Basic;
use burn::tensor::{Element, Int, Tensor};
use rayon::prelude::*;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use self::noise::{NoiseModel, eigenvalues};
use super::check::InputCheck;
use super::from_host::HostError;
use super::psd::welch_psd_of;
use super::rows::SampleKind;
use super::segments::segments;
use crate::error::ensure;
use crate::options::{Scaling, WelchOptions};
use crate::rustfft_plans::Planned;

/// Bins of a floor on either side of a peak. With fewer, false alarms are more frequent than stated: with 24, the least,
/// by a tenth under a Hann window, and by a quarter under Blackman's.
pub const DEFAULT_NEIGHBOURS: usize = 64;

const NAME: &str = "significance";

/// Test of the peaks of real signals by one Welch estimate, with tables that are computed once.
#[derive(Debug, Clone)]
pub struct PeakTest {
    /// Equivalent degrees of freedom of power, after Welch (1967): 2 per independent segment.
    pub degrees_of_freedom: f64,
    /// Bins that are searched: those of the options' band whose main lobe has neither DC nor Nyquist.
    pub searched: usize,
    options: WelchOptions,
    window: Tensor<1>,
    coefficients: Vec<f64>,
    /// Half the width of the main lobe, and the bins whose main lobe has neither end.
    lobe: usize,
    inner: Range<usize>,
    /// Bins that a line is away from the strongest bin, at most.
    reach: f64,
    floor_bins: usize,
    noise: NoiseModel,
    taper: Taper,
}

/// Sum v of the windows over a frame: Σ v, its centre of gravity, mean squares of the time from it by v and by v², and
/// variance of amplitudes over one-sided power of noise.
#[derive(Debug, Clone, Copy)]
struct Taper {
    sum: f64,
    centre: f64,
    spread: f64,
    noise_spread: f64,
    noise_gain: f64,
}

/// A line of a tapered frame: angular frequency, amplitude, phase at the centre, and how far it may be another maximum.
struct Line {
    angular: f64,
    amplitude: f64,
    phase: f64,
    rivals: f64,
}

/// A peak with its significance and its line.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakEstimate {
    /// Bin of the peak.
    pub bin: usize,
    /// Power of the bin over its floor, the mean power of noise.
    pub ratio: f64,
    /// Probability that noise has so much power at this bin.
    pub p_value: f64,
    /// Probability that noise has so much power at any of the [bins searched](PeakTest::searched).
    pub false_alarm: f64,
    /// Frequency of the line, in cycles per sample.
    pub frequency: f64,
    /// Standard error of the frequency.
    pub frequency_error: f64,
    /// Amplitude of the line as a cosine, in the unit of the signal.
    pub amplitude: f64,
    /// Standard error of the amplitude.
    pub amplitude_error: f64,
    /// Phase of the cosine at the first sample of the frame, from −π to π.
    pub phase: f64,
    /// Standard error of the phase.
    pub phase_error: f64,
}

impl PeakTest {
    /// The test for a window `[n_fft]`, with floors of `neighbours` bins, at least 24, on either side of a peak's main
    /// lobe; where the spectrum ends of fewer, and more on the other side.
    ///
    /// # Errors
    /// For options out of range, a median, more than 128 segments, a window of another shape or without a peak of its
    /// transform, such as a single flat top, and a spectrum or band without bins for a floor or a test.
    pub fn new(window: Tensor<1>, options: &WelchOptions, neighbours: usize) -> Result<Self, HostError> {
        options.validate(NAME)?;
        options.validate_mean(NAME, "mean, whose distribution is known")?;
        let (n, count, dims) = (options.n_fft, options.averaged(), window.dims());
        ensure(count <= 128, NAME, "segments", count, "at most 128 that are averaged")?;
        ensure(dims == [n], NAME, "window", format_args!("{dims:?}"), format_args!("[{n}]"))?;
        ensure(neighbours >= 24, NAME, "neighbours", neighbours, "at least 24")?;
        let coefficients: Vec<f64> = read(window.clone())?;
        let response = magnitudes(&coefficients);
        // Side lobes have up to 0.02 of the main lobe's amplitude.
        let lobe = response[..=n / 2].iter().rposition(|value| *value >= 0.02 * response[0]).map_or(n, |last| last + 1);
        let inner = lobe..(n / 2 + 1).saturating_sub(lobe);
        // Half a bin and some noise, and the bins over which a top is flat.
        let reach = 0.75 + response[1..=n / 2].iter().take_while(|value| **value >= 0.8 * response[0]).count() as f64;
        let most = (inner.len() + 1).saturating_sub(2 * lobe).min(2 * neighbours);
        let expected = format_args!("enough for 47 bins beside a main lobe of {}", 2 * lobe - 1);
        ensure(most >= 47, NAME, "n_fft", n, expected)?;
        // Of an odd number of bins the median is one of them.
        let floor_bins = most - (most + 1) % 2;
        let band = options.searched();
        let searched = band.end.min(inner.end).saturating_sub(band.start.max(inner.start));
        ensure(searched > 0, NAME, "band", format_args!("{band:?}"), format_args!("one with bins of {inner:?}"))?;
        let sums = tapered(options, &coefficients, &vec![1.0; count * n]);
        let moment = |order: i32, centre: f64, power: i32| {
            (0..sums.len()).map(|time| sums[time].re.powi(order) * (time as f64 - centre).powi(power)).sum::<f64>()
        };
        let [sum, energy] = [1, 2].map(|order| moment(order, 0.0, 0));
        let centre = moment(1, 0.0, 1) / sum;
        let (spread, noise_spread) = (moment(1, centre, 2) / sum, moment(2, centre, 2) / energy);
        ensure(spread > 0.5 * noise_spread, NAME, "window", "one with a flat main lobe", "one with a peak")?;

        let squares: Vec<f64> = coefficients.iter().map(|value| value * value).collect();
        let of_window: f64 = squares.iter().sum();
        let taper = Taper { sum, centre, spread, noise_spread, noise_gain: energy / (sum * sum * of_window) };
        let products = |lag: usize| coefficients.iter().zip(coefficients.iter().skip(lag)).map(|(a, b)| a * b);
        let covariance = |lag: usize| products(lag).sum::<f64>() / of_window / count as f64;
        let indices = options.indices();
        let row = |a: &usize| indices.iter().map(|b| covariance(a.abs_diff(*b) * options.hop)).collect();
        let scales = eigenvalues(indices.iter().map(row).collect());
        let shape = scales.iter().map(|scale| scale * scale).sum::<f64>().recip();
        let correlations: Vec<f64> = magnitudes(&squares).iter().map(|value| (value / of_window).powi(2)).collect();
        let noise = NoiseModel::new(&scales, shape, &correlations[..=n / 2], floor_bins);
        let (degrees_of_freedom, options) = (2.0 * shape, options.with_scaling(Scaling::Power));
        Ok(Self {
            degrees_of_freedom,
            searched,
            options,
            window,
            coefficients,
            lobe,
            inner,
            reach,
            floor_bins,
            noise,
            taper,
        })
    }

    /// Estimates at the peaks of each row.
    ///
    /// - `signal`: `[.., frame]`, as [`welch_psd`](crate::welch_psd) takes it with this window and these options.
    /// - `bins`: `[.., k]`, as of [`welch_peaks`](crate::welch_peaks) or [`local_maxima`](crate::local_maxima()).
    /// - returns an estimate per bin, in the order of rows and bins; none for a bin that there is not, as −1, one whose
    ///   main lobe has DC or Nyquist, where noise is of another kind, and a ratio to the floor that is not a number.
    ///
    /// # Errors
    /// As [`welch_psd`](crate::welch_psd), for bins of another shape, and if a device fails.
    pub fn peaks<const D: usize, K: SampleKind>(
        &self,
        signal: Tensor<D, K>,
        bins: Tensor<D, Int>,
    ) -> Result<Vec<Option<PeakEstimate>>, HostError> {
        let (dims, of_bins, options) = (signal.dims(), bins.dims(), &self.options);
        let expected = format_args!("[.., k] for a signal of {dims:?}");
        ensure(dims[..D - 1] == of_bins[..D - 1], NAME, "bins", format_args!("{of_bins:?}"), expected)?;
        let power = welch_psd_of(NAME, signal.clone(), self.window.clone().into(), options)?;
        let rows = InputCheck::of(NAME, "signal", &signal)?.rows(signal);
        let (power, samples): (Vec<f64>, Vec<f64>) = (read(power)?, read(segments(rows, options)?)?);
        let bins: Vec<i64> = read(bins)?;
        let rows = power.par_chunks(options.bins()).zip(samples.par_chunks(options.averaged() * options.n_fft));
        let estimates = rows.zip(bins.par_chunks(of_bins[D - 1].max(1))).flat_map_iter(|((power, samples), bins)| {
            let tapered = tapered(options, &self.coefficients, samples);
            bins.iter().map(move |bin| self.estimate(power, &tapered, usize::try_from(*bin).ok()?))
        });
        Ok(estimates.collect())
    }

    fn estimate(&self, power: &[f64], tapered: &[Complex<f64>], bin: usize) -> Option<PeakEstimate> {
        let floor = self.inner.contains(&bin).then(|| self.floor(power, bin))?;
        let ratio = Some(power[bin] / floor).filter(|ratio| !ratio.is_nan())?;
        let [p_value, false_alarm] = self.noise.probabilities(ratio, self.searched, self.floor_bins);
        let Taper { centre, spread, noise_spread, noise_gain, .. } = self.taper;
        let amplitude_error = (floor * noise_gain).sqrt();
        let Line { angular, amplitude, phase, rivals } = self.line(tapered, bin, amplitude_error);
        let (phase_error, per_phase) = (amplitude_error / amplitude, noise_spread.sqrt() / spread);
        let angular_error = (phase_error * per_phase).hypot(rivals);
        Some(PeakEstimate {
            bin,
            ratio,
            p_value,
            false_alarm,
            frequency: angular / TAU,
            frequency_error: angular_error / TAU,
            amplitude,
            amplitude_error,
            phase: (phase - angular * centre + PI).rem_euclid(TAU) - PI,
            phase_error: phase_error.hypot(centre * angular_error),
        })
    }

    /// Mean power of noise at a bin.
    fn floor(&self, power: &[f64], bin: usize) -> f64 {
        let left = (bin + 1).saturating_sub(self.lobe + self.inner.start);
        let right = self.inner.end.saturating_sub(bin + self.lobe);
        let below = (self.floor_bins / 2).clamp(self.floor_bins.saturating_sub(right), left);
        let mut beside = power[self.inner.start + left - below..][..below].to_vec();
        beside.extend(power[bin + self.lobe..].iter().take(self.floor_bins - below));
        *beside.select_nth_unstable_by(self.floor_bins / 2, f64::total_cmp).1 / self.noise.mean_median
    }

    /// A tapered frame's line near a bin, by Gauss and Newton from every maximum of half the height or more.
    fn line(&self, tapered: &[Complex<f64>], bin: usize, amplitude_error: f64) -> Line {
        let (frame, n) = (tapered.len() as f64, self.options.n_fft as f64);
        let steps = (2.0 * self.reach * frame / n).ceil() as usize;
        let at = |step: usize| TAU / n * (bin as f64 + self.reach * (step as f64 / steps as f64 - 1.0));
        let transform = |angular: f64| moments(tapered, -self.taper.centre, angular);
        let heights: Vec<f64> = (0..=2 * steps).map(|step| transform(at(step))[0].norm_sqr()).collect();
        let highest = heights.iter().copied().fold(0.0, f64::max);
        let is_maximum = |step: &usize| {
            let beside = heights[step.saturating_sub(1)..(step + 2).min(heights.len())].iter();
            heights[*step] >= 0.5 * highest && beside.copied().all(|height| height <= heights[*step])
        };
        let refined = |step| {
            let mut angular = at(step);
            for _ in 0..3 {
                let [sum, moment] = transform(angular);
                angular += ((moment / sum).im / self.taper.spread).clamp(-0.25 * TAU / frame, 0.25 * TAU / frame);
            }
            let line = transform(angular)[0] / self.taper.sum;
            (angular, 2.0 * line.norm(), line.arg())
        };
        let maxima: Vec<_> = (0..heights.len()).filter(is_maximum).map(refined).collect();
        let best = maxima.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let &(angular, amplitude, phase) = best.unwrap_or(&(f64::NAN, f64::NAN, f64::NAN));
        // Mean square of the distance from the most likely maximum, by the others' likelihood.
        let (mut squares, mut weights) = (0.0, 0.0);
        for (other, height, _) in maxima {
            let squared = amplitude_error.powi(2).max(f64::MIN_POSITIVE);
            let weight = (0.5 * (height - amplitude) * (height + amplitude) / squared).exp();
            (squares, weights) = (squares + weight * (other - angular).powi(2), weights + weight);
        }
        Line { angular, amplitude, phase, rivals: (squares / weights).sqrt() }
    }
}

/// The frame of segments, as the sum of windowed ones.
fn tapered(options: &WelchOptions, window: &[f64], samples: &[f64]) -> Vec<Complex<f64>> {
    let mut sums = vec![Complex::ZERO; options.frame()];
    for (index, segment) in options.indices().into_iter().zip(samples.chunks(options.n_fft)) {
        let products = segment.iter().zip(window).map(|(sample, weight)| sample * weight);
        sums[index * options.hop..].iter_mut().zip(products).for_each(|(sum, product)| sum.re += product);
    }
    sums
}

/// Transform at one frequency of values from a first time on, and that of their products with time.
fn moments(values: &[Complex<f64>], first: f64, angular: f64) -> [Complex<f64>; 2] {
    let turn = Complex::cis(-angular);
    let (mut phasor, mut sums) = (Complex::cis(-angular * first), [Complex::ZERO; 2]);
    for (place, value) in values.iter().enumerate() {
        let product = value * phasor;
        sums = [sums[0] + product, sums[1] + product * (first + place as f64)];
        phasor *= turn;
    }
    sums
}

/// Magnitudes of the transform of real values.
fn magnitudes(values: &[f64]) -> Vec<f64> {
    let mut values: Vec<Complex<f64>> = values.iter().map(Complex::from).collect();
    f64::plan(values.len(), FftDirection::Forward).process(&mut values);
    values.into_iter().map(Complex::norm).collect()
}

fn read<const D: usize, K: Basic, E: Element>(tensor: Tensor<D, K>) -> Result<Vec<E>, HostError> {
    tensor.try_into_vec_as().map_err(|error| HostError::Device(error.to_string()))
}
