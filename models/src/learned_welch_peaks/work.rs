//! What a model's gates leave to compute, expected and counted.

use burn::tensor::Tensor;
use firefly_framework::cost::LearnedSize;
use firefly_ops::{Direction, exact_twiddles};

use super::gates::HardConcrete;
use super::module::LearnedWelchPeaks;

/// Samples of the shortest segments that the operations transform by the kernels of exact estimates.
const SHORTEST_EXACT: usize = 64;

impl LearnedWelchPeaks {
    /// Expected number of open butterflies per frame, `[1]`, differentiable in the logits: expected open segments times
    /// expected open gates.
    pub fn expected_butterflies(&self) -> Tensor<1> {
        self.expected_open_gates() * self.expected_open_segments()
    }

    /// Expected number of open butterfly gates per segment, `[1]`, differentiable in the logits.
    pub fn expected_open_gates(&self) -> Tensor<1> {
        HardConcrete::PAPER.open_probability(self.gate_logits.val()).sum()
    }

    /// Expected number of open segments per frame, at least one of which is always open: `[1]`, differentiable in the
    /// logits.
    pub fn expected_open_segments(&self) -> Tensor<1> {
        let open = HardConcrete::PAPER.open_probability(self.segment_logits.val());
        let none = (-open.clone() + 1.0).log().sum().exp();
        open.sum() + none
    }

    /// Probability that each block of bins is open, `[blocks]`, differentiable in the logits, if blocks have gates.
    pub fn open_blocks(&self) -> Option<Tensor<1>> {
        self.block_logits.as_ref().map(|logits| HardConcrete::PAPER.open_probability(logits.val()))
    }

    /// Probability that the transform is halved, `[1]`, differentiable in the logit, if a gate decides on it.
    pub fn halving(&self) -> Option<Tensor<1>> {
        self.halving_logit.as_ref().map(|logit| HardConcrete::PAPER.open_probability(logit.val()))
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
        let segments = count(gates.segments().clone().sum());
        if gates.halved() {
            return self.options_with(&gates).with_segments(segments).butterflies();
        }
        count(gates.butterflies().clone().sum()) * segments
    }

    /// Number of blocks of bins that hard gates close, of those of the transform that they choose. Reads the gates back,
    /// which waits for the device.
    pub fn count_closed_blocks(&self) -> usize {
        let gates = self.hard_gates();
        let blocks = self.options_with(&gates).blocks();
        gates.blocks().map_or(0, |open| blocks - count(open.clone().narrow(0, 0, blocks).sum()))
    }

    /// Number of segments per frame that hard gates leave open. Reads the gates back, which waits for the device.
    pub fn count_open_segments(&self) -> usize {
        count(self.hard_gates().segments().clone().sum())
    }

    /// Whether the operations run on the kernels of exact estimates, whatever the device: segments have 64 samples or
    /// more, twiddles are exact, and hard gates leave every butterfly open, and segments that are equally spaced. Reads
    /// twiddles and gates back, which waits for the device.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use firefly_models::LearnedWelchPeaksConfig;
    ///
    /// let mut model = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(4).init(&Device::flex());
    /// assert!(model.runs_as_exact());
    /// model.twiddles = model.twiddles.map(|twiddles| twiddles * 1.001);
    /// assert!(!model.runs_as_exact());
    /// ```
    pub fn runs_as_exact(&self) -> bool {
        let gates = self.hard_gates();
        let values = |gates: Tensor<1>| gates.into_data().iter::<f32>().collect::<Vec<_>>();
        let is_open = |gate: &f32| *gate == 1.0;
        let segments = values(gates.segments().clone());
        let open: Vec<usize> = (0..segments.len()).filter(|&segment| is_open(&segments[segment])).collect();
        // A halved transform has exact twiddles and open gates of its own.
        let is_fourier = gates.halved() || {
            let (n, twiddles) = (self.config().n_fft, self.twiddles.val().inner());
            let exact = exact_twiddles(n, Direction::Forward, twiddles.dtype().into(), &twiddles.device());
            exact.is_ok_and(|exact| twiddles.equal(exact).all().into_scalar::<bool>())
                && values(gates.butterflies().clone().flatten(0, 1)).iter().all(is_open)
        };
        self.options_with(&gates).n_fft >= SHORTEST_EXACT
            && is_fourier
            && open.windows(3).all(|three| three[1] - three[0] == three[2] - three[1])
    }

    /// Number of butterflies per frame with every gate open.
    pub fn all_butterflies(&self) -> usize {
        self.options().butterflies()
    }

    /// What the time of the model depends on, besides its options. Reads twiddles and gates back, which waits for the
    /// device.
    pub fn size(&self) -> LearnedSize {
        LearnedSize {
            open: self.count_open_butterflies(),
            all: self.all_butterflies(),
            segments: self.count_open_segments(),
            exact: self.runs_as_exact(),
            products: self.product_weights.is_some(),
            closed_blocks: self.count_closed_blocks(),
            halvings: if self.is_halved() { self.config().halvings.unwrap_or(0) } else { 0 },
        }
    }
}

/// The number in a tensor of one.
fn count(sum: Tensor<1>) -> usize {
    sum.into_data().convert::<f64>().iter::<f64>().sum::<f64>() as usize
}
