//! Gate values of a learned model, drawn, without noise and hard, and the hard concrete distribution that they are drawn
//! from.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Distribution, Int, Tensor};
use firefly_ops::ArgumentError;
use firefly_ops::options::SegmentSet;

use super::LearnedWelchPeaks;
use crate::{ensure, expect_valid};

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

/// Values of all gates of a [`LearnedWelchPeaks`], each in `[0, 1]`.
///
/// Made by the model: [`hard_gates`](LearnedWelchPeaks::hard_gates) for running it,
/// [`sample_gates`](LearnedWelchPeaks::sample_gates) for training it, and
/// [`mean_gates`](LearnedWelchPeaks::mean_gates) for inspection.
#[derive(Debug, Clone)]
pub struct Gates {
    segments: Tensor<1>,
    butterflies: Option<Tensor<2>>,
    /// The segments whose gates are 1, where the others' are known to be 0.
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

    fn of_kind(kind: GateKind, segments: Tensor<1>, butterflies: Option<Tensor<2>>) -> Self {
        Self { segments, butterflies, chosen: None, kind }
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

/// Distance that uniform noise keeps from 0 and 1, where its logit is infinite.
const NOISE_MARGIN: f32 = 1e-6;

impl LearnedWelchPeaks {
    /// One draw of every gate, differentiable in the logits: for training. The noise is Burn's, so that
    /// [`Device::seed`](burn::tensor::Device::seed) makes the draw repeatable.
    ///
    /// A draw whose segment gates sum to less than 1 is filled up to 1 with the segment of the greatest logit.
    pub fn sample_gates(&self) -> Gates {
        let uniform = Distribution::Uniform(0.0, 1.0);
        let butterflies = self.gate_logits().map(|logits| logits.inner().random_like(uniform));
        self.sample(butterflies, self.segment_logits.val().inner().random_like(uniform))
    }

    or_panic! {
        sample_gates_from = try_sample_gates_from(butterflies: Option<Tensor<2>>, segments: Tensor<1>) -> Gates
    }

    /// One draw of every gate, as [`sample_gates`](Self::sample_gates), from the caller's noise: uniform numbers from
    /// 0 to 1, of the shapes of [`gate_logits`](super::LearnedTransform::gate_logits), if the transform is learned, and
    /// of [`segment_logits`](Self::segment_logits).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::LearnedWelchPeaksConfig;
    ///
    /// let device = Device::flex();
    /// let model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_segments(2).init(&device);
    /// let gates = model.sample_gates_from(None, Tensor::full([2], 0.5, &device));
    /// assert_eq!(gates.segments().dims(), [2]);
    /// ```
    ///
    /// # Errors
    /// [`ArgumentError`] for noise of another shape or on another device.
    pub fn try_sample_gates_from(
        &self,
        butterflies: Option<Tensor<2>>,
        segments: Tensor<1>,
    ) -> Result<Gates, ArgumentError> {
        match (&butterflies, self.gate_logits()) {
            (Some(noise), Some(logits)) => check_noise("butterflies", noise, &logits)?,
            (None, None) => {}
            (given, _) => {
                let [got, expected] = ["none", "one per butterfly"];
                let (got, expected) = if given.is_none() { (got, expected) } else { (expected, got) };
                return Err(ArgumentError::new("sample_gates_from", "butterflies", got, expected));
            }
        }
        check_noise("segments", &segments, &self.segment_logits.val())?;
        Ok(self.sample(butterflies, segments))
    }

    fn sample(&self, butterflies: Option<Tensor<2>>, segments: Tensor<1>) -> Gates {
        let of_butterflies = |(logits, noise)| HardConcrete::PAPER.sample(logits, inside_unit_interval(noise));
        let butterflies = self.gate_logits().zip(butterflies).map(of_butterflies);
        let segments = HardConcrete::PAPER.sample(self.segment_logits.val(), inside_unit_interval(segments));
        let shortfall = (-segments.clone().sum() + 1.0).clamp_min(0.0);
        Gates::of_kind(GateKind::Sampled, segments + self.likeliest_segment() * shortfall, butterflies)
    }

    /// Every gate without noise, in `[0, 1]`, for inspection. They are not for training, because a gate whose logit is
    /// beyond ±2.4 is exactly 0 or 1 here and has no gradient. A model whose gates train refuses them; its
    /// [`valid`](burn::module::Module::valid) copy accepts them.
    ///
    /// ```
    /// use burn::module::Param;
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::LearnedWelchPeaksConfig;
    ///
    /// let device = Device::flex();
    /// let mut model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).init(&device);
    /// model.segment_logits = Param::from_tensor(Tensor::from_floats([0.0, 9.0], &device));
    /// let gates: Vec<f32> = model.mean_gates().segments().clone().into_data().iter().collect();
    /// assert_eq!(gates, [0.5, 1.0]);
    /// ```
    pub fn mean_gates(&self) -> Gates {
        let mean = HardConcrete::PAPER;
        let butterflies = self.gate_logits().map(|logits| mean.mean(logits));
        Gates::of_kind(GateKind::Mean, mean.mean(self.segment_logits.val()), butterflies)
    }

    /// Every gate as 0 or 1, open where its logit is not negative, which is where its mean is at least a half. At least
    /// one segment stays open, that of the greatest logit. Without gradient in the logits.
    ///
    /// Reads the logits of segments back, which waits for the device: an estimate computes open segments alone.
    pub fn hard_gates(&self) -> Gates {
        let logits = self.segment_logits.val().inner();
        let device = logits.device();
        let logits: Vec<f32> = logits.into_data().convert::<f32>().iter().collect();
        // The first of the greatest logits.
        let likeliest = (0..logits.len()).rev().max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap_or(0);
        let open = (0..logits.len()).filter(|&segment| segment == likeliest || logits[segment] >= 0.0);
        let open = expect_valid(SegmentSet::new(open));
        let mut segments = vec![0.0f32; logits.len()];
        open.indices().for_each(|segment| segments[segment] = 1.0);
        let butterflies = self.gate_logits().map(|logits| logits.detach().greater_equal_elem(0.0).float());
        let segments = Tensor::from_floats(segments.as_slice(), &device);
        Gates { segments, butterflies, chosen: Some(open), kind: GateKind::Hard }
    }

    /// Logits of the gates of butterflies, of a model whose transform is learned.
    fn gate_logits(&self) -> Option<Tensor<2>> {
        self.transform.as_ref().map(|transform| transform.gate_logits.val())
    }

    /// 1 at the segment of the greatest logit, the first of several, and 0 elsewhere: `[segments]`.
    fn likeliest_segment(&self) -> Tensor<1> {
        let logits = self.segment_logits.val().detach().inner();
        let indices = Tensor::<1, Int>::arange(0..logits.dims()[0] as i64, &logits.device());
        indices.clone().equal(logits.argmax(0).expand(indices.dims())).float()
    }
}

/// Uniform noise, kept away from 0 and 1.
fn inside_unit_interval<const D: usize>(uniform: Tensor<D>) -> Tensor<D> {
    uniform.clamp(NOISE_MARGIN, 1.0 - NOISE_MARGIN)
}

/// Checks that noise has the shape and the device of the logits of its gates.
fn check_noise<const D: usize>(
    argument: &'static str,
    noise: &Tensor<D>,
    logits: &Tensor<D>,
) -> Result<(), ArgumentError> {
    const NAME: &str = "sample_gates_from";
    let (got, expected) = (noise.dims(), logits.dims());
    ensure(got == expected, NAME, argument, format_args!("{got:?}"), format_args!("{expected:?}"))?;
    let (got, expected) = (noise.device().inner(), logits.device().inner());
    ensure(got == expected, NAME, argument, format_args!("on {got:?}"), format_args!("on {expected:?}"))
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
