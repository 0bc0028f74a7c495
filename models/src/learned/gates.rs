//! Gates that really close: the hard concrete distribution.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Tensor, TensorData};

/// The hard concrete distribution of C. Louizos, M. Welling and D. P. Kingma, "Learning sparse neural networks through
/// L0 regularization" (2018): a binary concrete variable stretched to `(gamma, zeta)` and clamped to `[0, 1]`, so that
/// it is exactly 0 or 1 with positive probability, and the chance of being open is a smooth function of its logit.
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

    /// A gate's value in `[0, 1]` for uniform noise in `(0, 1)` of the same shape.
    pub fn sample<const D: usize>(&self, logits: Tensor<D>, uniform: Tensor<D>) -> Tensor<D> {
        let noise = uniform.clone().log() - (-uniform + 1.0).log();
        self.stretch(sigmoid((logits + noise) / self.beta))
    }

    /// A gate's value without noise.
    pub fn mean<const D: usize>(&self, logits: Tensor<D>) -> Tensor<D> {
        self.stretch(sigmoid(logits))
    }

    /// The probability that a gate is not exactly 0.
    pub fn open_probability<const D: usize>(&self, logits: Tensor<D>) -> Tensor<D> {
        sigmoid(logits - self.beta * (-self.gamma / self.zeta).ln())
    }

    fn stretch<const D: usize>(&self, concrete: Tensor<D>) -> Tensor<D> {
        (concrete * (self.zeta - self.gamma) + self.gamma).clamp(0.0, 1.0)
    }
}

/// A tensor of uniform numbers from a source of them, kept off 0 and 1 where the noise is infinite.
pub(super) fn uniform_like<const D: usize>(like: &Tensor<D>, mut uniform: impl FnMut() -> f32) -> Tensor<D> {
    const EDGE: f32 = 1e-6;
    let shape = like.dims();
    let draws: Vec<f32> = (0..shape.iter().product()).map(|_| uniform().clamp(EDGE, 1.0 - EDGE)).collect();
    Tensor::from_data(TensorData::new(draws, shape), &like.device().inner())
}

/// The values of all gates: of butterflies `[log2 n_fft, n_fft/2]` and of segments `[segments]`, in `[0, 1]`.
#[derive(Debug, Clone)]
pub struct Gates {
    /// One gate a butterfly.
    pub butterflies: Tensor<2>,
    /// One gate a segment.
    pub segments: Tensor<1>,
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
