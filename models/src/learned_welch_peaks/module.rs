//! The learned model: its parameters, gates, and forward passes.

use burn::module::{Module, Param};
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};
use firefly_ops::{
    ArgumentError, Direction, LearnedParameters, Peaks, Scaling, WelchOptions, exact_twiddles, learned_welch_peaks,
    learned_welch_psd,
};

use super::config::LearnedWelchPeaksConfig;
use super::gain::{block_of_bins, two_sided_factors};
use super::gates::{GateKind, Gates};
use super::halved::HalvedConstants;
use crate::expect_valid;

/// Initial logarithm of the gain from a neighbouring bin: a small gain, but not so small that its gradient vanishes.
const NEIGHBOUR_LOG_GAIN: f64 = -4.0;

/// Welch peaks with learned taper, twiddles, gates and gain.
///
/// Every candidate segment is multiplied by the taper and goes through a butterfly transform with a gate on each
/// butterfly; the power of the segments is averaged with the segments' gates as weights; the power of each bin becomes
/// a combination of itself and its two neighbours, perhaps with the products with both. With exact twiddles, open gates
/// and no gain from neighbours this is the estimate of [`WelchPeaks`](crate::WelchPeaks).
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
/// A training step draws gates anew, and adds a price on the butterflies that are expected to be open, which closes
/// those that the loss does not need:
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
/// assert!(model.gate_logits.val().grad(&gradients).is_some());
/// ```
#[derive(Module, Debug)]
pub struct LearnedWelchPeaks {
    /// Learned window, `[n_fft]`.
    pub taper: Param<Tensor<1>>,
    /// Twiddle factors, real part first, `[log2 n_fft, n_fft/2, 2]`.
    pub twiddles: Param<Tensor<3>>,
    /// Logits of the butterflies' gates, `[log2 n_fft, n_fft/2]`.
    pub gate_logits: Param<Tensor<2>>,
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
    /// Logits of the gates of blocks of bins, `[blocks]`, if blocks have gates
    /// ([`LearnedWelchPeaksConfig::closed_blocks`]).
    pub block_logits: Option<Param<Tensor<1>>>,
    /// Logit of the gate that halves the transform, `[1]`, if there is one ([`LearnedWelchPeaksConfig::halvings`]).
    pub halving_logit: Option<Param<Tensor<1>>>,
    /// Index of each bin's gain, `[bins]`.
    pub(super) gain_of_bins: Tensor<1, Int>,
    /// Index of each bin's block, `[bins]`, if blocks have gates.
    pub(super) block_of_bins: Option<Tensor<1, Int>>,
    /// What the halved transform takes besides the parameters, if there is one.
    pub(super) halved: Option<HalvedConstants>,
    /// Factors with which gains on one-sided power and products act on two-sided ones, `[bins, 5]`, if the gain takes
    /// products.
    pub(super) two_sided: Option<Tensor<2>>,
    #[module(skip)]
    pub(super) config: LearnedWelchPeaksConfig,
}

impl LearnedWelchPeaksConfig {
    /// The untrained module on `device`.
    ///
    /// # Panics
    /// With the message of [`try_init`](Self::try_init)'s error.
    #[track_caller]
    pub fn init(&self, device: &Device) -> LearnedWelchPeaks {
        expect_valid(self.try_init(device))
    }

    /// The untrained module on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn try_init(&self, device: &Device) -> Result<LearnedWelchPeaks, ArgumentError> {
        self.validate()?;
        let options = self.options();
        let gains = self.gains.unwrap_or_else(|| options.bins());
        let neighbour = self.neighbour_gain.map_or(NEIGHBOUR_LOG_GAIN, f64::ln);
        // The power of noise stays as it is, or with the scaling `Spectrum` that of a sinusoid at its bin.
        let divides = self.product_weight.is_some() && self.scaling != Scaling::Spectrum;
        let total = if divides { (1.0 + 2.0 * neighbour.exp()).ln() } else { 0.0 };
        let log_gain = [neighbour - total, -total, neighbour - total].map(|gain| gain as f32).repeat(gains);
        let product_weights =
            self.product_weight.map(|weight| Param::from_tensor(Tensor::full([gains, 2], weight, device)));
        let shape = [options.stages(), self.n_fft / 2];
        let segment_logits: Vec<f32> = (0..self.segments)
            .map(|segment| {
                let open = self.open_segments.as_ref().is_none_or(|open| open.contains(&segment));
                if open { self.open_logit as f32 } else { -self.open_logit as f32 }
            })
            .collect();
        let segment_logits = Tensor::from_data(TensorData::new(segment_logits, [self.segments]), device);
        let bins = options.bins();
        let gain_of_bins: Vec<i64> = (0..bins).map(|bin| (bin * gains / bins) as i64).collect();
        Ok(LearnedWelchPeaks {
            taper: Param::from_tensor(self.window.tensor(self.n_fft, self.symmetry, FloatDType::F32, device)),
            twiddles: Param::from_tensor(exact_twiddles(self.n_fft, Direction::Forward, FloatDType::F32, device)?),
            gate_logits: Param::from_tensor(Tensor::full(shape, self.open_logit, device)),
            segment_logits: Param::from_tensor(segment_logits),
            log_gain: Param::from_tensor(Tensor::from_data(TensorData::new(log_gain, [gains, 3]), device)),
            product_weights,
            two_sided: self.product_weight.map(|_| two_sided_factors(bins, device)),
            block_logits: self.closed_blocks.as_ref().map(|closed| {
                let logit = |block| if closed.contains(&block) { -self.open_logit } else { self.open_logit };
                let logits: Vec<f32> = (0..options.blocks()).map(|block| logit(block) as f32).collect();
                Param::from_tensor(Tensor::from_floats(logits.as_slice(), device))
            }),
            halving_logit: self.halvings.map(|_| Param::from_tensor(Tensor::zeros([1], device))),
            block_of_bins: self.closed_blocks.as_ref().map(|_| block_of_bins(&options, device)),
            halved: HalvedConstants::of(self, device)?,
            gain_of_bins: Tensor::from_data(TensorData::new(gain_of_bins, [bins]), device),
            config: self.clone(),
        })
    }
}

impl LearnedWelchPeaks {
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
    pub fn try_with_k(self, k: usize) -> Result<Self, ArgumentError> {
        let config = self.config.with_k(k);
        config.validate()?;
        Ok(Self { config, ..self })
    }

    /// Peaks of each frame of `signal` `[.., frame]`: bins and power `[.., k]`, strongest first.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward<const D: usize>(&self, signal: Tensor<D>, gates: &Gates) -> Peaks<D> {
        expect_valid(self.try_forward(signal, gates))
    }

    /// Peaks of each frame of `signal` `[.., frame]`: bins and power `[.., k]`, strongest first.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are shorter than [`options().frame()`](WelchOptions::frame), signal and gates
    /// are not on the model's device, gates have another shape, or mean gates are given to a model whose gates train.
    pub fn try_forward<const D: usize>(&self, signal: Tensor<D>, gates: &Gates) -> Result<Peaks<D>, ArgumentError> {
        learned_welch_peaks(signal, self.try_parameters(gates)?, &self.options_with(gates), self.config.k)
    }

    /// Power of every bin of each frame of `signal` `[.., frame]`: `[.., bins]`, in the signal's unit squared (per
    /// hertz with [`Scaling::Density`](crate::Scaling::Density)); differentiable in the signal and all parameters.
    ///
    /// # Panics
    /// With the message of [`try_psd`](Self::try_psd)'s error.
    #[track_caller]
    pub fn psd<const D: usize>(&self, signal: Tensor<D>, gates: &Gates) -> Tensor<D> {
        expect_valid(self.try_psd(signal, gates))
    }

    /// Power of every bin, as [`psd`](Self::psd).
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_psd<const D: usize>(&self, signal: Tensor<D>, gates: &Gates) -> Result<Tensor<D>, ArgumentError> {
        let power = learned_welch_psd(signal, self.try_parameters(gates)?, &self.options_with(gates))?;
        Ok(if gates.halved() { self.with_missing_bins(power) } else { power })
    }

    /// Configuration of the model.
    pub fn config(&self) -> &LearnedWelchPeaksConfig {
        &self.config
    }

    /// Options of the Welch estimate over all candidate segments.
    pub fn options(&self) -> WelchOptions {
        self.config.options()
    }

    /// Whether gradients of the logits are tracked.
    pub(super) fn trains_gates(&self) -> bool {
        let trains = |logits: &Option<Param<Tensor<1>>>| logits.as_ref().is_some_and(|l| l.val().is_require_grad());
        self.gate_logits.val().is_require_grad()
            || self.segment_logits.val().is_require_grad()
            || trains(&self.block_logits)
            || trains(&self.halving_logit)
    }

    /// Arguments of the learned operations with these gates, beside [`options_with`](Self::options_with). [`forward`](Self::forward) computes them in each call,
    /// which takes a dozen small operations; a call of an operation with precomputed arguments is a single one.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::LearnedWelchPeaksConfig;
    /// use firefly_ops::learned_welch_peaks;
    ///
    /// let device = Device::flex();
    /// let model = LearnedWelchPeaksConfig::new().with_n_fft(64).init(&device);
    /// let parameters = model.parameters(&model.hard_gates());
    /// let (options, k) = (model.options_with(&model.hard_gates()), model.config().k);
    /// for frames in [1, 7] {
    ///     let signal = Tensor::<2>::ones([frames, options.frame()], &device);
    ///     let peaks = learned_welch_peaks(signal, parameters.clone(), &options, k)?;
    ///     assert_eq!(peaks.bins.dims(), [frames, k]);
    /// }
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    ///
    /// # Panics
    /// With the message of [`try_parameters`](Self::try_parameters)'s error.
    #[track_caller]
    pub fn parameters(&self, gates: &Gates) -> LearnedParameters {
        expect_valid(self.try_parameters(gates))
    }

    /// Arguments of the learned operations with these gates, as [`parameters`](Self::parameters).
    ///
    /// # Errors
    /// [`ArgumentError`] if mean gates are given to a model whose gates train, and for gates that are not of this model.
    pub fn try_parameters(&self, gates: &Gates) -> Result<LearnedParameters, ArgumentError> {
        self.check(gates)?;
        if gates.halved() {
            return self.parameters_of_sums(gates);
        }
        Ok(LearnedParameters::new(
            self.taper.val(),
            self.twiddles.val(),
            gates.butterflies().clone(),
            gates.weights().clone(),
            self.gated_gain(gates),
        ))
    }

    /// Options of the operations with these gates.
    pub fn options_with(&self, gates: &Gates) -> WelchOptions {
        let halved = if gates.halved() { self.config.halved_options() } else { None };
        halved.unwrap_or_else(|| self.options()).with_skip_closed_blocks(gates.blocks().is_some())
    }

    /// Checks that gates may be used with this model.
    fn check(&self, gates: &Gates) -> Result<(), ArgumentError> {
        if gates.kind() == GateKind::Mean && self.trains_gates() {
            let expected =
                "sampled gates to train them, or hard gates (those that are exactly 0 or 1 have no gradient)";
            return Err(wrong_gates("mean gates of a model in training", expected));
        }
        let blocks = self.block_logits.as_ref().map_or(0, |logits| logits.val().dims()[0]);
        match gates.blocks().map(|blocks| blocks.dims()[0]) {
            Some(found) if found != blocks => {
                Err(wrong_gates(format!("of {found} blocks of bins"), format!("gates of {blocks} blocks")))
            }
            _ => Ok(()),
        }
    }
}

/// Error of gates that a model can't use.
pub(super) fn wrong_gates(got: impl ToString, expected: impl ToString) -> ArgumentError {
    ArgumentError::new("LearnedWelchPeaks", "gates", got.to_string(), expected.to_string())
}
