//! Loss of a training step: the gates that are sampled for it, and the price of the open butterflies.

use std::sync::OnceLock;

use burn::tensor::Tensor;
use firefly_models::{ArgumentError, Gates, LearnedWelchPeaks};

use super::loss::loss;
use super::{Parameters, PeaksConfig, PeaksData};
use crate::metrics::StepLoss;
use crate::task::BatchShare;
use crate::tasks::gate_noise::GateNoise;

/// Loss of the model on rows of a batch, after `step` steps.
pub(super) fn step_loss(
    config: &PeaksConfig,
    data: &PeaksData,
    model: &LearnedWelchPeaks,
    share: &BatchShare,
    step: usize,
) -> Result<StepLoss, ArgumentError> {
    let batch = data.batches.at(share)?;
    let (gates, butterflies) = gates_and_butterflies(config, &data.fixed_gates, model, share.number)?;
    loss(model, &gates, &batch, &config.loss, butterflies, price(config, step))
}

/// Excludes parameters that are not learned from autodiff.
pub(super) fn freeze(mut model: LearnedWelchPeaks, config: &PeaksConfig) -> LearnedWelchPeaks {
    let learned = |group| learns(config, group);
    model.taper = model.taper.set_require_grad(learned(Parameters::Taper));
    model.twiddles = model.twiddles.set_require_grad(learned(Parameters::Twiddles));
    model.gate_logits = model.gate_logits.set_require_grad(learned(Parameters::Gates));
    model.segment_logits = model.segment_logits.set_require_grad(learned(Parameters::Segments));
    model.log_gain = model.log_gain.set_require_grad(learned(Parameters::Gain));
    model
}

fn learns(config: &PeaksConfig, group: Parameters) -> bool {
    config.training.learn.contains(&group)
}

/// Price of butterflies: it rises linearly from zero over the first steps.
fn price(config: &PeaksConfig, step: usize) -> f64 {
    let ramp = config.loss.price_ramp * config.training.steps as f64;
    config.loss.price * if ramp > 0.0 { (step as f64 / ramp).min(1.0) } else { 1.0 }
}

/// The gates of a run that learns none, and the butterflies that they leave open: the same in every step.
#[derive(Debug, Default)]
pub(super) struct FixedGates(OnceLock<(Gates, Tensor<1>)>);

/// The gates of a batch, sampled where they are learned and hard where they are not, and open butterflies per frame.
fn gates_and_butterflies(
    config: &PeaksConfig,
    fixed: &FixedGates,
    model: &LearnedWelchPeaks,
    number: usize,
) -> Result<(Gates, Tensor<1>), ArgumentError> {
    let with_butterflies = |gates: Gates| {
        let butterflies = expected_butterflies(config, model, &gates);
        (gates, butterflies)
    };
    let hard = || model.hard_gates();
    let sampled = || {
        let mut noise = GateNoise::new(config.seed, number);
        let butterflies = noise.like(model.gate_logits.val());
        model.try_sample_gates_from(butterflies, noise.like(model.segment_logits.val()))
    };
    let gates = match (learns(config, Parameters::Gates), learns(config, Parameters::Segments)) {
        (true, true) => sampled()?,
        (true, false) => Gates::new(sampled()?.butterflies().clone(), hard().segments().clone()),
        (false, true) => Gates::new(hard().butterflies().clone(), sampled()?.segments().clone()),
        (false, false) => return Ok(fixed.0.get_or_init(|| with_butterflies(hard())).clone()),
    };
    Ok(with_butterflies(gates))
}

/// Open butterflies per frame, `[1]`: the expected number where gates are learned, their number where they are not.
fn expected_butterflies(config: &PeaksConfig, model: &LearnedWelchPeaks, gates: &Gates) -> Tensor<1> {
    let butterflies = match learns(config, Parameters::Gates) {
        true => model.expected_open_gates(),
        false => gates.butterflies().clone().sum().detach(),
    };
    let segments = match learns(config, Parameters::Segments) {
        true => model.expected_open_segments(),
        false => gates.segments().clone().sum().detach(),
    };
    butterflies * segments
}
