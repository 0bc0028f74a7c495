//! The loss: distance of the model's power from ranking and from equalling the reference peaks, plus the price of the
//! work that the gates of a step leave.

use std::sync::OnceLock;

use burn::tensor::{Tensor, TensorData};
use firefly_models::learned_welch_peaks::Gates;
use firefly_models::{ArgumentError, LearnedWelchPeaks};
use firefly_ops::options::PeakLossOptions;
use firefly_ops::training::peak_loss;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::config::LossSection;
use super::data::PeaksBatch;
use super::times::{priced_time, time_of};
use super::{Parameters, PeaksConfig};
use crate::metrics::StepLoss;

/// Added to power relative to a frame's mean before its logarithm is taken, so that the logarithm is bounded.
const RELATIVE_POWER_OFFSET: f64 = 1e-9;

/// Exact segments whose work has the price.
pub const PRICED_SEGMENTS: usize = 2;

/// Work that a price is on: open butterflies, or their time.
#[derive(Debug, Clone)]
pub struct Work {
    /// Work per frame, `[1]`.
    pub per_frame: Tensor<1>,
    /// Work per frame that the price is for: that of [`PRICED_SEGMENTS`] exact segments.
    pub unit: f64,
}

/// Losses of each frame's peaks by `model` with `gates`, `[batch, 2]`: the ranking loss in nepers per peak, and the
/// squared error of log power at the reference's bins.
pub fn peak_losses(
    model: &LearnedWelchPeaks,
    gates: &Gates,
    batch: &PeaksBatch,
    section: &LossSection,
) -> Result<Tensor<2>, ArgumentError> {
    let k = model.config().k;
    let per_peak = 1.0 / (batch.signal.dims()[0] * k) as f64;
    let parameters = PeakLossOptions::new(k)
        .with_temperature(section.temperature)
        .with_offset(RELATIVE_POWER_OFFSET)
        .with_weights([section.ranking * section.temperature * per_peak, section.log_power * per_peak]);
    peak_loss(model.try_psd(batch.signal.clone(), gates)?, batch.targets.clone(), &parameters)
}

/// The loss with these [`peak_losses`] and with `work`, where `price` is that of its unit.
pub fn total_loss(losses: Tensor<2>, work: Work, price: f64) -> StepLoss {
    let price = work.per_frame * (price / work.unit);
    let total = losses.clone().sum() + price.clone();
    let [ranking, log_power] = [0, 1].map(|loss| losses.clone().detach().narrow(1, loss, 1).sum());
    StepLoss { total, terms: vec![("ranking", ranking), ("log_power", log_power), ("price", price)] }
}

/// Whether a group of parameters is learned.
pub(super) fn learns(config: &PeaksConfig, group: Parameters) -> bool {
    config.training.learn.contains(&group)
}

/// Price of work: it rises linearly from zero over the first steps.
pub(super) fn price(config: &PeaksConfig, step: usize) -> f64 {
    let ramp = config.loss.price_ramp * config.training.steps as f64;
    config.loss.price * if ramp > 0.0 { (step as f64 / ramp).min(1.0) } else { 1.0 }
}

/// The gates of a run that learns none, and the work that they leave: the same in every step.
pub(super) type FixedGates = OnceLock<(Gates, Work)>;

/// Random numbers from 0 to 1 of the shape of `like`, on its device.
fn uniform_like<const D: usize>(generator: &mut ChaCha8Rng, like: Tensor<D>) -> Tensor<D> {
    let shape = like.dims();
    let draws: Vec<f32> = (0..shape.iter().product()).map(|_| generator.random()).collect();
    Tensor::from_data(TensorData::new(draws, shape), &like.device().inner())
}

/// The gates of a batch, sampled where they are learned and hard where they are not, and the work that they leave.
pub(super) fn gates_and_work(
    config: &PeaksConfig,
    fixed: &FixedGates,
    model: &LearnedWelchPeaks,
    number: usize,
) -> Result<(Gates, Work), ArgumentError> {
    let with_work = |gates: Gates| {
        let work = expected_work(config, model, &gates);
        (gates, work)
    };
    if ![Parameters::Gates, Parameters::Segments].into_iter().any(|group| learns(config, group)) {
        return Ok(fixed.get_or_init(|| with_work(model.hard_gates())).clone());
    }
    // The draws follow from the seed and the number of the batch alone.
    let mut generator = ChaCha8Rng::seed_from_u64(config.seed);
    generator.set_stream(number as u64);
    let logits = model.transform.as_ref().map(|transform| transform.gate_logits.val());
    let butterflies = logits.map(|logits| uniform_like(&mut generator, logits));
    let sampled = model.try_sample_gates_from(butterflies, uniform_like(&mut generator, model.segment_logits.val()))?;
    Ok(with_work(match (learns(config, Parameters::Gates), learns(config, Parameters::Segments)) {
        (true, true) => sampled,
        (true, false) => model.hard_gates().with_butterflies(sampled.butterflies().cloned()),
        (false, _) if model.transform.is_none() => sampled,
        (false, _) => sampled.with_butterflies(model.hard_gates().butterflies().cloned()),
    }))
}

/// Expected work. Gates that are not learned count as they are.
fn expected_work(config: &PeaksConfig, model: &LearnedWelchPeaks, gates: &Gates) -> Work {
    let butterflies = match learns(config, Parameters::Gates) {
        true => model.expected_open_gates(),
        false => open_butterflies(model, gates).detach(),
    };
    let segments = match learns(config, Parameters::Segments) {
        true => model.expected_open_segments(),
        false => gates.segments().clone().sum().detach(),
    };
    work(config, model, butterflies, segments)
}

/// Work that hard gates leave.
pub(super) fn hard_work(config: &PeaksConfig, model: &LearnedWelchPeaks, gates: &Gates) -> Work {
    work(config, model, open_butterflies(model, gates), gates.segments().clone().sum())
}

/// Open butterflies per segment, `[1]`: all of an exact transform.
fn open_butterflies(model: &LearnedWelchPeaks, gates: &Gates) -> Tensor<1> {
    match gates.butterflies() {
        Some(butterflies) => butterflies.clone().sum(),
        None => model.expected_open_gates(),
    }
}

/// The time of open segments `[1]` where that is priced, or else their open butterflies: `butterflies` `[1]` in each.
fn work(config: &PeaksConfig, model: &LearnedWelchPeaks, butterflies: Tensor<1>, segments: Tensor<1>) -> Work {
    let times = &config.loss.segment_times;
    if times.is_empty() {
        let unit = model.options().with_segments(PRICED_SEGMENTS).butterflies();
        return Work { per_frame: butterflies * segments, unit: unit as f64 };
    }
    Work { per_frame: time_of(segments, times), unit: priced_time(times) }
}
