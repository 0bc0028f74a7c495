//! The learned model itself.

use burn::module::{Module, Param};
use burn::tensor::{Tensor, TensorData};
use firefly_ops::{ArgumentError, LearnedParameters, Peaks, WelchOptions, learned_welch_peaks, learned_welch_psd};

use super::config::LearnedWelchPeaksConfig;
use super::gates::{GateNoise, Gates, HardConcrete};

/// A gate at or above this is open when gates are hard.
const THRESHOLD: f32 = 0.5;
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
    pub fn sample_gates(&self, noise: GateNoise) -> Gates {
        Gates {
            butterflies: HardConcrete::PAPER.sample(self.gate_logits.val(), noise.butterflies),
            segments: HardConcrete::PAPER.sample(self.segment_logits.val(), noise.segments),
        }
    }

    /// Every gate without noise, in `[0, 1]`, differentiable in the logits.
    pub fn mean_gates(&self) -> Gates {
        Gates {
            butterflies: HardConcrete::PAPER.mean(self.gate_logits.val()),
            segments: HardConcrete::PAPER.mean(self.segment_logits.val()),
        }
    }

    /// Every gate as 0 or 1. At least one segment stays open: the one whose gate is widest.
    pub fn hard_gates(&self) -> Gates {
        let Gates { butterflies, segments } = self.mean_gates();
        let device = segments.device();
        let widest: Vec<f32> = segments.detach().into_data().convert::<f32>().iter().collect();
        let most = widest.iter().copied().fold(f32::MIN, f32::max).min(THRESHOLD);
        let open: Vec<f32> = widest.iter().map(|gate| f32::from(*gate >= most)).collect();
        let segments = Tensor::from_data(TensorData::new(open, [widest.len()]), &device);
        Gates { butterflies: butterflies.detach().greater_equal_elem(THRESHOLD).float(), segments }
    }

    /// The expected number of butterflies executed for a frame, `[1]`, differentiable in the logits: open segments times
    /// open butterflies.
    pub fn expected_butterflies(&self) -> Tensor<1> {
        let butterflies = HardConcrete::PAPER.open_probability(self.gate_logits.val()).sum();
        let segments = HardConcrete::PAPER.open_probability(self.segment_logits.val()).sum();
        butterflies * segments
    }

    /// The number of butterflies that hard gates execute for a frame.
    pub fn butterflies(&self) -> usize {
        let Gates { butterflies, segments } = self.hard_gates();
        let count = |tensor: Tensor<1>| tensor.into_data().convert::<f64>().iter::<f64>().sum::<f64>() as usize;
        count(butterflies.sum()) * count(segments.sum())
    }

    /// The number of butterflies executed for a frame if every gate were open.
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
