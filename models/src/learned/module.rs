//! The learned model itself.

use burn::module::{Module, Param};
use burn::tensor::{Int, Tensor};
use firefly_ops::{ArgumentError, LearnedParameters, Peaks, WelchOptions, learned_welch_peaks, learned_welch_psd};

use super::config::LearnedWelchPeaksConfig;
use super::gates::{Gates, HardConcrete, uniform_like};

/// Keeps the sum of segment gates off zero.
const SMALLEST_SUM: f64 = 1e-6;

/// Welch peaks whose taper, butterflies, segments and gain are learned.
///
/// Frames `[batch, frame]` → [`Peaks`] `[batch, k]`. Every candidate segment goes through the taper and the gated
/// butterfly network; the power of the open segments is averaged; and each bin becomes a positive combination of itself
/// and its two neighbours: a gain that knows how the spectrum is shaped, and smooths where that helps.
#[derive(Module, Debug)]
pub struct LearnedWelchPeaks {
    /// `[n_fft]`.
    pub taper: Param<Tensor<1>>,
    /// `[log2 n_fft, n_fft/2, 2]`.
    pub twiddles: Param<Tensor<3>>,
    /// Logits of the butterflies' gates, `[log2 n_fft, n_fft/2]`.
    pub gate_logits: Param<Tensor<2>>,
    /// Logits of the candidate segments' gates, `[segments]`.
    pub segment_logits: Param<Tensor<1>>,
    /// Natural logarithm of what the bin below, the bin itself and the bin above give to each bin, `[bins, 3]`.
    pub log_gain: Param<Tensor<2>>,
    #[module(skip)]
    pub(super) config: LearnedWelchPeaksConfig,
}

impl LearnedWelchPeaks {
    /// Peaks of each row of `signal` `[batch, frame]`, with hard gates: bins and power `[batch, k]`.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are too short or on another device.
    pub fn forward(&self, signal: Tensor<2>) -> Result<Peaks, ArgumentError> {
        self.peaks(signal, &self.hard_gates())
    }

    /// Peaks with gates of the caller's choice.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn peaks(&self, signal: Tensor<2>, gates: &Gates) -> Result<Peaks, ArgumentError> {
        self.strongest(signal, gates, self.config.k)
    }

    /// The `k` strongest bins of each row, with gates and a number of bins of the caller's choice.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and if `k` is not from 1 to the number of bins.
    pub fn strongest(&self, signal: Tensor<2>, gates: &Gates, k: usize) -> Result<Peaks, ArgumentError> {
        learned_welch_peaks(signal, self.parameters(gates), &self.options(), k)
    }

    /// Power of every bin, `[batch, bins]`, with gates of the caller's choice: what a loss is computed on.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn power(&self, signal: Tensor<2>, gates: &Gates) -> Result<Tensor<2>, ArgumentError> {
        learned_welch_psd(signal, self.parameters(gates), &self.options())
    }

    /// One draw of every gate, differentiable in the logits: for training. `uniform` is a source of uniform numbers from
    /// 0 to 1; the same numbers give the same draw, butterflies first.
    ///
    /// A draw that leaves less than one segment open is filled up to one with the segment that hard gates would keep.
    pub fn sample_gates(&self, mut uniform: impl FnMut() -> f32) -> Gates {
        let (butterflies, segments) = (self.gate_logits.val(), self.segment_logits.val());
        let noise = uniform_like(&butterflies, &mut uniform);
        let butterflies = HardConcrete::PAPER.sample(butterflies, noise);
        let noise = uniform_like(&segments, &mut uniform);
        let segments = HardConcrete::PAPER.sample(segments, noise);
        let shortfall = (-segments.clone().sum() + 1.0).clamp_min(0.0);
        Gates { butterflies, segments: segments + self.widest_segment() * shortfall }
    }

    /// Every gate without noise, in `[0, 1]`. A gate further than a logit of 2.4 from closed or open is exactly 0 or 1 here,
    /// without a gradient: train gates with [`sample_gates`](Self::sample_gates).
    pub fn mean_gates(&self) -> Gates {
        Gates {
            butterflies: HardConcrete::PAPER.mean(self.gate_logits.val()),
            segments: HardConcrete::PAPER.mean(self.segment_logits.val()),
        }
    }

    /// Every gate as 0 or 1: open where its value without noise is at least a half, which is where its logit is not
    /// negative. At least one segment stays open: the one with the greatest logit.
    pub fn hard_gates(&self) -> Gates {
        let open = |logits: Tensor<2>| logits.detach().greater_equal_elem(0.0).float();
        let segments = open(self.segment_logits.val().unsqueeze()).squeeze_dim(0);
        Gates { butterflies: open(self.gate_logits.val()), segments: segments.max_pair(self.widest_segment()) }
    }

    /// 1 at the segment with the greatest logit, the first of several, and 0 elsewhere.
    fn widest_segment(&self) -> Tensor<1> {
        let logits = self.segment_logits.val().detach().inner();
        let places = Tensor::<1, Int>::arange(0..logits.dims()[0] as i64, &logits.device());
        places.clone().equal(logits.argmax(0).expand(places.dims())).float()
    }

    /// The expected number of a frame's open butterflies, `[1]`, differentiable in the logits: open segments, of
    /// which there is always one, times open butterflies.
    pub fn expected_butterflies(&self) -> Tensor<1> {
        self.expected_open_gates() * self.expected_open_segments()
    }

    /// The expected number of open gates of one segment's butterflies, `[1]`, differentiable in the logits.
    pub fn expected_open_gates(&self) -> Tensor<1> {
        HardConcrete::PAPER.open_probability(self.gate_logits.val()).sum()
    }

    /// The expected number of open segments, of which there is always one, `[1]`, differentiable in the logits.
    pub fn expected_open_segments(&self) -> Tensor<1> {
        let open = HardConcrete::PAPER.open_probability(self.segment_logits.val());
        let none = (-open.clone() + 1.0).log().sum().exp();
        open.sum() + none
    }

    /// The number of butterflies that hard gates leave open for a frame: open gates times open segments.
    pub fn butterflies(&self) -> usize {
        let Gates { butterflies, segments } = self.hard_gates();
        let count = |tensor: Tensor<1>| tensor.into_data().convert::<f64>().iter::<f64>().sum::<f64>() as usize;
        count(butterflies.sum()) * count(segments.sum())
    }

    /// The number of a frame's butterflies if every gate were open.
    pub fn all_butterflies(&self) -> usize {
        self.options().butterflies()
    }

    /// The configuration the model was made from.
    pub fn config(&self) -> &LearnedWelchPeaksConfig {
        &self.config
    }

    /// The estimate over all candidate segments.
    pub fn options(&self) -> WelchOptions {
        self.config.options()
    }

    fn parameters(&self, gates: &Gates) -> LearnedParameters {
        let total = gates.segments.clone().sum().clamp_min(SMALLEST_SUM);
        LearnedParameters {
            window: self.taper.val(),
            twiddles: self.twiddles.val(),
            gates: gates.butterflies.clone(),
            weights: gates.segments.clone() / total,
            gain: self.log_gain.val().exp(),
        }
    }
}
