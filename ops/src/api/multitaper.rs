//! Multitaper estimates of power (D. J. Thomson, "Spectrum estimation and harmonic analysis", Proc. IEEE 70, 1982): the
//! mean over orthogonal tapers of the whole row, with adaptive weights, a test for lines and intervals of confidence.
//!
//! ```
//! use burn::tensor::{Device, Distribution, Int, Tensor};
//! use firefly_ops::multitaper::{MultitaperOptions, multitaper, multitaper_psd};
//!
//! // A cosine of amplitude 3 at bin 40 of 256, with noise.
//! let device = Device::flex();
//! let time = Tensor::<1, Int>::arange(0..256, &device).float();
//! let line = (time * (std::f32::consts::TAU * 40.0 / 256.0)).cos() * 3.0;
//! let signal = line + Tensor::<1>::random([256], Distribution::Normal(0.0, 0.3), &device);
//! let estimate = multitaper(signal.clone(), &MultitaperOptions::new(4.0, 1.0))?;
//!
//! let found = estimate.line_test()?;
//! assert_eq!(found.p_value.argmin(0).into_scalar::<i64>(), 40);
//! assert!((found.amplitude.abs().narrow(0, 40, 1).into_scalar::<f32>() - 3.0).abs() < 0.3);
//! let [low, high] = estimate.interval(0.95)?;
//! assert!((high - low).min().into_scalar::<f32>() > 0.0);
//!
//! let adaptive = MultitaperOptions { adaptive_steps: 20, ..MultitaperOptions::new(4.0, 1.0) };
//! assert_eq!(multitaper_psd(signal, &adaptive)?.dims(), [129]);
//! # Ok::<(), firefly_ops::ArgumentError>(())
//! ```

use burn::tensor::{Tensor, TensorData};

use super::check::InputCheck;
use super::fft::{ComplexTensor, rfft};
use super::rows::reshaped;
use super::segments::one_sided;
use super::trend::detrended;
use crate::error::{ArgumentError, Result, ensure};
use crate::options::{Detrend, Scaling, prolate_sequence};

/// Tapers, weights, scaling and detrending of a multitaper estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MultitaperOptions {
    /// Half the width of the band in bins (NW) of [`dpss`], periodic as those of MNE: without the last of n + 1
    /// samples. Or none for sines: K. S. Riedel and A. Sidorenko, "Minimum bias multiple taper spectral estimation",
    /// IEEE Trans. Signal Process. 43 (1995); their band is about as many bins wide as they are.
    pub half_bandwidth: Option<f64>,
    /// Number of tapers; 2 NW of DPSS at most have most of their energy in the band.
    pub tapers: usize,
    /// Steps of the iteration for adaptive weights, as those of MNE's `psd_array_multitaper(adaptive=True)`, which give
    /// a bin less of a taper where its leakage may be more than the power there. After 20 most estimates stay the same
    /// within 10⁻⁶. 0 for fixed weights: the share of each taper's energy in the band, or equal ones of sines.
    pub adaptive_steps: usize,
    /// `Density`, or `Power`, the density times the sample rate.
    pub scaling: Scaling,
    /// Trend of each row that is subtracted before it is tapered.
    pub detrend: Detrend,
}

impl MultitaperOptions {
    /// Density by the 2 NW − 1 first DPSS for NW = `half_bandwidth`, with fixed weights, without the mean.
    pub fn new(half_bandwidth: f64, sample_rate: f64) -> Self {
        let (tapers, scaling) = ((2.0 * half_bandwidth).max(2.0) as usize - 1, Scaling::Density { sample_rate });
        let half_bandwidth = Some(half_bandwidth);
        Self { half_bandwidth, tapers, adaptive_steps: 0, scaling, detrend: Detrend::Constant }
    }
}

/// Discrete prolate spheroidal sequences.
#[derive(Debug, Clone, PartialEq)]
pub struct Dpss {
    /// The sequences by order, each with an energy of 1: those of even order have a positive sum, those of odd order
    /// begin with a positive lobe.
    pub tapers: Vec<Vec<f64>>,
    /// Share of the energy of each in the band.
    pub ratios: Vec<f64>,
}

/// The `k` discrete prolate spheroidal sequences of `n` samples with the largest shares of their energy within
/// `half_bandwidth` bins (NW), as `scipy.signal.windows.dpss(n, half_bandwidth, k, return_ratios=True)`.
///
/// ```
/// let found = firefly_ops::multitaper::dpss(64, 2.5, 4)?;
/// assert!(found.ratios[0] > 0.99999 && found.ratios[3] < 0.99);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for a `k` that is not from 1 to `n`, and a band that is not within half of the bins.
pub fn dpss(n: usize, half_bandwidth: f64, k: usize) -> Result<Dpss> {
    ensure((1..=n).contains(&k), "dpss", "k", k, format_args!("from 1 to the number of samples, {n}"))?;
    let holds = half_bandwidth > 0.0 && 2.0 * half_bandwidth < n as f64;
    ensure(holds, "dpss", "half_bandwidth", half_bandwidth, format_args!("above 0 and below half of {n} bins"))?;
    let (tapers, ratios) = (0..k).map(|order| prolate_sequence(n, half_bandwidth, order)).unzip();
    Ok(Dpss { tapers, ratios })
}

/// Samples, bits of the half bandwidth, and number of DPSS.
type TaperKey = (usize, u64, usize);

/// The DPSS that were made last: they take longer than the spectra of many rows.
static LAST_TAPERS: std::sync::Mutex<Option<(TaperKey, Dpss)>> = std::sync::Mutex::new(None);

/// Tapers of `n` samples, each with an energy of 1 over its period, and their weights.
fn tapers(n: usize, half_bandwidth: Option<f64>, count: usize) -> Result<Dpss> {
    let expected = format_args!("from 1 to the {n} samples of a row");
    ensure((1..=n).contains(&count), "multitaper", "tapers", count, expected)?;
    if let Some(half_bandwidth) = half_bandwidth {
        let key = (n, half_bandwidth.to_bits(), count);
        let mut last = LAST_TAPERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, found)) = last.as_ref().filter(|(of, _)| *of == key) {
            return Ok(found.clone());
        }
        let mut found = dpss(n + 1, half_bandwidth, count)?;
        found.tapers.iter_mut().for_each(|taper| taper.truncate(n));
        return Ok(last.insert((key, found)).1.clone());
    }
    let (step, scale) = (std::f64::consts::PI / (n + 1) as f64, (2.0 / (n + 1) as f64).sqrt());
    let taper = |order: usize| (1..=n).map(|j| scale * (step * (order * j) as f64).sin()).collect();
    Ok(Dpss { tapers: (1..=count).map(taper).collect(), ratios: vec![1.0; count] })
}

/// One-sided power of each row by several tapers: `psd` of [`multitaper`].
///
/// # Errors
/// As [`multitaper`].
pub fn multitaper_psd<const D: usize>(signal: Tensor<D>, options: &MultitaperOptions) -> Result<Tensor<D>> {
    Ok(multitaper(signal, options)?.psd)
}

/// Multitaper estimate of each row of `signal`, `[.., n]` of any rank from 1, with what follows from its tapers.
///
/// Differentiable in the signal. Spectra of all tapers are in memory, and for gradients the weights of each step.
///
/// # Errors
/// [`ArgumentError`] for options out of range, rows with fewer samples than tapers, or a device without kernels.
pub fn multitaper<const D: usize>(signal: Tensor<D>, options: &MultitaperOptions) -> Result<MultitaperEstimate<D>> {
    const NAME: &str = "multitaper";
    let rate = match options.scaling {
        Scaling::Power => 1.0,
        Scaling::Density { sample_rate } => sample_rate,
        scaling => return Err(ArgumentError::new(NAME, "scaling", scaling, "density or power")),
    };
    ensure(rate.is_finite() && rate > 0.0, NAME, "sample_rate", rate, "a positive number of hertz")?;
    let (count, steps) = (options.tapers, options.adaptive_steps);
    let has_ratios = steps == 0 || count > 1 && options.half_bandwidth.is_some();
    ensure(has_ratios, NAME, "adaptive_steps", steps, "0, with sines or a single taper")?;
    let mut shape = signal.dims();
    let (rows, n) = (shape[..D - 1].iter().product(), shape[D - 1]);
    let Dpss { tapers, ratios } = tapers(n, options.half_bandwidth, count)?;
    let inputs = InputCheck::of(NAME, "signal", &signal)?;
    let signal = reshaped(inputs.first(signal), [rows, 1, n]);
    let place = (signal.device().inner(), signal.dtype());
    let constant = |values: Vec<f64>, shape: [usize; 3]| {
        Tensor::<3>::from_data(TensorData::new(values, shape), (&place.0, place.1))
    };
    let sums = constant(tapers.iter().map(|taper| taper.iter().sum()).collect(), [1, count, 1]);
    let tapers = constant(tapers.concat(), [1, count, n]);
    let spectra = rfft(detrended(signal, options.detrend) * tapers)?;
    let sides = one_sided(n, &spectra.re).unsqueeze_dim(0);
    let power = spectra.clone().abs_squared() * sides.clone() / rate;
    let ratios = constant(ratios, [1, count, 1]);
    let weights = if steps == 0 { ratios } else { adaptive_weights(&power, &ratios, steps) };
    shape[D - 1] = n / 2 + 1;
    let psd = reshaped(weighted(&power, &weights), shape);
    Ok(MultitaperEstimate { psd, power, weights, spectra, sums, sides })
}

/// Mean of power `[rows, tapers, bins]` with weights; 0 where no taper has any.
fn weighted(power: &Tensor<3>, weights: &Tensor<3>) -> Tensor<3> {
    let total = weights.clone().sum_dim(1);
    let total = total.clone().mask_fill(total.equal_elem(0.0), 1.0);
    (power.clone() * weights.clone()).sum_dim(1) / total
}

/// Thomson's weights, the squares of √λ S / (λ S + (1 − λ) σ²), `[rows, tapers, bins]`: λ is the share of a taper's
/// energy in its band, S the estimate of a bin, and σ² half the mean of the power over bins, by the trapezoidal rule.
fn adaptive_weights(power: &Tensor<3>, ratios: &Tensor<3>, steps: usize) -> Tensor<3> {
    let bins = power.dims()[2];
    let first = weighted(power, ratios);
    let ends = first.clone().narrow(2, 0, 1) + first.clone().narrow(2, bins - 1, 1);
    let leaked = (-ratios.clone() + 1.0) * (first.sum_dim(2) - ends * 0.5) / (2 * bins) as f64;
    let of_estimate = |psd: Tensor<3>| {
        let expected = ratios.clone() * psd.clone() + leaked.clone();
        let expected = expected.clone().mask_fill(expected.equal_elem(0.0), 1.0);
        (psd / expected).square() * ratios.clone()
    };
    let [power_of_2, ratios_of_2] = [power, ratios].map(|tensor| tensor.clone().narrow(1, 0, 2));
    let initial = of_estimate(weighted(&power_of_2, &ratios_of_2));
    (1..steps).fold(initial, |weights, _| of_estimate(weighted(power, &weights)))
}

/// Multitaper estimate of rows.
#[derive(Debug, Clone)]
pub struct MultitaperEstimate<const D: usize> {
    /// One-sided power, `[.., n / 2 + 1]`, in the signal's unit squared (per hertz with density scaling).
    pub psd: Tensor<D>,
    /// Power of each taper, `[rows, tapers, bins]`, and weights, which may be those of all rows and bins.
    power: Tensor<3>,
    weights: Tensor<3>,
    spectra: ComplexTensor<3>,
    /// Sum of each taper, and 1 or 2 per bin.
    sums: Tensor<3>,
    sides: Tensor<3>,
}

/// Test of each bin for a line of its frequency, after Thomson (1982): fields are `[.., bins]`.
#[derive(Debug, Clone)]
pub struct LineTest<const D: usize> {
    /// F statistic with 2 and 2 K − 2 degrees of freedom for K tapers: power of a line over that of the rest.
    pub statistic: Tensor<D>,
    /// Probability of so great a statistic without a line.
    pub p_value: Tensor<D>,
    /// Complex amplitude of the line: the amplitude of a cosine, and its phase at the first sample.
    pub amplitude: ComplexTensor<D>,
}

impl<const D: usize> MultitaperEstimate<D> {
    /// Test of each bin for a line. Of a row without any power the statistic is NaN.
    ///
    /// # Errors
    /// [`ArgumentError`] for fewer than 2 tapers.
    pub fn line_test(&self) -> Result<LineTest<D>> {
        let free = (self.several("line_test")? - 1) as f64;
        let energy = self.sums.clone().square().sum_dim(1);
        let mean = self.spectra.clone().map(|part| (part * self.sums.clone()).sum_dim(1) / energy.clone());
        let rest = self.spectra.clone() - mean.clone().map(|part| part * self.sums.clone());
        let statistic = mean.clone().abs_squared() * energy / rest.abs_squared().sum_dim(1) * free;
        let p_value = ((statistic.clone() / free).log1p() * -free).exp();
        let shape = self.psd.dims();
        let amplitude = mean.map(|part| reshaped(part * self.sides.clone(), shape));
        let [statistic, p_value] = [statistic, p_value].map(|value| reshaped(value, shape));
        Ok(LineTest { statistic, p_value, amplitude })
    }

    /// Interval that has the power of each bin with a probability of `confidence`: lower and upper ends, `[.., bins]`.
    ///
    /// By the jackknife: the variance of the logarithm over estimates that leave out one taper each, with Student's
    /// distribution of K − 1 degrees of freedom for K tapers (D. J. Thomson and A. D. Chave, "Jackknifed error
    /// estimates for spectra, coherences, and transfer functions", 1991). Weights are those of the estimate.
    ///
    /// # Errors
    /// [`ArgumentError`] for fewer than 2 tapers, or a confidence that is not above 0 and below 1.
    pub fn interval(&self, confidence: f64) -> Result<[Tensor<D>; 2]> {
        let count = self.several("interval")?;
        let is_share = confidence > 0.0 && confidence < 1.0;
        ensure(is_share, "interval", "confidence", confidence, "above 0 and below 1")?;
        let left_out = |taper: usize| {
            let part = |tensor: &Tensor<3>, first: usize, end: usize| {
                (first < end).then(|| tensor.clone().narrow(1, first, end - first))
            };
            let [power, weights] = [&self.power, &self.weights].map(|tensor| {
                let parts = [part(tensor, 0, taper), part(tensor, taper + 1, count)];
                Tensor::cat(parts.into_iter().flatten().collect(), 1)
            });
            weighted(&power, &weights).log()
        };
        let logarithms = Tensor::cat((0..count).map(left_out).collect(), 1);
        let deviations = logarithms.clone() - logarithms.mean_dim(1);
        let variance = deviations.square().sum_dim(1) * ((count - 1) as f64 / count as f64);
        let width = (variance.sqrt() * student_quantile(confidence, count - 1)).exp();
        let width = reshaped(width, self.psd.dims());
        Ok([self.psd.clone() / width.clone(), self.psd.clone() * width])
    }

    /// The number of tapers, if there are several.
    fn several(&self, operation: &'static str) -> Result<usize> {
        let count = self.power.dims()[1];
        ensure(count >= 2, operation, "tapers", count, "at least 2")?;
        Ok(count)
    }
}

/// The number that Student's |t| is below with a probability of `confidence`, by bisection of its distribution, which
/// is a finite sum for a whole number of degrees of freedom.
fn student_quantile(confidence: f64, degrees: usize) -> f64 {
    let within = |t: f64| {
        let (sin, cos) = t.atan2((degrees as f64).sqrt()).sin_cos();
        let odd = degrees % 2;
        let (mut term, mut sum) = (if odd == 1 { sin * cos } else { sin }, 0.0);
        for divisor in (2 + odd..degrees + 2).step_by(2) {
            sum += term;
            term *= cos * cos * (divisor - 1) as f64 / divisor as f64;
        }
        if odd == 1 { (sum + sin.atan2(cos)) * std::f64::consts::FRAC_2_PI } else { sum }
    };
    // The tangent, so that quantiles of any size take as many steps.
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if within(middle.tan()) < confidence { low = middle } else { high = middle }
    }
    low.tan()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (confidence, degrees, expected) in [
            (0.95, 1, 12.706_204_736),
            (0.95, 2, 4.302_652_730),
            (0.95, 6, 2.446_911_851),
            (0.9, 7, 1.894_578_605),
            (0.99, 30, 2.749_995_654),
        ] {
            let error = (student_quantile(confidence, degrees) - expected).abs();
            assert!(error < 1e-8, "{confidence} {degrees}: {error}");
        }
    }
}
