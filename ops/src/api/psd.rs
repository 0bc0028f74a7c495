//! Welch's averaged periodogram with a window and perhaps a gain, and the power spectrum of rows as wholes.

use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::Tensor;

use super::check::{self, InputCheck};
use super::fft::{ComplexTensor, fft};
use super::rows::{Leading, SampleKind};
use super::segments::{averaged, scale, segments, windowed};
use crate::error::{ArgumentError, Result, ensure};
use crate::op::inputs;
use crate::options::{POWER_TAPS, PRODUCT_TAPS, PowerSpectrumOptions, WelchOptions};

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
/// on different devices; for a median with a gain.
pub fn welch_psd<const D: usize, K: SampleKind>(
    signal: Tensor<D, K>,
    weights: impl Into<WelchWeights>,
    options: &WelchOptions,
) -> Result<Tensor<D>> {
    welch_psd_of("welch_psd", signal, weights.into(), options)
}

/// Averaged two-sided power of each row of a complex signal, by Welch's method.
///
/// - `signal`: `[.., frame]`, of any rank from 1, in any unit, also as a real and an imaginary part of integers; `frame` at
///   least [`options.frame()`](WelchOptions::frame).
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
    signal: impl Into<ComplexTensor<D>>,
    window: Tensor<1>,
    options: &WelchOptions,
) -> Result<Tensor<D>> {
    welch_psd_complex_of("welch_psd_complex", signal, Some(window), options)
}

/// [`welch_psd_complex`] for `operation`, which errors name; with a window of ones if there is none.
pub(super) fn welch_psd_complex_of<const D: usize>(
    operation: &'static str,
    signal: impl Into<ComplexTensor<D>>,
    window: Option<Tensor<1>>,
    options: &WelchOptions,
) -> Result<Tensor<D>> {
    let n_fft = options.n_fft;
    let ComplexTensor { re, im } = signal.into();
    check::signal(operation, "signal", &re, &options.with_band(None))?;
    options.band.map_or(Ok(()), |band| band.validate(operation, n_fft))?;
    let mut inputs = InputCheck::of(operation, "signal.re", &re)?;
    let im = inputs.next("signal.im", im, re.dims())?;
    let window = match window {
        Some(window) => inputs.next("window", window, [n_fft])?,
        None => inputs.ones([n_fft]),
    };
    let (leading, _) = Leading::of(&re);
    let [re, im] =
        [inputs.first(re), im].map(|part| windowed(Tensor::from_dispatch(leading.flatten(part)), &window, options));
    let parts = ComplexTensor { re: re?, im: im? };
    // Only a device's limits are left that a transform may not fit.
    let spectra = fft(parts).map_err(|error| ArgumentError {
        operation,
        argument: if error.argument == "n" { "n_fft" } else { "signal" },
        ..error
    })?;
    let power = averaged(spectra.abs_squared(), options.average)? * scale(&window, options.scaling);
    Ok(leading.unflatten(power.into_dispatch(), n_fft))
}

/// [`welch_psd`] for `operation`, which errors name.
pub(super) fn welch_psd_of<const D: usize, K: SampleKind>(
    operation: &'static str,
    signal: Tensor<D, K>,
    weights: WelchWeights,
    options: &WelchOptions,
) -> Result<Tensor<D>> {
    let (leading, _) = Leading::of(&signal);
    let power = match weights.prepare(operation, signal, options)? {
        Estimate::Fused(inputs) => {
            let [power] = inputs.apply::<Dispatch>(*options);
            power
        }
        Estimate::Composed(power) => power.into_dispatch(),
    };
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
) -> Result<Tensor<D>> {
    const NAME: &str = "power_spectrum";
    let welch = whole_row(NAME, &signal, options)?;
    let window = match window {
        Some(window) => window,
        None => InputCheck::of(NAME, "signal", &signal)?.ones([welch.n_fft]),
    };
    welch_psd_of(NAME, signal, WelchWeights::new(window), &welch)
}

/// Two-sided power |X|² of the transform of each row of a complex signal, of any length: a
/// [`welch_psd_complex`](crate::welch_psd_complex) of one segment that is the whole row, and `scipy.signal.periodogram`
/// with its scalings.
///
/// - `signal`: `[.., n]`, of any rank from 1, with n from 1 on, also as a real and an imaginary part of integers.
/// - `window`: `[n]`; ones if `None`.
/// - returns power `[.., n]` in the order of [`fftfreq`](crate::fft::fftfreq).
///
/// Differentiable in the signal and in the window.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::ComplexTensor;
/// use firefly_ops::{PowerSpectrumOptions, Scaling, power_spectrum_complex};
///
/// // Amplitude 2 at the frequency −1 of 4, which is bin 3.
/// let device = Device::flex();
/// let (re, im) = ([2.0, 0.0, -2.0, 0.0], [0.0, -2.0, 0.0, 2.0]);
/// let signal = ComplexTensor::<1>::new(Tensor::from_floats(re, &device), Tensor::from_floats(im, &device));
/// let options = PowerSpectrumOptions::new().with_scaling(Scaling::Spectrum);
/// let power: Vec<f32> = power_spectrum_complex(signal, None, &options)?.into_data().iter().collect();
/// assert!(power.iter().zip([0.0, 0.0, 0.0, 4.0]).all(|(got, expected)| (got - expected).abs() < 1e-6));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for rows without samples, a window of another length, a sample rate that is not positive, or parts
/// of different shapes or devices.
pub fn power_spectrum_complex<const D: usize>(
    signal: impl Into<ComplexTensor<D>>,
    window: Option<Tensor<1>>,
    options: &PowerSpectrumOptions,
) -> Result<Tensor<D>> {
    const NAME: &str = "power_spectrum_complex";
    let signal = signal.into();
    let welch = whole_row(NAME, &signal.re, options)?;
    welch_psd_complex_of(NAME, signal, window, &welch)
}

/// The estimate of one segment that is a whole row of `signal`.
fn whole_row<const D: usize, K: SampleKind>(
    operation: &'static str,
    signal: &Tensor<D, K>,
    options: &PowerSpectrumOptions,
) -> Result<WelchOptions> {
    let (_, n) = Leading::of(signal);
    ensure(n >= 1, operation, "signal", format_args!("{n} samples per row"), "at least 1")?;
    Ok(WelchOptions::new(n, 1).with_hop(n).with_scaling(options.scaling).with_detrend(options.detrend))
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

    /// Checks the inputs of a Welch operation, and composes what no kernel computes.
    pub(super) fn prepare<const D: usize, K: SampleKind>(
        self,
        operation: &'static str,
        signal: Tensor<D, K>,
        options: &WelchOptions,
    ) -> Result<Estimate> {
        check::signal(operation, "signal", &signal, options)?;
        if options.validate_for_kernels(operation).is_err() {
            self.gain.as_ref().map_or(Ok(()), |_| options.validate_mean(operation, "mean, with a gain"))?;
            let segments = segments(InputCheck::of(operation, "signal", &signal)?.rows(signal), options)?;
            let single = WelchOptions::new(options.n_fft, 1).with_scaling(options.scaling);
            let power = welch_psd_of(operation, segments, self, &single)?;
            return averaged(power, options.average).map(Estimate::Composed);
        }
        let Self { window, gain } = self;
        let mut given = InputCheck::of(operation, "signal", &signal)?;
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
        let (signal, window) = (given.samples(signal), window.into_dispatch());
        Ok(Estimate::Fused(inputs::WelchPsd { signal, window, gain }))
    }
}

/// How the power of rows is estimated.
#[allow(clippy::large_enum_variant, reason = "one is made per call")]
pub(super) enum Estimate {
    /// By kernels, from inputs in one type and as rows.
    Fused(inputs::WelchPsd<DispatchTensor>),
    /// By a composition of operations, for a line as trend or a median: `[rows, bins]`.
    Composed(Tensor<2>),
}

impl From<Tensor<1>> for WelchWeights {
    fn from(window: Tensor<1>) -> Self {
        Self::new(window)
    }
}
