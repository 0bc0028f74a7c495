//! Loss of a training step: the gates that are sampled for it, and the work that they leave.

use std::sync::OnceLock;

use burn::module::Param;
use burn::tensor::Tensor;
use firefly_models::{ArgumentError, Gates, LearnedWelchPeaks, Tier};
use firefly_ops::WelchOptions;

use super::loss::{Work, closed_by, peak_losses};
use super::segment_times::{time_of, time_of_two};
use super::{Parameters, PeaksConfig, PeaksData};
use crate::metrics::StepLoss;
use crate::task::BatchShare;
use crate::tasks::gate_noise::GateNoise;

/// Loss of the model on rows of a batch, after `step` steps: the expected one, where the transform may be halved.
pub(super) fn step_loss(
    config: &PeaksConfig,
    data: &PeaksData,
    model: &LearnedWelchPeaks,
    share: &BatchShare,
    step: usize,
) -> Result<StepLoss, ArgumentError> {
    let batch = data.batches.at(share)?;
    let (gates, work) = gates_and_work(config, &data.fixed_gates, model, share.number)?;
    let closed = expected_closed(config, model, &gates);
    let of = |gates: &Gates| peak_losses(model, gates, &batch, closed.clone(), &config.loss);
    let losses = match model.halving() {
        Some(halved) if learns(config, Parameters::Halving) => {
            let of_samples = of(&gates.clone().with_halved(false))?;
            of(&gates.with_halved(true))?.mixed(of_samples, halved)
        }
        _ => of(&gates)?,
    };
    Ok(losses.total(work, price(config, step)))
}

/// Excludes parameters that are not learned from autodiff.
pub(super) fn freeze(mut model: LearnedWelchPeaks, config: &PeaksConfig) -> LearnedWelchPeaks {
    let learned = |group| learns(config, group);
    model.taper = model.taper.set_require_grad(learned(Parameters::Taper));
    model.twiddles = model.twiddles.set_require_grad(learned(Parameters::Twiddles));
    model.gate_logits = model.gate_logits.set_require_grad(learned(Parameters::Gates));
    model.segment_logits = model.segment_logits.set_require_grad(learned(Parameters::Segments));
    let logits = |logits: Option<Param<Tensor<1>>>, group| logits.map(|logits| logits.set_require_grad(learned(group)));
    model.block_logits = logits(model.block_logits, Parameters::Blocks);
    model.halving_logit = logits(model.halving_logit, Parameters::Halving);
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
    let learned = [Parameters::Gates, Parameters::Segments, Parameters::Blocks, Parameters::Halving];
    if !learned.into_iter().any(|group| learns(config, group)) {
        return Ok(fixed.0.get_or_init(|| with_work(model.hard_gates())).clone());
    }
    let mut noise = GateNoise::new(config.seed, number);
    let butterflies = noise.like(model.gate_logits.val());
    let sampled = model.try_sample_gates_from(butterflies, noise.like(model.segment_logits.val()))?;
    if learns(config, Parameters::Gates) && learns(config, Parameters::Segments) {
        return Ok(with_work(sampled));
    }
    let hard = model.hard_gates();
    let of = |group| if learns(config, group) { &sampled } else { &hard };
    let gates = Gates::new(of(Parameters::Gates).butterflies().clone(), of(Parameters::Segments).segments().clone());
    let gates = gates.with_halved(hard.halved());
    Ok(with_work(match hard.blocks() {
        Some(blocks) => gates.with_blocks(blocks.clone()),
        None => gates,
    }))
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
    let closed_blocks = expected_closed(config, model, gates);
    let halving = match learns(config, Parameters::Halving) {
        true => model.halving(),
        false => None,
    };
    let halving = halving.unwrap_or_else(|| halving_of(gates));
    work(config, model, &OpenWork { butterflies, segments, closed_blocks, halving })
}

/// Work that hard gates leave.
pub(super) fn hard_work(config: &PeaksConfig, model: &LearnedWelchPeaks, gates: &Gates) -> Work {
    let (butterflies, segments) = (gates.butterflies().clone().sum(), gates.segments().clone().sum());
    let (closed_blocks, halving) = (closed_by(gates), halving_of(gates));
    work(config, model, &OpenWork { butterflies, segments, closed_blocks, halving })
}

/// Probability that each block of bins is closed, `[blocks]`, if blocks have gates. Gates that are not learned count as
/// they are.
fn expected_closed(config: &PeaksConfig, model: &LearnedWelchPeaks, gates: &Gates) -> Option<Tensor<1>> {
    match learns(config, Parameters::Blocks) {
        true => model.open_blocks().map(|open| -open + 1.0),
        false => closed_by(gates),
    }
}

/// 1 of gates that halve the transform, or else 0.
fn halving_of(gates: &Gates) -> Tensor<1> {
    Tensor::full([1], if gates.halved() { 1.0 } else { 0.0 }, &gates.segments().device())
}

/// What gates leave to compute.
struct OpenWork {
    /// Open butterflies per segment, `[1]`.
    butterflies: Tensor<1>,
    /// Open segments, `[1]`.
    segments: Tensor<1>,
    /// Share of each block of bins that is closed, `[blocks]`, if blocks have gates.
    closed_blocks: Option<Tensor<1>>,
    /// Share of halved transforms, `[1]`.
    halving: Tensor<1>,
}

/// The time that gates leave where that is priced, or else their butterflies.
fn work(config: &PeaksConfig, model: &LearnedWelchPeaks, open: &OpenWork) -> Work {
    let (loss, segments) = (&config.loss, || open.segments.clone());
    if loss.segment_times.is_empty() {
        let fast = model.options().with_segments(Tier::Fast.segments());
        let per_frame = open.butterflies.clone() * segments();
        return Work { per_frame, of_fast_tier: fast.butterflies() as f64 };
    }
    let less_closed = |time: Tensor<1>, options: &WelchOptions| match (loss.block_time, &open.closed_blocks) {
        (Some(saved), Some(closed)) => time - closed.clone().narrow(0, 0, options.blocks()).sum() * saved,
        _ => time,
    };
    let mut time = less_closed(time_of(segments(), &loss.segment_times), &model.options());
    if let (Some(options), false) = (model.config().halved_options(), loss.halved_times.is_empty()) {
        let halved = less_closed(time_of(segments(), &loss.halved_times), &options);
        time = time * (-open.halving.clone() + 1.0) + halved * open.halving.clone();
    }
    Work { per_frame: time, of_fast_tier: time_of_two(&loss.segment_times) }
}
