//! Gate values, and the hard concrete distribution that they are drawn from.

use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;
use firefly_ops::options::SegmentSet;

/// Smallest sum of segment gates that power is divided by.
const SMALLEST_SUM: f64 = 1e-6;

/// Hard concrete distribution: a binary concrete variable stretched to `(gamma, zeta)` and clamped to `[0, 1]`. A gate
/// is exactly 0 or 1 with positive probability, and the probability of each is a smooth function of its logit.
///
/// After C. Louizos, M. Welling and D. P. Kingma, "Learning sparse neural networks through L0 regularization" (2018).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::learned_welch_peaks::HardConcrete;
///
/// let logits = Tensor::<1>::from_floats([-20.0, 0.0, 20.0], &Device::flex());
/// let values: Vec<f32> = HardConcrete::PAPER.mean(logits).into_data().try_to_vec()?;
/// assert_eq!(values, [0.0, 0.5, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HardConcrete {
    /// Temperature of the concrete distribution.
    pub beta: f64,
    /// Lower end of the stretch, below 0.
    pub gamma: f64,
    /// Upper end of the stretch, above 1.
    pub zeta: f64,
}

impl HardConcrete {
    /// The constants of the paper.
    pub const PAPER: Self = Self { beta: 2.0 / 3.0, gamma: -0.1, zeta: 1.1 };

    /// Gate values in `[0, 1]` for `uniform` noise in `(0, 1)`, all of one shape; differentiable in the logits wherever
    /// the value is neither 0 nor 1.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::learned_welch_peaks::HardConcrete;
    ///
    /// let device = Device::flex();
    /// let logits = Tensor::<1>::zeros([3], &device);
    /// let gates = HardConcrete::PAPER.sample(logits, Tensor::from_floats([0.01, 0.5, 0.99], &device));
    /// assert_eq!(gates.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 0.5, 1.0]);
    /// ```
    pub fn sample<const D: usize>(&self, logits: Tensor<D>, uniform: Tensor<D>) -> Tensor<D> {
        let noise = uniform.clone().log() - (-uniform + 1.0).log();
        self.stretch(sigmoid((logits + noise) / self.beta))
    }

    /// Gate values without noise, of the shape of the logits. Beyond a logit of ±2.4 they are exactly 0 or 1, without
    /// gradient.
    pub fn mean<const D: usize>(&self, logits: Tensor<D>) -> Tensor<D> {
        self.stretch(sigmoid(logits))
    }

    /// Probability that a gate is not exactly 0, of the shape of the logits, differentiable everywhere.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::learned_welch_peaks::HardConcrete;
    ///
    /// let logits = Tensor::<1>::from_floats([-9.0, 0.0, 9.0], &Device::flex());
    /// let open: Vec<f32> = HardConcrete::PAPER.open_probability(logits).into_data().iter().collect();
    /// assert!(open[0] < 0.01 && (open[1] - 0.83).abs() < 0.01 && open[2] > 0.99);
    /// ```
    pub fn open_probability<const D: usize>(&self, logits: Tensor<D>) -> Tensor<D> {
        sigmoid(logits - self.beta * (-self.gamma / self.zeta).ln())
    }

    fn stretch<const D: usize>(&self, concrete: Tensor<D>) -> Tensor<D> {
        (concrete * (self.zeta - self.gamma) + self.gamma).clamp(0.0, 1.0)
    }
}

/// Origin of the values of [`Gates`].
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::learned_welch_peaks::GateKind;
/// use firefly_models::LearnedWelchPeaksConfig;
///
/// let model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).init(&Device::flex());
/// assert_eq!((model.hard_gates().kind(), model.sample_gates().kind()), (GateKind::Hard, GateKind::Sampled));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GateKind {
    /// 0 or 1, by the sign of the logit, for running a trained model. Without gradient.
    Hard,
    /// Drawn at random, for training.
    Sampled,
    /// Without noise, in `[0, 1]`, for inspection: a gate that is exactly 0 or 1 has no gradient.
    Mean,
    /// Chosen by the caller.
    Given,
}

/// Values of all gates of a [`LearnedWelchPeaks`](crate::LearnedWelchPeaks), each in `[0, 1]`.
///
/// Made by the model: [`hard_gates`](crate::LearnedWelchPeaks::hard_gates) for running it,
/// [`sample_gates`](crate::LearnedWelchPeaks::sample_gates) for training it, and
/// [`mean_gates`](crate::LearnedWelchPeaks::mean_gates) for inspection.
#[derive(Debug, Clone)]
pub struct Gates {
    segments: Tensor<1>,
    butterflies: Option<Tensor<2>>,
    chosen: Option<SegmentSet>,
    kind: GateKind,
}

impl Gates {
    /// Gates of segments of the caller's choice, `[segments]`, on the model's device, of kind [`GateKind::Given`].
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::learned_welch_peaks::Gates;
    /// use firefly_models::LearnedWelchPeaksConfig;
    ///
    /// // The second segment counts half as much as the first.
    /// let device = Device::flex();
    /// let model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).init(&device);
    /// let gates = Gates::new(Tensor::from_floats([1.0, 0.5], &device));
    /// assert_eq!(model.psd(Tensor::<2>::ones([1, 24], &device), &gates).dims(), [1, 9]);
    /// ```
    pub fn new(segments: Tensor<1>) -> Self {
        Self::of_kind(GateKind::Given, segments, None)
    }

    pub(super) fn of_kind(kind: GateKind, segments: Tensor<1>, butterflies: Option<Tensor<2>>) -> Self {
        Self { segments, butterflies, chosen: None, kind }
    }

    /// The same gates, whose segments are known to be 1 for those of a set and 0 for others.
    pub(super) fn with_chosen(self, chosen: SegmentSet) -> Self {
        Self { chosen: Some(chosen), ..self }
    }

    /// The same gates with others of butterflies, `[log2 n_fft, n_fft/2]`, for a model whose transform is learned.
    pub fn with_butterflies(self, butterflies: Option<Tensor<2>>) -> Self {
        Self { butterflies, ..self }
    }

    /// One gate per segment, `[segments]`.
    pub fn segments(&self) -> &Tensor<1> {
        &self.segments
    }

    /// One gate per butterfly, `[log2 n_fft, n_fft/2]`, of a model whose transform is learned.
    pub fn butterflies(&self) -> Option<&Tensor<2>> {
        self.butterflies.as_ref()
    }

    /// The open segments of hard gates.
    pub fn open_segments(&self) -> Option<SegmentSet> {
        self.chosen
    }

    /// Weight of each segment in the power, `[segments]`: its gate over the sum of all gates.
    pub(super) fn weights(&self) -> Tensor<1> {
        self.segments.clone() / self.segments.clone().sum().clamp_min(SMALLEST_SUM)
    }

    /// Origin of the values.
    pub fn kind(&self) -> GateKind {
        self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    fn values(tensor: Tensor<1>) -> Vec<f32> {
        tensor.into_data().try_to_vec().unwrap()
    }

    #[test]
    fn far_logits_are_exactly_closed_or_open_whatever_the_noise() {
        let device = Device::flex();
        let logits = Tensor::<1>::from_floats([-20.0, 20.0], &device);
        for uniform in [0.01, 0.5, 0.99] {
            let noise = Tensor::full([2], uniform, &device);
            assert_eq!(values(HardConcrete::PAPER.sample(logits.clone(), noise)), [0.0, 1.0]);
        }
        assert_eq!(values(HardConcrete::PAPER.mean(logits)), [0.0, 1.0]);
    }

    #[test]
    fn the_open_probability_is_the_share_of_samples_above_zero() {
        let device = Device::flex();
        let draws = 20_001;
        for logit in [-2.0f32, -0.5, 1.0] {
            let uniform: Vec<f32> = (0..draws).map(|i| (i as f32 + 0.5) / draws as f32).collect();
            let uniform = Tensor::<1>::from_floats(uniform.as_slice(), &device);
            let samples = values(HardConcrete::PAPER.sample(Tensor::full([draws], logit, &device), uniform));
            let share = samples.iter().filter(|value| **value > 0.0).count() as f32 / draws as f32;
            let expected = values(HardConcrete::PAPER.open_probability(Tensor::full([1], logit, &device)))[0];
            assert!((share - expected).abs() < 2e-4, "logit {logit}: {share} of samples, {expected} expected");
        }
    }
}
