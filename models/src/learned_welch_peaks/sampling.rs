//! Gates of a learned model: drawn, without noise, and hard.

use burn::tensor::{Distribution, Int, Tensor};
use firefly_ops::ArgumentError;

use super::gates::{GateKind, Gates, HardConcrete};
use super::module::LearnedWelchPeaks;
use crate::expect_valid;

/// Distance that uniform noise keeps from 0 and 1, where its logit is infinite.
const NOISE_MARGIN: f32 = 1e-6;

impl LearnedWelchPeaks {
    /// One draw of every gate, differentiable in the logits: for training. The noise is Burn's, so that
    /// [`Device::seed`](burn::tensor::Device::seed) makes the draw repeatable.
    ///
    /// A draw whose segment gates sum to less than 1 is filled up to 1 with the segment of the greatest logit. Blocks of
    /// bins are not drawn, but as [`hard_gates`](Self::hard_gates) has them, and so is whether the transform is halved:
    /// their effect on a loss is known without a draw (see [`open_blocks`](Self::open_blocks) and
    /// [`halving`](Self::halving)). Waits for the device if the model has a gate that halves the transform.
    pub fn sample_gates(&self) -> Gates {
        let uniform = Distribution::Uniform(0.0, 1.0);
        self.sample(
            self.gate_logits.val().inner().random_like(uniform),
            self.segment_logits.val().inner().random_like(uniform),
        )
    }

    /// One draw of every gate, as [`sample_gates`](Self::sample_gates), from the caller's noise: uniform numbers from
    /// 0 to 1, of the shapes of [`gate_logits`](Self::gate_logits) and [`segment_logits`](Self::segment_logits).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::LearnedWelchPeaksConfig;
    ///
    /// let device = Device::flex();
    /// let model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(4).with_segments(2).init(&device);
    /// let noise = (Tensor::full([4, 8], 0.5, &device), Tensor::full([2], 0.5, &device));
    /// let gates = model.sample_gates_from(noise.0, noise.1);
    /// assert_eq!(gates.butterflies().dims(), [4, 8]);
    /// ```
    ///
    /// # Panics
    /// With the message of [`try_sample_gates_from`](Self::try_sample_gates_from)'s error.
    #[track_caller]
    pub fn sample_gates_from(&self, butterflies: Tensor<2>, segments: Tensor<1>) -> Gates {
        expect_valid(self.try_sample_gates_from(butterflies, segments))
    }

    /// One draw of every gate, as [`sample_gates_from`](Self::sample_gates_from).
    ///
    /// # Errors
    /// [`ArgumentError`] for noise of another shape or on another device.
    pub fn try_sample_gates_from(&self, butterflies: Tensor<2>, segments: Tensor<1>) -> Result<Gates, ArgumentError> {
        check_noise("butterflies", &butterflies, &self.gate_logits.val())?;
        check_noise("segments", &segments, &self.segment_logits.val())?;
        Ok(self.sample(butterflies, segments))
    }

    fn sample(&self, butterflies: Tensor<2>, segments: Tensor<1>) -> Gates {
        let butterflies = HardConcrete::PAPER.sample(self.gate_logits.val(), inside_unit_interval(butterflies));
        let segments = HardConcrete::PAPER.sample(self.segment_logits.val(), inside_unit_interval(segments));
        let shortfall = (-segments.clone().sum() + 1.0).clamp_min(0.0);
        self.with_chosen(Gates::of_kind(
            GateKind::Sampled,
            butterflies,
            segments + self.likeliest_segment() * shortfall,
        ))
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
        self.with_chosen(Gates::of_kind(
            GateKind::Mean,
            HardConcrete::PAPER.mean(self.gate_logits.val()),
            HardConcrete::PAPER.mean(self.segment_logits.val()),
        ))
    }

    /// Every gate as 0 or 1, open where its logit is not negative, which is where its mean is at least a half. At least
    /// one segment stays open, that of the greatest logit, and as many blocks of bins as have the peaks, those of equal
    /// logits together. Without gradient in the logits. Waits for the device if the model has a gate that halves the transform.
    pub fn hard_gates(&self) -> Gates {
        let open = |logits: Tensor<2>| logits.detach().greater_equal_elem(0.0).float();
        let segments = open(self.segment_logits.val().unsqueeze()).squeeze_dim(0);
        let segments = segments.max_pair(self.likeliest_segment());
        self.with_chosen(Gates::of_kind(GateKind::Hard, open(self.gate_logits.val()), segments))
    }

    /// Gates with hard gates of blocks of bins and of a halved transform.
    fn with_chosen(&self, gates: Gates) -> Gates {
        let gates = gates.with_halved(self.is_halved());
        let Some(logits) = &self.block_logits else { return gates };
        // Open are logits that are not negative, and of the blocks that the transform has the greatest as many as have the
        // peaks.
        let (logits, options) = (logits.val().detach(), self.options_with(&gates));
        let needed = self.config().k.div_ceil(options.block_len()).min(options.blocks());
        let of_transform = logits.clone().narrow(0, 0, options.blocks());
        let least = of_transform.sort_descending(0).narrow(0, needed - 1, 1).clamp_max(0.0);
        gates.with_blocks(logits.clone().greater_equal(least.expand(logits.dims())).float())
    }

    /// Whether hard gates halve the transform: whether there is a logit for it, and it is not negative.
    pub(super) fn is_halved(&self) -> bool {
        self.halving_logit.as_ref().is_some_and(|logit| logit.val().into_scalar::<f32>() >= 0.0)
    }

    /// 1 at the segment of the greatest logit, the first of several, and 0 elsewhere: `[segments]`.
    fn likeliest_segment(&self) -> Tensor<1> {
        let logits = self.segment_logits.val().detach().inner();
        let indices = Tensor::<1, Int>::arange(0..logits.dims()[0] as i64, &logits.device());
        indices.clone().equal(logits.argmax(0).expand(indices.dims())).float()
    }
}

/// Uniform noise, kept away from 0 and 1.
pub(crate) fn inside_unit_interval<const D: usize>(uniform: Tensor<D>) -> Tensor<D> {
    uniform.clamp(NOISE_MARGIN, 1.0 - NOISE_MARGIN)
}

/// Checks that noise has the shape and the device of the logits of its gates.
pub(crate) fn check_noise<const D: usize>(
    argument: &'static str,
    noise: &Tensor<D>,
    logits: &Tensor<D>,
) -> Result<(), ArgumentError> {
    const NAME: &str = "sample_gates_from";
    let (got, expected) = (noise.dims(), logits.dims());
    if got != expected {
        return Err(ArgumentError::new(NAME, argument, format!("{got:?}"), format!("{expected:?}")));
    }
    let (got, expected) = (noise.device().inner(), logits.device().inner());
    if got != expected {
        return Err(ArgumentError::new(NAME, argument, format!("on {got:?}"), format!("on {expected:?}")));
    }
    Ok(())
}
