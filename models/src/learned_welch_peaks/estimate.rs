//! Estimate of a learned model with fixed gates, computed once, and the learned transform of its segments: butterflies
//! with twiddles and gates of their own, composed of operations.

use firefly_ops::trend::detrend;
use firefly_ops::twiddles::exact_twiddles;
use firefly_ops::{Direction, WelchWeights, butterfly, welch_peaks, welch_psd};

use crate::prelude::*;
use crate::welch_peaks::strongest;

/// Estimate of a [`LearnedWelchPeaks`](crate::LearnedWelchPeaks) with gates that it was given. A model computes these
/// tensors in each call, which takes a dozen small operations; here they are computed once.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::LearnedWelchPeaksConfig;
///
/// let device = Device::flex();
/// let model = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(4).init(&device);
/// let estimate = model.estimate(&model.hard_gates());
/// for frames in [1, 7] {
///     let signal = Tensor::<2>::ones([frames, 96], &device);
///     assert_eq!(estimate.try_forward(signal)?.bins.dims(), [frames, 4]);
/// }
/// # Ok::<(), firefly_models::ArgumentError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LearnedEstimate {
    pub(super) weights: WelchWeights,
    /// Weight of each segment, `[segments]`, where the options do not choose those that are averaged.
    pub(super) segment_weights: Option<Tensor<1>>,
    /// Twiddles `[log2 n, n/2, 2]` and gates `[log2 n, n/2]` of butterflies, where the transform is learned.
    pub(super) butterflies: Option<(Tensor<3>, Tensor<2>)>,
    pub(super) options: WelchOptions,
    pub(super) k: usize,
}

impl LearnedEstimate {
    /// The same estimate with peaks searched in another band.
    pub fn with_band(self, band: Option<Band>) -> Self {
        Self { options: self.options.with_band(band), ..self }
    }

    /// Options of the Welch estimate: with the segments that hard gates leave open, or all.
    pub fn options(&self) -> &WelchOptions {
        &self.options
    }

    /// Window and gain.
    pub fn weights(&self) -> &WelchWeights {
        &self.weights
    }

    /// Peaks of each frame of `signal` `[.., frame]`: bins and power `[.., k]`, strongest first.
    ///
    /// # Errors
    /// [`ArgumentError`] for frames that are too short, or on another device.
    pub fn try_forward<const D: usize>(&self, signal: Tensor<D>) -> Result<Peaks<D>> {
        if self.segment_weights.is_none() {
            return welch_peaks(signal, self.weights.clone(), &self.options, self.k);
        }
        strongest(self.try_psd(signal)?, self.options.band, self.k)
    }

    /// Power of every bin of each frame of `signal` `[.., frame]`: `[.., bins]`.
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_psd<const D: usize>(&self, signal: Tensor<D>) -> Result<Tensor<D>> {
        let Some(segment_weights) = &self.segment_weights else {
            return welch_psd(signal, self.weights.clone(), &self.options);
        };
        let (mut shape, frame) = (signal.dims(), signal.dims()[D - 1]);
        let (got, expected) = (format!("{frame} samples per row"), format!("at least {}", self.options.frame()));
        ensure(frame >= self.options.frame(), "LearnedWelchPeaks", "signal", got, expected)?;
        shape[D - 1] = self.options.bins();
        let rows: Tensor<2> = signal.reshape([shape[..D - 1].iter().product(), frame]);
        let power = match &self.butterflies {
            Some(butterflies) => self.power_by_butterflies(rows, segment_weights, butterflies)?,
            // A gain is linear, and so may be applied to each segment.
            None => {
                let segments = segments_of_rows(rows, &self.options);
                let power = welch_psd(segments, self.weights.clone(), &self.options.with_segments(1))?;
                let weights = segment_weights.clone().reshape([1, self.options.segments, 1]);
                (power * weights).sum_dim(1).squeeze_dim::<2>(1)
            }
        };
        Ok(power.reshape(shape))
    }

    /// Power `[rows, bins]` of frames `[rows, frame]`: every segment through gated butterflies, then the sum over segments
    /// with `segment_weights` `[segments]`, and the gain.
    fn power_by_butterflies(
        &self,
        signal: Tensor<2>,
        segment_weights: &Tensor<1>,
        (twiddles, gates): &(Tensor<3>, Tensor<2>),
    ) -> Result<Tensor<2>> {
        let Self { weights, options, .. } = self;
        let WelchOptions { n_fft, segments, .. } = *options;
        let ([rows, _], bins) = (signal.dims(), options.bins());
        // Detrending and the window, a row per segment.
        let samples = segments_of_rows(signal, options).reshape([rows * segments, n_fft]);
        let samples = detrend(samples, options.detrend)? * weights.window.clone().unsqueeze::<2>();
        let spectra = butterfly(samples, twiddles.clone(), Some(gates.clone()))?;
        let ComplexTensor { re, im } = spectra.map(|part| part.narrow(1, 0, bins));
        // The weighted sum over segments, scaled.
        let scale = scale_of(&weights.window, options.scaling);
        let sum = |terms: Tensor<2>| -> Tensor<2> {
            let [_, length] = terms.dims();
            let terms: Tensor<3> = terms.reshape([rows, segments, length]);
            let sum: Tensor<2> = (terms * segment_weights.clone().reshape([1, segments, 1])).sum_dim(1).squeeze_dim(1);
            sum * scale.clone().unsqueeze::<2>()
        };
        // Interior bins count twice.
        let [inner_re, inner_im] = [&re, &im].map(|part| part.clone().narrow(1, 1, bins - 2));
        let squares = |re: Tensor<2>, im: Tensor<2>| re.powi_scalar(2) + im.powi_scalar(2);
        let ends = |at: usize| squares(re.clone().narrow(1, at, 1), im.clone().narrow(1, at, 1));
        let power = sum(Tensor::cat(vec![ends(0), squares(inner_re, inner_im) * 2.0, ends(bins - 1)], 1));
        let Some(gain) = &weights.gain else { return Ok(power) };
        // The gain, the spectrum mirrored at its ends.
        let [_, taps] = gain.dims();
        let tap = |at: usize| -> Tensor<2> { gain.clone().narrow(1, at, 1).transpose() };
        let at = |values: &Tensor<2>, first: usize, length: usize| values.clone().narrow(1, first, length);
        let below = Tensor::cat(vec![at(&power, 1, 1), at(&power, 0, bins - 1)], 1);
        let above = Tensor::cat(vec![at(&power, 1, bins - 1), at(&power, bins - 2, 1)], 1);
        let gained = below * tap(0) + power * tap(1) + above * tap(2);
        if taps == 3 {
            return Ok(gained);
        }
        let shifted = |part: &Tensor<2>, first: usize| part.clone().narrow(1, first, bins - 1);
        let products = sum((shifted(&re, 0) * shifted(&re, 1) + shifted(&im, 0) * shifted(&im, 1)) * 2.0);
        let below = Tensor::cat(vec![at(&products, 0, 1), products.clone()], 1);
        let above = Tensor::cat(vec![products.clone(), at(&products, bins - 2, 1)], 1);
        Ok(gained + below * tap(3) + above * tap(4))
    }
}

/// Twiddles and gates of a butterfly transform that are parameters of a model.
///
/// Such a transform takes several times as long as the exact one: each step is an operation of its own, and no two
/// segments share a transform.
#[derive(Module, Debug)]
pub struct LearnedTransform {
    /// Twiddle factors, real part first, `[log2 n_fft, n_fft/2, 2]`.
    pub twiddles: Param<Tensor<3>>,
    /// Logits of the butterflies' gates, `[log2 n_fft, n_fft/2]`.
    pub gate_logits: Param<Tensor<2>>,
}

impl LearnedTransform {
    /// The untrained transform: exact twiddles, and gates with the logit `open_logit`.
    pub(super) fn new(options: &WelchOptions, open_logit: f64, device: &Device) -> Result<Self> {
        let shape = [options.stages(), options.n_fft / 2];
        let twiddles = exact_twiddles(options.n_fft, Direction::Forward, FloatDType::F32, device)?;
        Ok(Self {
            twiddles: Param::from_tensor(twiddles),
            gate_logits: Param::from_tensor(Tensor::full(shape, open_logit, device)),
        })
    }
}

/// The segments of frames `[rows, frame]`, `[rows, segments, n_fft]`.
fn segments_of_rows(signal: Tensor<2>, options: &WelchOptions) -> Tensor<3> {
    signal.narrow(1, 0, options.frame()).unfold(1, options.n_fft, options.hop)
}

/// Factor of the scaling, `[1]`.
fn scale_of(window: &Tensor<1>, scaling: Scaling) -> Tensor<1> {
    match scaling {
        Scaling::Power => Tensor::ones([1], (&window.device(), window.dtype())),
        Scaling::Spectrum => window.clone().sum().powi_scalar(2).recip(),
        Scaling::Density { sample_rate } => (window.clone().powi_scalar(2).sum() * sample_rate).recip(),
    }
}
