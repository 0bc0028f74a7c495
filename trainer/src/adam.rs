//! Adam and AdamW, one operation per parameter and step.

use burn::optim::{AdamState as Record, AdaptiveMomentumState, LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};
use firefly_ops::options::{AdamOptions, WeightDecay};
use firefly_ops::training::{AdamState, adam_step};

use crate::config::OptimizerSection;

/// Adam with weight decay of either kind. On CPUs its weights have the bits of burn-optim's, and its records are those
/// of burn-optim's Adam.
#[derive(Debug, Clone)]
pub struct Adam {
    /// The parameters of the first step, at any rate.
    first: AdamOptions,
}

impl Adam {
    /// Adam with the decays and the epsilon of a section.
    pub fn new(section: &OptimizerSection, weight_decay: WeightDecay) -> Self {
        let first = AdamOptions::new(0.0, 1).with_betas([section.beta_1, section.beta_2]).with_epsilon(section.epsilon);
        Self { first: first.with_weight_decay(weight_decay) }
    }
}

impl Optimizer for Adam {
    type State<const D: usize> = Record<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        record: Option<Record<D>>,
    ) -> (Tensor<D>, Option<Record<D>>) {
        let (time, state) = match record {
            Some(Record { momentum }) => {
                (momentum.time, AdamState::new(parameter, momentum.moment_1, momentum.moment_2))
            }
            None => (0, AdamState::zeros(parameter)),
        };
        let options = self.first.with_step(time + 1).with_learning_rate(rate);
        // A gradient has the shape of its parameter, and rates are checked with the configuration.
        let AdamState { parameter, moment_1, moment_2, .. } =
            adam_step(state, gradient, &options).unwrap_or_else(|error| panic!("{error}"));
        (parameter, Some(Record::new(AdaptiveMomentumState::new(time + 1, moment_1, moment_2))))
    }

    fn to_device<const D: usize>(record: Record<D>, device: &Device) -> Record<D> {
        Record::new(record.momentum.to_device(device))
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use burn::optim::decay::WeightDecayConfig;
    use burn::optim::{AdamConfig, AdamWConfig, GradientsParams, ModuleOptimizer};

    use super::*;
    use crate::config::Optimizer as Kind;
    use crate::optimizer::optimizer;

    /// Weights after some steps of each of two optimizers from the same start, `reload` of which go through a record.
    fn weights(
        mut optimizer: ModuleOptimizer,
        start: &Linear,
        reload: impl Fn(ModuleOptimizer) -> ModuleOptimizer,
    ) -> Vec<f32> {
        let (mut layer, device) = (start.clone(), start.weight.val().device());
        for step in 1..=7 {
            let input = Tensor::<2>::from_floats([[0.3, -1.0, 2.5], [4.0, 0.1, -0.2]], &device) * f64::from(step);
            let gradients = GradientsParams::from_grads(layer.forward(input).powi_scalar(2).sum().backward(), &layer);
            layer = optimizer.step(0.03 / f64::from(step), layer, gradients);
            optimizer = reload(optimizer);
        }
        layer.weight.val().into_data().try_to_vec().unwrap()
    }

    #[test]
    fn weights_have_the_bits_of_burn_optim() {
        let device = Device::flex().autodiff();
        let start: Linear = LinearConfig::new(3, 5).init(&device);
        let (beta_1, beta_2, epsilon, decay) = (0.8, 0.97, 1e-6, 0.05);
        let adam = AdamConfig::new().with_beta_1(beta_1).with_beta_2(beta_2).with_epsilon(epsilon);
        let adam_w = AdamWConfig::new().with_beta_1(beta_1).with_beta_2(beta_2).with_epsilon(epsilon);
        let cases = [
            (Kind::Adam, 0.0, adam.init()),
            (Kind::Adam, decay, adam.with_weight_decay(Some(WeightDecayConfig::new(decay))).init()),
            (Kind::AdamW, decay, adam_w.with_weight_decay(decay).init()),
        ];
        for (kind, decay, expected) in cases {
            let [beta_1, beta_2, epsilon, weight_decay] = [beta_1, beta_2, epsilon, decay].map(f64::from);
            let section = OptimizerSection { kind, beta_1, beta_2, epsilon, weight_decay, ..Default::default() };
            let expected = weights(expected, &start, |optimizer| optimizer);
            assert_ne!(expected, start.weight.val().into_data().try_to_vec::<f32>().unwrap());
            assert_eq!(weights(optimizer(&section), &start, |optimizer| optimizer), expected, "{kind:?}, {decay}");
            let reload = |before: ModuleOptimizer| optimizer(&section).load_record(before.to_record());
            assert_eq!(weights(optimizer(&section), &start, reload), expected, "{kind:?} from records, {decay}");
        }
    }
}
