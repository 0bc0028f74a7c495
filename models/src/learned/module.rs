//! The learned model itself.

use burn::module::{Module, Param};
use burn::tensor::{Tensor, TensorData};
use firefly_ops::{ArgumentError, LearnedParameters, Peaks, WelchOptions, learned_welch_peaks, learned_welch_psd};

use super::config::LearnedWelchPeaksConfig;
use super::gates::{GateNoise, Gates, HardConcrete};

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

    /// Peaks with gates of the caller's choice. Hard gates read back to the host: take them once for many batches.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn peaks(&self, signal: Tensor<2>, gates: &Gates) -> Result<Peaks, ArgumentError> {
        learned_welch_peaks(signal, self.parameters(gates), &self.options(), self.config.k)
    }

    /// Power of every bin, `[batch, bins]`, with gates of the caller's choice: what a loss is computed on.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn power(&self, signal: Tensor<2>, gates: &Gates) -> Result<Tensor<2>, ArgumentError> {
        learned_welch_psd(signal, self.parameters(gates), &self.options())
    }

    /// One draw of every gate, differentiable in the logits: for training.
    ///
    /// A draw that leaves less than one segment open is filled up to one with the segment that hard gates would keep.
    pub fn sample_gates(&self, noise: GateNoise) -> Gates {
        let logits = self.segment_logits.val();
        let drawn = HardConcrete::PAPER.sample(logits.clone(), noise.segments);
        let widest = logits.clone().detach().equal(logits.detach().max()).float();
        let shortfall = (-drawn.clone().sum() + 1.0).clamp_min(0.0);
        Gates {
            butterflies: HardConcrete::PAPER.sample(self.gate_logits.val(), noise.butterflies),
            segments: drawn + widest * shortfall,
        }
    }

    /// Every gate without noise, in `[0, 1]`, differentiable in the logits.
    pub fn mean_gates(&self) -> Gates {
        Gates {
            butterflies: HardConcrete::PAPER.mean(self.gate_logits.val()),
            segments: HardConcrete::PAPER.mean(self.segment_logits.val()),
        }
    }

    /// Every gate as 0 or 1: open where its value without noise is at least a half, which is where its logit is not
    /// negative. At least one segment stays open: the one with the greatest logit.
    pub fn hard_gates(&self) -> Gates {
        let logits = self.segment_logits.val().detach();
        let device = logits.device();
        let logits: Vec<f32> = logits.into_data().iter().collect();
        let threshold = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max).min(0.0);
        let open: Vec<f32> = logits.iter().map(|logit| f32::from(*logit >= threshold)).collect();
        Gates {
            butterflies: self.gate_logits.val().detach().greater_equal_elem(0.0).float(),
            segments: Tensor::from_data(TensorData::new(open, [logits.len()]), &device),
        }
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

    /// The expected number of open segments, at least one, `[1]`, differentiable in the logits.
    pub fn expected_open_segments(&self) -> Tensor<1> {
        HardConcrete::PAPER.open_probability(self.segment_logits.val()).sum().clamp_min(1.0)
    }

    /// The number of butterflies that hard gates leave open for a frame: open gates times open segments.
    pub fn butterflies(&self) -> usize {
        let Gates { butterflies, segments } = self.hard_gates();
        let count = |tensor: Tensor<1>| tensor.into_data().convert::<f64>().iter::<f64>().sum::<f64>() as usize;
        count(butterflies.sum()) * count(segments.sum())
    }

    /// The number of a frame's butterflies if every gate were open.
    pub fn all_butterflies(&self) -> usize {
        let options = self.options();
        options.segments * options.stages() * options.n_fft / 2
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
