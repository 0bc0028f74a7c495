//! A Welch estimate whose window, transform and gain are parameters.

use burn::backend::Dispatch;
use burn::tensor::{Tensor, TensorData};

use super::check;
use super::leading_dimensions::Leading;
use super::peaks::Peaks;
use crate::error::{ArgumentError, ensure};
use crate::halved::halved;
use crate::ops::{LearnedTensors, POWER_TAPS, PRODUCT_TAPS, SpectralOps};
use crate::options::{Direction, WelchOptions, validate_n_fft};
use crate::twiddles::exact_twiddles;

/// Parameters of a learned Welch estimate.
///
/// With a window, [exact twiddles](crate::exact_twiddles), open gates, weights `1/segments` and gain `[0, 1, 0]` it is
/// [`welch_psd`](crate::welch_psd), as long as no power overflows: a gain of 0 times infinity is NaN.
///
/// With exact twiddles, open gates and one weight for all segments that have one, whatever the window and the gain, the
/// estimate takes little longer than [`welch_peaks`](crate::welch_peaks) of as many segments: see the guide on learned
/// estimates.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{LearnedParameters, WelchOptions, learned_welch_psd};
///
/// // A gain that adds the power of both neighbours to each bin, for an impulse: 1 at DC and Nyquist, 2 elsewhere.
/// let device = Device::flex();
/// let impulse = Tensor::<1>::from_floats([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &device);
/// let options = WelchOptions::new(8, 1);
/// let exact = LearnedParameters::exact(Tensor::ones([8], &device), &options)?;
/// let smoothed = exact.with_gain(Tensor::ones([5, 3], &device));
/// let power: Vec<f32> = learned_welch_psd(impulse, smoothed, &options)?.into_data().iter().collect();
/// assert_eq!(power, [5.0, 5.0, 6.0, 5.0, 5.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct LearnedParameters {
    /// Window, `[n_fft]`.
    pub window: Tensor<1>,
    /// Twiddle factors of [`butterfly`](crate::butterfly), `[log2 n_fft, n_fft/2, 2]`.
    pub twiddles: Tensor<3>,
    /// Gates of [`butterfly`](crate::butterfly), `[log2 n_fft, n_fft/2]`.
    pub gates: Tensor<2>,
    /// Weight of each segment's power, `[segments]`, not negative; a segment of weight 0 is not computed.
    pub weights: Tensor<1>,
    /// Factors of the bin below, the bin itself and the bin above in each bin's power, `[bins, 3]`. With `[bins, 5]`,
    /// the last two are factors of the products of the bin with the bin below and with the bin above, `2 Re Y[k−1] Y*[k]`
    /// and `2 Re Y[k] Y*[k+1]`, summed as power is. At the ends of the spectrum, the missing neighbour is the mirrored
    /// one.
    ///
    /// A [block](WelchOptions::blocks) of bins whose factors are all 0 is closed: it may be left out of the search for peaks
    /// ([`skip_closed_blocks`](WelchOptions::skip_closed_blocks)), which takes less time.
    pub gain: Tensor<2>,
}

impl LearnedParameters {
    /// The parameters, of the shapes that the fields state; checked when an operation takes them.
    pub fn new(window: Tensor<1>, twiddles: Tensor<3>, gates: Tensor<2>, weights: Tensor<1>, gain: Tensor<2>) -> Self {
        Self { window, twiddles, gates, weights, gain }
    }

    /// The parameters that make the estimate [`welch_psd`](crate::welch_psd), on the device and in the type of
    /// `window`.
    ///
    /// # Errors
    /// [`ArgumentError`] for options out of range.
    pub fn exact(window: Tensor<1>, options: &WelchOptions) -> Result<Self, ArgumentError> {
        const NAME: &str = "LearnedParameters::exact";
        options.validate(NAME)?;
        validate_n_fft(NAME, "n_fft", options.n_fft)?;
        let (device, dtype) = (window.device(), window.dtype());
        let gain = Tensor::<1>::from_data(TensorData::from([0.0, 1.0, 0.0]), (&device, dtype));
        Ok(Self {
            twiddles: exact_twiddles(options.n_fft, Direction::Forward, dtype.into(), &device)?,
            gates: Tensor::ones([options.stages(), options.n_fft / 2], (&device, dtype)),
            weights: Tensor::full([options.segments], 1.0 / options.segments as f64, (&device, dtype)),
            gain: gain.unsqueeze::<2>().expand([options.bins(), POWER_TAPS]),
            window,
        })
    }

    /// The same parameters with another window.
    pub fn with_window(self, window: Tensor<1>) -> Self {
        Self { window, ..self }
    }

    /// The same parameters with other twiddle factors.
    pub fn with_twiddles(self, twiddles: Tensor<3>) -> Self {
        Self { twiddles, ..self }
    }

    /// The same parameters with other gates.
    pub fn with_gates(self, gates: Tensor<2>) -> Self {
        Self { gates, ..self }
    }

    /// The same parameters with other weights of the segments.
    pub fn with_weights(self, weights: Tensor<1>) -> Self {
        Self { weights, ..self }
    }

    /// The same parameters with another gain.
    pub fn with_gain(self, gain: Tensor<2>) -> Self {
        Self { gain, ..self }
    }
}

/// Power of each row through learned parameters.
///
/// Each segment is windowed and goes through the butterfly transform; `P[k]` is the weighted sum over segments of the
/// one-sided `|Y[k]|²`, scaled as in [`welch_psd`](crate::welch_psd); the result is
/// `gain[k, 0] · P[k−1] + gain[k, 1] · P[k] + gain[k, 2] · P[k+1]`: a gain per bin that may also smooth over the
/// neighbours. A gain of five factors adds `gain[k, 3] · C[k−1] + gain[k, 4] · C[k]`, with `C[k]` the same sum of
/// `2 Re Y[k] Y*[k+1]`. Scaling a signal by `c` scales its power by `c²`, whatever the parameters.
///
/// - `signal`: `[.., frame]`, of any rank from 1; returns power `[.., bins]`.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_ops::{LearnedParameters, WelchOptions, learned_welch_peaks, learned_welch_psd, welch_psd};
///
/// // Exact parameters give Welch's estimate; halved weights half of it.
/// let device = Device::flex();
/// let options = WelchOptions::new(16, 2);
/// let signal = Tensor::<2>::random([3, options.frame()], Distribution::Default, &device);
/// let parameters = LearnedParameters::exact(Tensor::ones([16], &device), &options)?;
/// let expected = welch_psd(signal.clone(), parameters.window.clone(), &options)?;
/// let power = learned_welch_psd(signal.clone(), parameters.clone(), &options)?;
/// assert!((power - expected.clone()).abs().max().into_scalar::<f32>() < 1e-3);
///
/// let halved = parameters.clone().with_weights(parameters.weights / 2.0);
/// let peaks = learned_welch_peaks(signal, halved, &options, 1)?;
/// assert!((peaks.power * 2.0 - expected.max_dim(1)).abs().max().into_scalar::<f32>() < 1e-3);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] as [`welch_psd`](crate::welch_psd), and for parameters of another shape or device.
pub fn learned_welch_psd<const D: usize>(
    signal: Tensor<D>,
    parameters: LearnedParameters,
    options: &WelchOptions,
) -> Result<Tensor<D>, ArgumentError> {
    let (leading, _) = Leading::of(&signal);
    let tensors = prepare("learned_welch_psd", signal, parameters, options)?;
    let tensors = LearnedTensors { signal: halved::<Dispatch>(tensors.signal, options.halvings), ..tensors };
    Ok(leading.unflatten(Dispatch::learned_welch_psd(tensors, options.with_halvings(0)), options.bins()))
}

/// The `k` strongest bins of [`learned_welch_psd`]; of those of open blocks, where the options skip closed ones.
///
/// - `signal`: `[.., frame]`, of any rank from 1; `k`: from 1 to the number of bins; returns bins and power, `[.., k]`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{LearnedParameters, WelchOptions, learned_welch_peaks};
///
/// // A gain that takes the power of each bin from the bin below moves a peak up by one bin.
/// let device = Device::flex();
/// let options = WelchOptions::new(8, 1);
/// let exact = LearnedParameters::exact(Tensor::ones([8], &device), &options)?;
/// let below = Tensor::<1>::from_floats([1.0, 0.0, 0.0], &device).unsqueeze::<2>().expand([5, 3]);
/// let signal = Tensor::<1>::from_floats([0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0], &device); // bin 2
/// let peaks = learned_welch_peaks(signal, exact.with_gain(below), &options, 1)?;
/// assert_eq!(peaks.bins.into_data().iter::<i64>().collect::<Vec<_>>(), [3]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// As [`learned_welch_psd`], and for `k` out of range.
pub fn learned_welch_peaks<const D: usize>(
    signal: Tensor<D>,
    parameters: LearnedParameters,
    options: &WelchOptions,
    k: usize,
) -> Result<Peaks<D>, ArgumentError> {
    const NAME: &str = "learned_welch_peaks";
    let (leading, _) = Leading::of(&signal);
    let bins = check::bin_dtype(&signal.device(), options.bins());
    let tensors = prepare(NAME, signal, parameters, options)?;
    options.validate_k(NAME, k)?;
    let (bins, power) = Dispatch::learned_welch_peaks(tensors, *options, k, bins);
    Ok(Peaks::of_rows(&leading, bins, power, k))
}

fn prepare<const D: usize>(
    operation: &'static str,
    signal: Tensor<D>,
    parameters: LearnedParameters,
    options: &WelchOptions,
) -> Result<LearnedTensors<Dispatch>, ArgumentError> {
    validate_n_fft(operation, "n_fft", options.n_fft)?;
    check::signal(operation, &signal, options)?;
    let (n, bins, stages) = (options.n_fft, options.bins(), options.stages());
    let LearnedParameters { window, twiddles, gates, weights, gain } = parameters;
    let mut inputs = check::InputCheck::of(operation, "signal", &signal)?;
    let gain_shape = gain.dims();
    let is_gain = [POWER_TAPS, PRODUCT_TAPS].iter().any(|&taps| gain_shape == [bins, taps]);
    let expected = format_args!("[{bins}, {POWER_TAPS}] or [{bins}, {PRODUCT_TAPS}]");
    ensure(is_gain, operation, "gain", format_args!("{gain_shape:?}"), expected)?;
    inputs.transforms(["signal", "n_fft"], &signal, [n, options.segments], true)?;
    Ok(LearnedTensors {
        window: inputs.next("window", window, [n])?.into_dispatch(),
        twiddles: inputs.next("twiddles", twiddles, [stages, n / 2, 2])?.into_dispatch(),
        gates: inputs.next("gates", gates, [stages, n / 2])?.into_dispatch(),
        weights: inputs.next("weights", weights, [options.segments])?.into_dispatch(),
        gain: inputs.next("gain", gain, gain_shape)?.into_dispatch(),
        signal: Leading::of(&signal).0.flatten(inputs.first(signal)),
    })
}
