//! Gates of a learned model: drawn, without noise, and hard.

use burn::tensor::{Distribution, Int, Tensor};
use firefly_ops::ArgumentError;
use firefly_ops::options::SegmentSet;

use super::gates::{GateKind, Gates, HardConcrete};
use super::module::LearnedWelchPeaks;
use crate::{ensure, expect_valid};

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
        Gates::of_kind(GateKind::Hard, segments, butterflies).with_chosen(open)
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
