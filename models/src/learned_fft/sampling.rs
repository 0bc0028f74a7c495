//! Gates of a learned transform: drawn and hard.

use burn::tensor::{Distribution, Tensor};
use firefly_ops::ArgumentError;

use super::module::LearnedFft;
use crate::expect_valid;
use crate::learned_welch_peaks::{HardConcrete, check_noise, inside_unit_interval};

impl LearnedFft {
    /// Every gate as 0 or 1, open where its logit is not negative, for running a model. Without gradient in the logits.
    pub fn hard_gates(&self) -> Tensor<2> {
        self.gate_logits.val().detach().greater_equal_elem(0.0).float()
    }

    /// One draw of every gate, differentiable in the logits, for training a model. The noise is Burn's, so that
    /// [`Device::seed`](burn::tensor::Device::seed) makes the draw repeatable.
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use firefly_models::LearnedFftConfig;
    ///
    /// // A step of training: the error, and a price per open gate.
    /// let device = Device::flex().autodiff();
    /// let model = LearnedFftConfig::new().with_n_fft(64).init(&device);
    /// let frames = Tensor::<2>::random([5, 64], Distribution::Default, &device);
    /// let error = model.forward(frames.clone(), model.sample_gates()) - model.exact(frames);
    /// let gradients = (error.square().mean() + model.expected_open_gates() * 1e-3).backward();
    /// assert!(model.gate_logits.val().grad(&gradients).is_some());
    /// ```
    pub fn sample_gates(&self) -> Tensor<2> {
        self.sample(self.gate_logits.val().inner().random_like(Distribution::Uniform(0.0, 1.0)))
    }

    /// One draw of every gate, as [`sample_gates`](Self::sample_gates), from the caller's noise: uniform numbers from
    /// 0 to 1, of the shape of [`gate_logits`](Self::gate_logits).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::LearnedFftConfig;
    ///
    /// let device = Device::flex();
    /// let model = LearnedFftConfig::new().with_n_fft(16).with_k(3).init(&device);
    /// let gates: Vec<f32> = model.sample_gates_from(Tensor::full([4, 8], 0.5, &device)).into_data().iter().collect();
    /// assert_eq!(gates, [1.0; 32]);
    /// ```
    ///
    /// # Panics
    /// With the message of [`try_sample_gates_from`](Self::try_sample_gates_from)'s error.
    #[track_caller]
    pub fn sample_gates_from(&self, uniform: Tensor<2>) -> Tensor<2> {
        expect_valid(self.try_sample_gates_from(uniform))
    }

    /// One draw of every gate, as [`sample_gates_from`](Self::sample_gates_from).
    ///
    /// # Errors
    /// [`ArgumentError`] for noise of another shape or on another device.
    pub fn try_sample_gates_from(&self, uniform: Tensor<2>) -> Result<Tensor<2>, ArgumentError> {
        check_noise("uniform", &uniform, &self.gate_logits.val())?;
        Ok(self.sample(uniform))
    }

    fn sample(&self, uniform: Tensor<2>) -> Tensor<2> {
        HardConcrete::PAPER.sample(self.gate_logits.val(), inside_unit_interval(uniform))
    }

    /// Expected number of open gates, `[1]`, differentiable in the logits, for a price in the loss.
    pub fn expected_open_gates(&self) -> Tensor<1> {
        HardConcrete::PAPER.open_probability(self.gate_logits.val()).sum()
    }
}
