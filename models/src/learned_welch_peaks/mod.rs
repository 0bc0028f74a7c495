//! Welch peaks with learned parameters: taper, gates of segments, gain per bin, and perhaps the transform.

mod estimate;
mod gates;

use std::f64::consts::SQRT_2;
use std::ops::RangeInclusive;

use firefly_framework::picker::LearnedSize;
use firefly_ops::WelchWeights;
use firefly_ops::options::{SegmentSet, validate_n_fft};

pub use estimate::{LearnedEstimate, LearnedTransform};
pub use gates::{GateKind, Gates, HardConcrete};

use crate::expect_valid;
use crate::prelude::*;
use crate::welch_peaks::{MAX_MODEL_N_FFT, WelchPeaksConfig};

/// Initial logarithm of the gain from a neighbouring bin: a small gain, but not so small that its gradient vanishes.
const NEIGHBOUR_LOG_GAIN: f64 = -4.0;

/// Welch peaks with learned taper, gates of segments and gain, and perhaps a learned transform.
///
/// Every candidate segment is multiplied by the taper and transformed; the power of the segments is averaged with the
/// segments' gates as weights; the power of each bin becomes a combination of itself and its two neighbours, perhaps with
/// the products with both. The transform is the exact one, or, with
/// [`learned_transform`](LearnedWelchPeaksConfig::learned_transform), a butterfly transform with a gate on each
/// butterfly. With the exact transform and no gain from neighbours this is the estimate of
/// [`WelchPeaks`](crate::WelchPeaks).
///
/// Both results, peaks by [`forward`](Self::forward) and power by [`psd`](Self::psd), are computed with the [`Gates`]
/// that the caller passes:
///
/// - [`hard_gates`](Self::hard_gates), 0 or 1, for running a model;
/// - [`sample_gates`](Self::sample_gates) for training it;
/// - [`mean_gates`](Self::mean_gates) for inspection; they are refused while gates train.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_models::LearnedWelchPeaksConfig;
///
/// let device = Device::flex();
/// let model = LearnedWelchPeaksConfig::new().with_n_fft(64).with_segments(2).with_k(4).init(&device);
/// let frames = Tensor::<2>::random([8, 96], Distribution::Default, &device);
/// let gates = model.hard_gates();
/// assert_eq!(model.forward(frames.clone(), &gates).bins.dims(), [8, 4]);
/// assert_eq!(model.psd(frames, &gates).dims(), [8, 33]);
/// ```
///
/// A training step draws gates anew, and adds a price on what they are expected to leave open, which closes what the
/// loss does not need:
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use firefly_models::LearnedWelchPeaksConfig;
/// let device = Device::flex().autodiff();
/// let model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).init(&device);
/// let frames = Tensor::<2>::ones([8, 24], &device);
/// let power = model.psd(frames, &model.sample_gates());
/// let loss = power.log().mean() + model.expected_butterflies() * 1e-3;
/// let gradients = loss.backward();
/// assert!(model.segment_logits.val().grad(&gradients).is_some());
/// ```
#[derive(Module, Debug)]
pub struct LearnedWelchPeaks {
    /// Learned window, `[n_fft]`.
    pub taper: Param<Tensor<1>>,
    /// Twiddles and gates of butterflies, if the transform is learned; it is the exact one otherwise.
    pub transform: Option<LearnedTransform>,
    /// Logits of the candidate segments' gates, `[segments]`.
    pub segment_logits: Param<Tensor<1>>,
    /// Natural logarithm of the gains from the bin below, the bin itself and the bin above to a bin, `[gains, 3]`: of
    /// each bin, or of the bins that share them ([`LearnedWelchPeaksConfig::gains`]).
    pub log_gain: Param<Tensor<2>>,
    /// Weights of the products with the bin below and with the bin above, `[gains, 2]`, if the gain takes them
    /// ([`LearnedWelchPeaksConfig::product_weight`]); what is beyond −1 and 1 counts as these. A product's factor is its
    /// weight times √(2·g·h), with g the gain of the bin itself and h that from the neighbour: no power is negative, but
    /// for rounding where terms cancel.
    pub product_weights: Option<Param<Tensor<2>>>,
    /// Index of each bin's gain, `[bins]`.
    gain_of_bins: Tensor<1, Int>,
    /// Factors with which gains on one-sided power and products act on two-sided ones, `[bins, 5]`, if the gain takes
    /// products.
    two_sided: Option<Tensor<2>>,
    #[module(skip)]
    config: LearnedWelchPeaksConfig,
}

configured! { LearnedWelchPeaks by LearnedWelchPeaksConfig }

impl LearnedWelchPeaks {
    fn new(config: &LearnedWelchPeaksConfig, device: &Device) -> Result<Self> {
        let options = config.options();
        let gains = config.gains.unwrap_or_else(|| options.bins());
        let neighbour = config.neighbour_gain.map_or(NEIGHBOUR_LOG_GAIN, f64::ln);
        // The power of noise stays as it is, or with the scaling `Spectrum` that of a sinusoid at its bin.
        let divides = config.product_weight.is_some() && config.scaling != Scaling::Spectrum;
        let total = if divides { (1.0 + 2.0 * neighbour.exp()).ln() } else { 0.0 };
        let log_gain = [neighbour - total, -total, neighbour - total].map(|gain| gain as f32).repeat(gains);
        let product_weights =
            config.product_weight.map(|weight| Param::from_tensor(Tensor::full([gains, 2], weight, device)));
        let learned = || LearnedTransform::new(&options, config.open_logit, device);
        let transform = config.learned_transform.then(learned).transpose()?;
        let segment_logits: Vec<f32> = (0..config.segments)
            .map(|segment| {
                let open = config.open_segments.as_ref().is_none_or(|open| open.contains(&segment));
                if open { config.open_logit as f32 } else { -config.open_logit as f32 }
            })
            .collect();
        let segment_logits = Tensor::from_data(TensorData::new(segment_logits, [config.segments]), device);
        let bins = options.bins();
        let gain_of_bins: Vec<i64> = (0..bins).map(|bin| (bin * gains / bins) as i64).collect();
        Ok(Self {
            taper: Param::from_tensor(config.window.tensor(config.n_fft, config.symmetry, FloatDType::F32, device)),
            transform,
            segment_logits: Param::from_tensor(segment_logits),
            log_gain: Param::from_tensor(Tensor::from_data(TensorData::new(log_gain, [gains, 3]), device)),
            product_weights,
            two_sided: config.product_weight.map(|_| two_sided_factors(bins, device)),
            gain_of_bins: Tensor::from_data(TensorData::new(gain_of_bins, [bins]), device),
            config: config.clone(),
        })
    }

    /// The same model with `k` peaks per frame; no weight depends on `k`.
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use firefly_models::LearnedWelchPeaksConfig;
    ///
    /// let device = Device::flex();
    /// let model = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(16).init(&device);
    /// let (gates, signal) = (model.hard_gates(), Tensor::<2>::random([3, 96], Distribution::Default, &device));
    /// let (all, few) = (model.forward(signal.clone(), &gates), model.with_k(5).forward(signal, &gates));
    /// few.bins.into_data().assert_eq(&all.bins.narrow(1, 0, 5).into_data(), true);
    /// ```
    ///
    /// # Panics
    /// With the message of [`try_with_k`](Self::try_with_k)'s error.
    #[track_caller]
    pub fn with_k(self, k: usize) -> Self {
        expect_valid(self.try_with_k(k))
    }

    /// The same model with `k` peaks per frame.
    ///
    /// # Errors
    /// [`ArgumentError`] if `k` is not from 1 to the number of bins.
    pub fn try_with_k(self, k: usize) -> Result<Self> {
        let config = self.config.with_k(k);
        config.validate()?;
        Ok(Self { config, ..self })
    }

    or_panic! { forward<const D> = try_forward(signal: Tensor<D>, gates: &Gates) -> Peaks<D> }

    /// Peaks of each frame of `signal` `[.., frame]`: bins and power `[.., k]`, strongest first.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are shorter than [`options().frame()`](WelchOptions::frame), signal and gates
    /// are not on the model's device, gates have another shape, or mean gates are given to a model whose gates train.
    pub fn try_forward<const D: usize>(&self, signal: Tensor<D>, gates: &Gates) -> Result<Peaks<D>> {
        self.try_estimate(gates)?.try_forward(signal)
    }

    or_panic! { psd<const D> = try_psd(signal: Tensor<D>, gates: &Gates) -> Tensor<D> }

    /// Power of every bin of each frame of `signal` `[.., frame]`: `[.., bins]`, in the signal's unit squared (per
    /// hertz with [`Scaling::Density`]); differentiable in the signal and all parameters.
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_psd<const D: usize>(&self, signal: Tensor<D>, gates: &Gates) -> Result<Tensor<D>> {
        self.try_estimate(gates)?.try_psd(signal)
    }

    /// Options of the Welch estimate over all candidate segments.
    pub fn options(&self) -> WelchOptions {
        self.config.options()
    }

    /// Whether gradients of the logits are tracked.
    fn trains_gates(&self) -> bool {
        let of_butterflies = self.transform.as_ref().is_some_and(|learned| learned.gate_logits.val().is_require_grad());
        of_butterflies || self.segment_logits.val().is_require_grad()
    }

    or_panic! { estimate = try_estimate(gates: &Gates) -> LearnedEstimate }

    /// The estimate with these gates.
    ///
    /// # Errors
    /// [`ArgumentError`] if mean gates are given to a model whose gates train, or butterflies have gates and the transform
    /// is exact, or the other way round.
    pub fn try_estimate(&self, gates: &Gates) -> Result<LearnedEstimate> {
        self.check(gates)?;
        let weights = WelchWeights::new(self.taper.val()).with_gain(Some(self.gain()));
        let of_transform = self.transform.as_ref().zip(gates.butterflies());
        let butterflies = of_transform.map(|(transform, gates)| (transform.twiddles.val(), gates.clone()));
        let (options, k) = (self.options(), self.config.k);
        // Open segments of an exact transform are averaged by the operation; everything else is weighted.
        let (options, segment_weights) = match (gates.open_segments(), &butterflies) {
            (Some(open), None) if open.count() == options.segments => (options, None),
            (Some(open), None) => (options.with_chosen(Some(open)), None),
            _ => (options, Some(gates.weights())),
        };
        Ok(LearnedEstimate { weights, segment_weights, butterflies, options, k })
    }

    /// Checks that gates may be used with this model.
    fn check(&self, gates: &Gates) -> Result<()> {
        const NAME: &str = "LearnedWelchPeaks";
        let may_be_mean = gates.kind() != GateKind::Mean || !self.trains_gates();
        let expected = "sampled gates to train them, or hard gates (those that are exactly 0 or 1 have no gradient)";
        ensure(may_be_mean, NAME, "gates", "mean gates of a model in training", expected)?;
        let shapes = [gates.segments().dims(), [self.config.segments]];
        let [got, expected] = shapes.map(|shape| format!("{shape:?} of segments"));
        ensure(shapes[0] == shapes[1], NAME, "gates", got, expected)?;
        let (learned, given) = (self.transform.is_some(), gates.butterflies().is_some());
        ensure(given || !learned, NAME, "gates", "of segments alone", "gates of butterflies too")?;
        ensure(learned || !given, NAME, "gates", "of butterflies", "of segments alone: the transform is exact")
    }

    /// Gains from the bin below, the bin itself and the bin above to each bin, `[bins, 3]`, and from the products with
    /// both neighbours if there are any, `[bins, 5]`. With products the gains act on two-sided spectra: those at the ends
    /// of the spectrum, and beside them, are half or twice the parameters.
    pub fn gain(&self) -> Tensor<2> {
        let power = self.log_gain.val().exp();
        let of_bins = |gain: Tensor<2>| {
            let ([gains, taps], bins) = (gain.dims(), self.options().bins());
            match gains {
                1 => gain.expand([bins, taps]),
                _ if gains == bins => gain,
                _ => gain.select(0, self.gain_of_bins.clone()),
            }
        };
        let (Some(weights), Some(two_sided)) = (&self.product_weights, &self.two_sided) else { return of_bins(power) };
        let [below, own, above] = [0, 1, 2].map(|tap| self.log_gain.val().narrow(1, tap, 1));
        let largest = ((Tensor::cat(vec![below, above], 1) + own) / 2.0).exp() * SQRT_2;
        // Weights beyond their range keep a gradient, so that they may come back.
        let weights = weights.val();
        let products = (weights.clone() + (weights.clone().clamp(-1.0, 1.0) - weights).detach()) * largest;
        of_bins(Tensor::cat(vec![power, products], 1)) * two_sided.clone()
    }

    /// Expected number of open butterflies per frame, `[1]`, differentiable in the logits: expected open segments times
    /// expected open gates.
    pub fn expected_butterflies(&self) -> Tensor<1> {
        self.expected_open_gates() * self.expected_open_segments()
    }

    /// Expected number of open butterfly gates per segment, `[1]`, differentiable in the logits; all butterflies of the
    /// exact transform.
    pub fn expected_open_gates(&self) -> Tensor<1> {
        match &self.transform {
            Some(transform) => HardConcrete::PAPER.open_probability(transform.gate_logits.val()).sum(),
            None => {
                let all = self.options().with_segments(1).butterflies();
                Tensor::full([1], all as f64, &self.segment_logits.val().device())
            }
        }
    }

    /// Expected number of open segments per frame, at least one of which is always open: `[1]`, differentiable in the
    /// logits.
    pub fn expected_open_segments(&self) -> Tensor<1> {
        let open = HardConcrete::PAPER.open_probability(self.segment_logits.val());
        let none = (-open.clone() + 1.0).log().sum().exp();
        open.sum() + none
    }

    /// Number of butterflies per frame that hard gates leave open: open gates times open segments. Reads the gates
    /// back, which waits for the device.
    ///
    /// ```
    /// use burn::module::Param;
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::LearnedWelchPeaksConfig;
    ///
    /// // One of two segments is closed.
    /// let device = Device::flex();
    /// let mut model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).init(&device);
    /// model.segment_logits = Param::from_tensor(Tensor::from_floats([-3.0, 3.0], &device));
    /// assert_eq!((model.count_open_segments(), model.count_open_butterflies()), (1, 4 * 8));
    /// assert_eq!(model.all_butterflies(), 2 * 4 * 8);
    /// ```
    pub fn count_open_butterflies(&self) -> usize {
        let gates = self.hard_gates();
        let segments = self.options().with_segments(gates.open_segments().map_or(0, SegmentSet::count));
        match gates.butterflies() {
            Some(butterflies) => count(butterflies.clone().sum()) * segments.segments,
            None => segments.butterflies(),
        }
    }

    /// Number of segments per frame that hard gates leave open. Reads the gates back, which waits for the device.
    pub fn count_open_segments(&self) -> usize {
        self.hard_gates().open_segments().map_or(0, SegmentSet::count)
    }

    /// Number of butterflies per frame with every gate open.
    pub fn all_butterflies(&self) -> usize {
        self.options().butterflies()
    }

    /// What the time of the model depends on, besides its options. Reads gates back, which waits for the device.
    pub fn size(&self) -> LearnedSize {
        LearnedSize {
            open: self.count_open_butterflies(),
            all: self.all_butterflies(),
            segments: self.count_open_segments(),
            exact: self.transform.is_none(),
            products: self.product_weights.is_some(),
        }
    }
}

/// Factors with which gains on one-sided power and products act on two-sided ones, `[bins, 5]`: the ends of the spectrum
/// count once in one-sided power, and have one neighbour twice.
fn two_sided_factors(bins: usize, device: &Device) -> Tensor<2> {
    let mut factors = vec![[1.0f32; 5]; bins];
    factors[0] = [0.5, 1.0, 0.5, 0.5, 0.5];
    factors[bins - 1] = factors[0];
    factors[1][0] = 2.0;
    factors[bins - 2][2] = 2.0;
    Tensor::from_data(TensorData::new(factors.concat(), [bins, 5]), device)
}

/// The number in a tensor of one.
fn count(sum: Tensor<1>) -> usize {
    sum.into_data().convert::<f64>().iter::<f64>().sum::<f64>() as usize
}

impl Family for LearnedWelchPeaks {
    configured_by! { LearnedWelchPeaksConfig, "learned_welch_peaks" }

    fn variants() -> Vec<Variant<LearnedWelchPeaksConfig>> {
        let config = LearnedWelchPeaksConfig::new();
        let tiny = config.clone().with_n_fft(16).with_k(3);
        let apart = config.clone().with_hop(Some(128)).with_segments(8).with_open_segments(Some(vec![1, 6]));
        vec![
            Variant::new("learned_welch_peaks", "two segments of 256 samples", config),
            Variant::new(
                "learned_welch_peaks_bearing",
                "two of eight segments of 256 samples, trained on bearing vibrations under loads 0 to 2",
                apart.clone(),
            )
            .with_weights(include_bytes!("../../weights/learned_welch_peaks_bearing.safetensors")),
            Variant::new(
                "learned_welch_peaks_speech",
                "two of eight segments of 256 samples, trained on spoken digits at 8 kHz",
                apart,
            )
            .with_weights(include_bytes!("../../weights/learned_welch_peaks_speech.safetensors")),
            Variant::new(
                "learned_welch_peaks_universal",
                "two of eight segments of 256 samples and products of neighbouring bins, for signals of any kind, untrained",
                LearnedWelchPeaksConfig::universal(256),
            ),
            Variant::new("learned_welch_peaks_tiny", "two segments of 16 samples", tiny),
        ]
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        vec![Input::new("signal", [batch, self.options().frame()])]
    }

    /// Peaks with gates drawn at random where gates train, and hard gates elsewhere.
    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>> {
        const NAME: &str = "LearnedWelchPeaks";
        let [signal] = exactly(NAME, inputs)?;
        let signal = signal.try_float::<2>(NAME, "signal")?;
        let gates = if self.trains_gates() { self.sample_gates() } else { self.hard_gates() };
        let peaks = self.try_forward(signal, &gates)?;
        Ok(vec![peaks.bins.into(), peaks.power.into()])
    }
}

/// Largest initial logit: a gate with a larger one would never close.
const MAX_LOGIT: f64 = 50.0;
/// Initial gains from a neighbour.
const NEIGHBOUR_GAINS: RangeInclusive<f64> = 1e-6..=1e6;

config! {
    /// Configuration of [`LearnedWelchPeaks`].
    ///
    /// The untrained model is close to the exact estimate over the segments that start open.
    ///
    /// ```
    /// use firefly_models::LearnedWelchPeaksConfig;
    ///
    /// let config = LearnedWelchPeaksConfig::new().with_segments(8).with_open_segments(Some(vec![0, 4]));
    /// assert_eq!(config.validate(), Ok(()));
    /// assert!(config.with_segments(2).validate().unwrap_err().to_string().contains("`open_segments` is 4"));
    /// ```
    LearnedWelchPeaksConfig;
    /// Samples in a segment: even; with a learned transform a power of two from 8 to 65,536.
    n_fft: usize = 256;
    /// Samples between the starts of consecutive candidate segments; `n_fft / 2` if `None`.
    hop: Option<usize>;
    /// Candidate segments per frame, each with a gate; at most 128.
    segments: usize = 2;
    /// Indices of the candidates that start open; all of them if `None`.
    open_segments: Option<Vec<usize>>;
    /// Peaks per frame: from 1 to the number of bins, `n_fft / 2 + 1` or those of the band.
    k: usize = 16;
    /// Bins among which peaks are searched; all if `None`.
    band: Option<Band>;
    /// Initial shape of the taper.
    window: Window = "Window::Hann";
    /// Period of that shape: `n_fft` samples (periodic) or `n_fft − 1` (symmetric).
    symmetry: WindowSymmetry = "WindowSymmetry::Periodic";
    /// Scaling of power.
    scaling: Scaling = "Scaling::Power";
    /// Trend removed from each segment.
    detrend: Detrend = "Detrend::None";
    /// Initial logit of an open gate, above 0 and at most 50; a closed segment starts at its negative. The larger it
    /// is, the more steps a price takes to close a gate.
    open_logit: f64 = 3.0;
    /// Initial gain from each neighbour's power relative to that of the bin itself, from 1e-6 to 1e6; 0.018 if `None`.
    neighbour_gain: Option<f64>;
    /// Initial weight of the products with both neighbours, from −1 to 1, if bins take them; they take power alone if
    /// `None`. The initial gains of a bin then add up to 1, which leaves the power of white noise as it is (except with
    /// the scaling `Spectrum`, whose unit is that of sinusoids). With −1 and a rectangular window, power is the mean power
    /// of two windows: see [`universal`](Self::universal).
    product_weight: Option<f64>;
    /// Number of gains, each for as many neighbouring bins: from 1, for all bins, to one per bin; one per bin if
    /// `None`. The more bins share a gain, the fewer frames it takes to learn it.
    gains: Option<usize>;
    /// Whether twiddles and gates of butterflies are parameters too, in place of the exact transform.
    learned_transform: bool = false;
}

impl LearnedWelchPeaksConfig {
    /// An estimate of two segments for signals of any kind, which needs no training. In the mean over nine families of
    /// signals, it finds 3 to 5 of 100 peaks of eight segments more than two segments with a Hann window do.
    ///
    /// The third and the sixth of eight segments that overlap by half are transformed without a window. The power of a
    /// bin is the mean power of two windows, 1 − 0.775 exp(±2πi j/n_fft), each of which takes two bins:
    /// `½ |Y[k] − 0.775 Y[k−1]|² + ½ |Y[k] − 0.775 Y[k+1]|²`, over 1.6, by which white noise gains.
    pub fn universal(n_fft: usize) -> Self {
        Self::new()
            .with_n_fft(n_fft)
            .with_segments(8)
            .with_open_segments(Some(vec![2, 5]))
            .with_window(Window::Rectangular)
            .with_neighbour_gain(Some(0.3))
            .with_product_weight(Some(-1.0))
            .with_gains(Some(1))
    }

    /// [`universal`](Self::universal) in place of an exact estimate: with the length of its segments, their hop, its
    /// scaling and detrending, as many peaks, and its band. The segments of `exact`, their placement and average and
    /// its window have no effect.
    pub fn universal_for(exact: &WelchPeaksConfig) -> Self {
        Self::universal(exact.n_fft)
            .with_hop(exact.hop)
            .with_k(exact.k)
            .with_band(exact.band)
            .with_scaling(exact.scaling)
            .with_detrend(exact.detrend)
    }

    /// Options of the Welch estimate over all candidate segments.
    pub fn options(&self) -> WelchOptions {
        WelchOptions::new(self.n_fft, self.segments)
            .with_hop(self.hop.unwrap_or(self.n_fft / 2))
            .with_scaling(self.scaling)
            .with_detrend(self.detrend)
            .with_band(self.band)
    }

    fn check_fields(&self) -> Result<()> {
        const NAME: &str = "LearnedWelchPeaksConfig";
        let options = self.options();
        options.validate(NAME)?;
        if self.learned_transform {
            validate_n_fft(NAME, "n_fft", self.n_fft).map_err(|error| {
                let expected = format!("{} with learned_transform", error.expected);
                ArgumentError::new(NAME, "n_fft", self.n_fft, expected)
            })?;
        } else {
            let is_length = (4..=MAX_MODEL_N_FFT).contains(&self.n_fft) && self.n_fft.is_multiple_of(2);
            ensure(is_length, NAME, "n_fft", self.n_fft, format_args!("even, and from 4 to {MAX_MODEL_N_FFT}"))?;
        }
        self.window.validate(NAME, self.n_fft)?;
        options.validate_k(NAME, self.k)?;
        if let Some(open) = &self.open_segments {
            ensure(!open.is_empty(), NAME, "open_segments", "empty", "at least one segment")?;
            for (index, segment) in open.iter().enumerate() {
                let got = format!("{segment} again at index {index}");
                ensure(!open[..index].contains(segment), NAME, "open_segments", got, "each candidate once")?;
            }
            for segment in open {
                let expected = format!("candidates below {}", self.segments);
                ensure(*segment < self.segments, NAME, "open_segments", segment, expected)?;
            }
        }
        ensure_most(NAME, "segments", self.segments, SegmentSet::MAX_SEGMENTS)?;
        let bins = options.bins();
        if let Some(gains) = self.gains {
            let expected = format!("from 1 to the number of bins, {bins}");
            ensure((1..=bins).contains(&gains), NAME, "gains", gains, expected)?;
        }
        if let Some(gain) = self.neighbour_gain {
            let expected = format!("from {:e} to {:e}", NEIGHBOUR_GAINS.start(), NEIGHBOUR_GAINS.end());
            ensure(NEIGHBOUR_GAINS.contains(&gain), NAME, "neighbour_gain", gain, expected)?;
        }
        if let Some(weight) = self.product_weight {
            ensure((-1.0..=1.0).contains(&weight), NAME, "product_weight", weight, "from -1 to 1")?;
        }
        let is_logit = self.open_logit > 0.0 && self.open_logit <= MAX_LOGIT;
        ensure(is_logit, NAME, "open_logit", self.open_logit, format_args!("above 0 and at most {MAX_LOGIT}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_out_of_range_are_named() {
        let message = |config: LearnedWelchPeaksConfig| config.validate().unwrap_err().to_string();
        let good = LearnedWelchPeaksConfig::new();
        assert_eq!(good.validate(), Ok(()));
        assert!(message(good.clone().with_n_fft(101)).contains("`n_fft` is 101"));
        assert!(message(good.clone().with_n_fft(1 << 40)).contains("from 4 to 16777216"));
        assert_eq!(good.clone().with_n_fft(100).validate(), Ok(()));
        assert!(message(good.clone().with_n_fft(100).with_learned_transform(true)).contains("with learned_transform"));
        assert!(message(good.clone().with_k(130)).contains("`k` is 130"));
        assert!(message(good.clone().with_segments(0)).contains("`segments` is 0"));
        assert!(message(good.clone().with_open_segments(Some(vec![2]))).contains("`open_segments` is 2"));
        assert!(message(good.clone().with_open_segments(Some(vec![]))).contains("at least one"));
        assert!(message(good.clone().with_open_segments(Some(vec![1, 1]))).contains("each candidate once"));
        assert!(message(good.clone().with_segments(100_000).with_hop(Some(1))).contains("at most 128"));
        assert!(message(good.clone().with_gains(Some(0))).contains("`gains` is 0"));
        assert!(message(good.clone().with_gains(Some(130))).contains("from 1 to the number of bins, 129"));
        assert!(message(good.clone().with_neighbour_gain(Some(0.0))).contains("`neighbour_gain` is 0"));
        assert!(message(good.clone().with_neighbour_gain(Some(f64::NAN))).contains("`neighbour_gain` is NaN"));
        assert!(message(good.clone().with_product_weight(Some(-1.1))).contains("`product_weight` is -1.1"));
        assert!(message(good.clone().with_product_weight(Some(f64::NAN))).contains("from -1 to 1"));
        assert!(message(good.clone().with_open_logit(1e39)).contains("`open_logit`"));
        assert!(message(good.clone().with_open_logit(f64::NAN)).contains("`open_logit`"));
        assert!(message(good.with_hop(Some(0))).contains("`hop` is 0"));
    }
}
