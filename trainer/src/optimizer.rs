//! Optimizer and learning rates of the section `[optimizer]`. All optimizers but Adam, one operation per parameter and
//! step, are those of burn-optim.

use burn::grad_clipping::GradientClippingConfig;
use burn::module::ParamGroup;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::lr_scheduler::LrSchedulerConfig;
use burn::optim::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::optim::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::optim::lr_scheduler::module_lr_scheduler::{ModuleLrScheduler, ModuleLrSchedulerConfig};
use burn::optim::lr_scheduler::sequential::SequentialLrSchedulerConfig;
use burn::optim::lr_scheduler::step::StepLrSchedulerConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdamState as Record, AdaptiveMomentumState, LearningRate, ModuleOptimizer, Optimizer as StepOptimizer, SgdConfig,
};
use burn::tensor::{Device, Tensor};
use firefly_ops::options::{AdamOptions, WeightDecay};
use firefly_ops::training::{AdamState, adam_step};

use crate::config::{Optimizer, OptimizerSection, RateSchedule};
use crate::task::GroupRate;

/// Adam with weight decay of either kind. On CPUs its weights have the bits of burn-optim's, and its records are those
/// of burn-optim's Adam.
#[derive(Debug, Clone)]
struct Adam {
    /// The parameters of the first step, at any rate.
    first: AdamOptions,
}

impl Adam {
    /// Adam with the decays and the epsilon of a section.
    fn new(section: &OptimizerSection, weight_decay: WeightDecay) -> Self {
        let first = AdamOptions::new(0.0, 1).with_betas([section.beta_1, section.beta_2]).with_epsilon(section.epsilon);
        Self { first: first.with_weight_decay(weight_decay) }
    }
}

impl StepOptimizer for Adam {
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

/// The optimizer of a section. It clips the elements of gradients; their common norm is clipped before.
pub fn optimizer(section: &OptimizerSection) -> ModuleOptimizer {
    let clipping = (section.clip_value > 0.0).then_some(GradientClippingConfig::Value(section.clip_value as f32));
    let adam = |decay: fn(f64) -> WeightDecay| {
        let weight_decay = if section.weight_decay > 0.0 { decay(section.weight_decay) } else { WeightDecay::None };
        let adam = ModuleOptimizer::from(Adam::new(section, weight_decay));
        match &clipping {
            Some(clipping) => adam.with_grad_clipping(clipping.init()),
            None => adam,
        }
    };
    match section.kind {
        Optimizer::Adam => adam(WeightDecay::Coupled),
        Optimizer::AdamW => adam(WeightDecay::Decoupled),
        Optimizer::Sgd => {
            let decay = (section.weight_decay > 0.0).then(|| WeightDecayConfig::new(section.weight_decay as f32));
            let momentum = MomentumConfig::new()
                .with_momentum(section.momentum)
                .with_dampening(0.0)
                .with_nesterov(section.nesterov);
            SgdConfig::new()
                .with_momentum((section.momentum > 0.0).then_some(momentum))
                .with_weight_decay(decay)
                .with_gradient_clipping(clipping)
                .init()
        }
    }
}

/// Learning rates of `steps` steps: `rate` at the start or after the warm-up, and a share of it for each of `groups`. A
/// message if they make no schedule.
pub fn scheduler(
    section: &OptimizerSection,
    rate: f64,
    steps: usize,
    groups: &[GroupRate],
) -> Result<ModuleLrScheduler, String> {
    let mut config = ModuleLrSchedulerConfig::new(schedule(section, rate, steps));
    for group in groups {
        config = config.with_group(ParamGroup::from_path(group.path), schedule(section, rate * group.share, steps));
    }
    config.init()
}

/// One learning rate over the steps.
fn schedule(section: &OptimizerSection, rate: f64, steps: usize) -> LrSchedulerConfig {
    let warm_up = section.warm_up;
    // A warm-up that is longer than the run rises until its end.
    let after = steps.saturating_sub(warm_up).max(1);
    let main = match section.schedule {
        RateSchedule::Constant => LrSchedulerConfig::Constant(rate),
        RateSchedule::Cosine => CosineAnnealingLrSchedulerConfig::new(rate, after).into(),
        RateSchedule::Linear => LinearLrSchedulerConfig::new(rate, 0.0, after).into(),
        RateSchedule::Step => {
            StepLrSchedulerConfig::new(rate, section.step_every).with_gamma(section.step_factor).into()
        }
    };
    if warm_up == 0 {
        return main;
    }
    let rise = LinearLrSchedulerConfig::new(rate / warm_up as f64, rate, warm_up);
    SequentialLrSchedulerConfig::new(vec![rise.into(), main], vec![warm_up]).into()
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use burn::optim::{AdamConfig, AdamWConfig, GradientsParams};

    use super::*;

    /// Base learning rates of a run.
    fn rates(section: &OptimizerSection, steps: usize) -> Vec<f64> {
        let mut scheduler = scheduler(section, 0.8, steps, &[]).unwrap();
        (0..steps).map(|_| scheduler.step().base()).collect()
    }

    #[track_caller]
    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} for {expected:?}");
    }

    #[test]
    fn schedules_fall_as_their_names_say() {
        let of = |schedule| OptimizerSection { schedule, step_every: 2, step_factor: 0.5, ..Default::default() };
        assert_close(&rates(&of(RateSchedule::Constant), 3), &[0.8; 3]);
        assert_close(&rates(&of(RateSchedule::Linear), 4), &[0.8, 0.6, 0.4, 0.2]);
        assert_close(&rates(&of(RateSchedule::Step), 5), &[0.8, 0.8, 0.4, 0.4, 0.2]);
        assert_close(&rates(&of(RateSchedule::Cosine), 2), &[0.8, 0.4]);
    }

    #[test]
    fn a_warm_up_rises_to_the_rate_and_delays_the_schedule() {
        let section = OptimizerSection { warm_up: 2, schedule: RateSchedule::Constant, ..Default::default() };
        assert_close(&rates(&section, 4), &[0.4, 0.6, 0.8, 0.8]);
        assert_close(&rates(&section, 1), &[0.4]);
    }

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
            (Optimizer::Adam, 0.0, adam.init()),
            (Optimizer::Adam, decay, adam.with_weight_decay(Some(WeightDecayConfig::new(decay))).init()),
            (Optimizer::AdamW, decay, adam_w.with_weight_decay(decay).init()),
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
