//! Welch's averaged periodogram with a window and perhaps a gain, and the power spectrum of rows as wholes.

use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::{Int, Tensor};

use super::check::{self, InputCheck};
use super::fft::{ComplexTensor, fft, frames};
use super::rows::{Leading, SampleKind};
use crate::error::{ArgumentError, ensure};
use crate::op::inputs;
use crate::options::{Detrend, POWER_TAPS, PRODUCT_TAPS, PowerSpectrumOptions, Scaling, WelchOptions};

/// Averaged one-sided power of each row, after P. D. Welch, "The use of fast Fourier transform for the estimation of
/// power spectra", IEEE Trans. Audio Electroacoust. 15 (1967).
///
/// - `signal`: `[.., frame]`, of any rank from 1, in any unit and [type of samples](SampleKind); `frame` at least
///   [`options.frame()`](WelchOptions::frame).
/// - `weights`: the window `[n_fft]`, or [`WelchWeights`] with a gain of the bins too.
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
/// [`ArgumentError`] for options out of range, a frame that is too short, a window or a gain of another shape, or tensors
/// on different devices.
pub fn welch_psd<const D: usize, K: SampleKind>(
    signal: Tensor<D, K>,
    weights: impl Into<WelchWeights>,
    options: &WelchOptions,
) -> Result<Tensor<D>, ArgumentError> {
    welch_psd_of("welch_psd", signal, weights.into(), options)
}

/// Averaged two-sided power of each row of a complex signal, by Welch's method.
///
/// - `signal`: `[.., frame]`, in any unit; `frame` at least [`options.frame()`](WelchOptions::frame).
/// - `window`: `[n_fft]`.
/// - returns power `[.., n_fft]` in the order of [`fftfreq`](crate::fft::fftfreq), in the unit squared (per hertz with
///   density scaling): no bin is doubled, as no two of them are the same frequency.
///
/// ```
/// use burn::tensor::{Device, FloatDType, Tensor};
/// use firefly_ops::fft::ComplexTensor;
/// use firefly_ops::{WelchOptions, Window, WindowSymmetry, welch_psd_complex};
///
/// let device = Device::flex();
/// let options = WelchOptions::new(64, 2);
/// let window = Window::Hann.tensor(64, WindowSymmetry::Periodic, FloatDType::F32, &device);
/// let part = || Tensor::<2>::ones([4, options.frame()], &device);
/// let power = welch_psd_complex(ComplexTensor::new(part(), part()), window, &options)?;
/// assert_eq!(power.dims(), [4, 64]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for options out of range, a frame that is too short, a window of another shape, or parts of
/// different shapes or devices.
pub fn welch_psd_complex<const D: usize>(
    signal: ComplexTensor<D>,
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<Tensor<D>, ArgumentError> {
    const NAME: &str = "welch_psd_complex";
    options.validate(NAME)?;
    let &WelchOptions { n_fft, hop, segments, scaling, detrend, .. } = options;
    let dims = signal.dims();
    let (frame, needed) = (dims[D - 1], options.frame());
    ensure(frame >= needed, NAME, "signal", format_args!("{frame} samples"), format_args!("at least {needed}"))?;
    let mut inputs = InputCheck::of(NAME, "signal.re", &signal.re)?;
    let im = inputs.next("signal.im", signal.im, dims)?;
    let window = inputs.next("window", window, [n_fft])?;
    let rows = dims[..D - 1].iter().product();
    let windowed = |part: Tensor<D>| -> Result<Tensor<3>, ArgumentError> {
        let part: Tensor<2> = part.reshape([rows, frame]).slice([0..rows, 0..needed]);
        let mut part: Tensor<3> = frames(part, n_fft, hop)?;
        if let Some(chosen) = options.chosen {
            let indices: Vec<i64> =
                chosen.indices().filter(|index| *index < segments).map(|index| index as i64).collect();
            part = part.clone().select(1, Tensor::<1, Int>::from_data(&indices[..], &part.device()));
        }
        if detrend == Detrend::Constant {
            part = part.clone() - part.mean_dim(2);
        }
        Ok(part * window.clone().reshape([1, 1, n_fft]))
    };
    let parts = ComplexTensor { re: windowed(inputs.first(signal.re))?, im: windowed(im)? };
    let spectra = fft(parts)?;
    let power: Tensor<2> = (spectra.re.square() + spectra.im.square()).mean_dim(1).reshape([rows, n_fft]);
    let factor = match scaling {
        Scaling::Power => None,
        Scaling::Spectrum => Some(window.sum().square()),
        Scaling::Density { sample_rate } => Some(window.square().sum() * sample_rate),
    };
    let power = match factor {
        Some(factor) => power / factor.reshape([1, 1]),
        None => power,
    };
    let mut shape = dims;
    shape[D - 1] = n_fft;
    Ok(power.reshape(shape))
}

/// [`welch_psd`] for `operation`, which errors name.
pub(super) fn welch_psd_of<const D: usize, K: SampleKind>(
    operation: &'static str,
    signal: Tensor<D, K>,
    weights: WelchWeights,
    options: &WelchOptions,
) -> Result<Tensor<D>, ArgumentError> {
    let (leading, _) = Leading::of(&signal);
    let [power] = weights.prepare(operation, signal, options)?.apply::<Dispatch>(*options);
    Ok(leading.unflatten(power, options.bins()))
}

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

/// Window of a Welch estimate, and perhaps a gain of its bins. A window alone converts to one without a gain.
///
/// With a gain, the power of each bin is a combination of its own and its neighbours' powers P, and perhaps of products C
/// with them:
///
/// `gain[k, 0] · P[k−1] + gain[k, 1] · P[k] + gain[k, 2] · P[k+1]` and, with five factors,
/// `+ gain[k, 3] · C[k−1] + gain[k, 4] · C[k]`
///
/// `C[k]` is `2 Re X[k] X*[k+1]` averaged over segments and scaled as `|X[k]|²` is in the power. At the ends of the
/// spectrum the missing neighbour is the mirrored one. A gain of 0 times a power that overflows is NaN.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{WelchOptions, WelchWeights, welch_psd};
///
/// // A gain that adds the power of both neighbours to each bin, for an impulse: 1 at DC and Nyquist, 2 elsewhere.
/// let device = Device::flex();
/// let impulse = Tensor::<1>::from_floats([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &device);
/// let weights = WelchWeights::new(Tensor::ones([8], &device)).with_gain(Some(Tensor::ones([5, 3], &device)));
/// let power: Vec<f32> = welch_psd(impulse, weights, &WelchOptions::new(8, 1))?.into_data().iter().collect();
/// assert_eq!(power, [5.0, 5.0, 6.0, 5.0, 5.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct WelchWeights {
    /// Window, `[n_fft]`.
    pub window: Tensor<1>,
    /// Factors of the bin below, the bin itself and the bin above in each bin's power, `[bins, 3]`, and of the products
    /// with the bin below and with the bin above, `[bins, 5]`. For an even `n_fft`.
    pub gain: Option<Tensor<2>>,
}

impl WelchWeights {
    /// A window without a gain.
    pub fn new(window: Tensor<1>) -> Self {
        Self { window, gain: None }
    }

    /// The same window with another gain.
    pub fn with_gain(self, gain: Option<Tensor<2>>) -> Self {
        Self { gain, ..self }
    }

    /// The checked inputs of a Welch operation, in one type and as rows.
    pub(super) fn prepare<const D: usize, K: SampleKind>(
        self,
        operation: &'static str,
        signal: Tensor<D, K>,
        options: &WelchOptions,
    ) -> Result<inputs::WelchPsd<DispatchTensor>, ArgumentError> {
        let Self { window, gain } = self;
        check::signal(operation, &signal, options)?;
        let mut given = check::InputCheck::of(operation, "signal", &signal)?;
        given.transforms(["signal", "n_fft"], &signal, [options.n_fft, options.segments], None)?;
        let window = given.next("window", window, [options.n_fft])?;
        let gain = match gain {
            Some(gain) => {
                ensure(options.n_fft.is_multiple_of(2), operation, "n_fft", options.n_fft, "even, with a gain")?;
                let (shape, bins) = (gain.dims(), options.bins());
                let is_gain = [POWER_TAPS, PRODUCT_TAPS].iter().any(|&taps| shape == [bins, taps]);
                let expected = format_args!("[{bins}, {POWER_TAPS}] or [{bins}, {PRODUCT_TAPS}]");
                ensure(is_gain, operation, "gain", format_args!("{shape:?}"), expected)?;
                Some(given.next("gain", gain, shape)?.into_dispatch())
            }
            None => None,
        };
        Ok(inputs::WelchPsd { signal: given.samples(signal), window: window.into_dispatch(), gain })
    }
}

impl From<Tensor<1>> for WelchWeights {
    fn from(window: Tensor<1>) -> Self {
        Self::new(window)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, FloatDType};

    use super::*;
    use crate::options::{SegmentSet, Window, WindowSymmetry};

    /// Signal of row `row`, from a congruential generator.
    fn sample(row: usize, time: usize, part: usize) -> f64 {
        let state = ((row * 1_009 + time * 17 + part * 7) as u32).wrapping_mul(2_654_435_761) >> 8;
        f64::from(state) / f64::from(1 << 23) - 1.0
    }

    #[test]
    fn two_sided_power_is_that_of_its_definition() {
        let device = Device::flex();
        for (n, hop, scaling, detrend, chosen) in [
            (16, 8, Scaling::Power, Detrend::None, None),
            (15, 4, Scaling::Spectrum, Detrend::Constant, None),
            (16, 16, Scaling::Density { sample_rate: 2.5 }, Detrend::Constant, Some(vec![0, 2])),
        ] {
            let mut options = WelchOptions::new(n, 3).with_hop(hop).with_scaling(scaling).with_detrend(detrend);
            options.chosen = chosen.clone().map(|chosen| SegmentSet::new(chosen).unwrap());
            let frame = options.frame() + 3;
            let part = |part: usize| {
                let values: Vec<f32> = (0..2 * frame).map(|i| sample(i / frame, i % frame, part) as f32).collect();
                Tensor::<1>::from_floats(&values[..], &device).reshape([1, 2, frame])
            };
            let window = Window::Hann.tensor(n, WindowSymmetry::Periodic, FloatDType::F32, &device);
            let power = welch_psd_complex(ComplexTensor::new(part(0), part(1)), window, &options).unwrap();
            assert_eq!(power.dims(), [1, 2, n]);
            let found: Vec<f32> = power.into_data().iter().collect();
            let weights = Window::Hann.coefficients(n, WindowSymmetry::Periodic);
            let factor = match scaling {
                Scaling::Power => 1.0,
                Scaling::Spectrum => weights.iter().sum::<f64>().powi(2),
                Scaling::Density { sample_rate } => weights.iter().map(|w| w * w).sum::<f64>() * sample_rate,
            };
            let used = chosen.unwrap_or_else(|| vec![0, 1, 2]);
            for row in 0..2 {
                for bin in 0..n {
                    let mut expected = 0.0;
                    for segment in &used {
                        let value = |time: usize, part| f64::from(sample(row, segment * hop + time, part) as f32);
                        let mean = |part| match detrend {
                            Detrend::Constant => (0..n).map(|time| value(time, part)).sum::<f64>() / n as f64,
                            Detrend::None => 0.0,
                        };
                        let (means, mut sum) = ([mean(0), mean(1)], [0.0; 2]);
                        for (time, weight) in weights.iter().enumerate() {
                            let (re, im) = (value(time, 0) - means[0], value(time, 1) - means[1]);
                            let (sin, cos) = (-std::f64::consts::TAU * (bin * time % n) as f64 / n as f64).sin_cos();
                            sum[0] += weight * (re * cos - im * sin);
                            sum[1] += weight * (re * sin + im * cos);
                        }
                        expected += sum[0] * sum[0] + sum[1] * sum[1];
                    }
                    expected /= used.len() as f64 * factor;
                    let error = (f64::from(found[row * n + bin]) - expected).abs();
                    assert!(error <= 1e-5 * (expected + 1.0 / factor), "n {n}, bin {bin}: {error} of {expected}");
                }
            }
        }
    }

    #[test]
    fn signals_that_are_too_short_are_refused() {
        let device = Device::flex();
        let part = || Tensor::<1>::ones([15], &device);
        let error = welch_psd_complex(
            ComplexTensor::new(part(), part()),
            Tensor::ones([16], &device),
            &WelchOptions::new(16, 1),
        );
        assert!(error.unwrap_err().to_string().contains("at least 16"));
    }
}
