//! Loss of a training step: the gates that are sampled for it, and the work that they leave.

use std::sync::OnceLock;

use burn::tensor::Tensor;
use firefly_models::{ArgumentError, Gates, LearnedWelchPeaks, Tier};

use super::loss::{Work, loss};
use super::segment_times::{time_of, time_of_two};
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
    let (gates, work) = gates_and_work(config, &data.fixed_gates, model, share.number)?;
    loss(model, &gates, &batch, &config.loss, work, price(config, step))
}

/// Excludes parameters that are not learned from autodiff.
pub(super) fn freeze(mut model: LearnedWelchPeaks, config: &PeaksConfig) -> LearnedWelchPeaks {
    let learned = |group| learns(config, group);
    model.taper = model.taper.set_require_grad(learned(Parameters::Taper));
    model.twiddles = model.twiddles.set_require_grad(learned(Parameters::Twiddles));
    model.gate_logits = model.gate_logits.set_require_grad(learned(Parameters::Gates));
    model.segment_logits = model.segment_logits.set_require_grad(learned(Parameters::Segments));
    model.log_gain = model.log_gain.set_require_grad(learned(Parameters::Gain));
    model.product_weights = model.product_weights.map(|weights| weights.set_require_grad(learned(Parameters::Gain)));
    model
}

fn learns(config: &PeaksConfig, group: Parameters) -> bool {
    config.training.learn.contains(&group)
}

/// Price of work: it rises linearly from zero over the first steps.
fn price(config: &PeaksConfig, step: usize) -> f64 {
    let ramp = config.loss.price_ramp * config.training.steps as f64;
    config.loss.price * if ramp > 0.0 { (step as f64 / ramp).min(1.0) } else { 1.0 }
}

/// The gates of a run that learns none, and the work that they leave: the same in every step.
#[derive(Debug, Default)]
pub(super) struct FixedGates(OnceLock<(Gates, Work)>);

/// The gates of a batch, sampled where they are learned and hard where they are not, and the work that they leave.
fn gates_and_work(
    config: &PeaksConfig,
    fixed: &FixedGates,
    model: &LearnedWelchPeaks,
    number: usize,
) -> Result<(Gates, Work), ArgumentError> {
    let with_work = |gates: Gates| {
        let work = expected_work(config, model, &gates);
        (gates, work)
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
        (false, false) => return Ok(fixed.0.get_or_init(|| with_work(hard())).clone()),
    };
    Ok(with_work(gates))
}

/// Expected work. Gates that are not learned count as they are.
fn expected_work(config: &PeaksConfig, model: &LearnedWelchPeaks, gates: &Gates) -> Work {
    let butterflies = match learns(config, Parameters::Gates) {
        true => model.expected_open_gates(),
        false => gates.butterflies().clone().sum().detach(),
    };
    let segments = match learns(config, Parameters::Segments) {
        true => model.expected_open_segments(),
        false => gates.segments().clone().sum().detach(),
    };
    work(config, model, butterflies, segments)
}

/// Work that hard gates leave.
pub(super) fn hard_work(config: &PeaksConfig, model: &LearnedWelchPeaks, gates: &Gates) -> Work {
    work(config, model, gates.butterflies().clone().sum(), gates.segments().clone().sum())
}

/// Work of open butterflies per segment `[1]` in open segments `[1]`: their time where that is priced, or else their
/// number.
fn work(config: &PeaksConfig, model: &LearnedWelchPeaks, butterflies: Tensor<1>, segments: Tensor<1>) -> Work {
    let times = &config.loss.segment_times;
    if !times.is_empty() {
        return Work { per_frame: time_of(segments, times), of_fast_tier: time_of_two(times) };
    }
    let fast = model.options().with_segments(Tier::Fast.segments());
    Work { per_frame: butterflies * segments, of_fast_tier: fast.butterflies() as f64 }
}
