//! Optimizer and learning rates of the section `[optimizer]`. All optimizers but Adam are those of burn-optim.

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
use burn::optim::{ModuleOptimizer, SgdConfig};
use firefly_ops::options::WeightDecay;

use crate::adam::Adam;
use crate::config::{Optimizer, OptimizerSection, RateSchedule};
use crate::task::GroupRate;

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

/// Learning rates of `steps` steps: `rate` at the start or after the warm-up, and a share of it for each of `groups`.
///
/// # Errors
/// With a message if they make no schedule.
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
}
