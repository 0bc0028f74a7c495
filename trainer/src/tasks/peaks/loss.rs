//! The loss: distance of the model's power from ranking and from equalling the reference peaks, plus the price of
//! compute.

use crate::metrics::StepLoss;
use burn::tensor::Tensor;
use firefly_models::{ArgumentError, Gates, LearnedWelchPeaks};
use firefly_ops::{PeakLossOptions, peak_loss};

use super::batch::PeaksBatch;
use super::config::LossSection;
use crate::tasks::peak_targets::RELATIVE_POWER_OFFSET;

/// Work that a price is on: open butterflies, or their time.
#[derive(Debug, Clone)]
pub struct Work {
    /// Work per frame, `[1]`.
    pub per_frame: Tensor<1>,
    /// Work per frame of the exact fast tier.
    pub of_fast_tier: f64,
}

/// The loss of `model` with `gates`, which leave `work`, on a batch; `price` is that of the fast tier's work.
///
/// Ranking is a logistic loss on each bin's log power around a boundary halfway between the model's own ranks K and
/// K + 1: the reference's peaks belong above it, all other bins below.
///
/// The terms: `ranking`, the logistic loss in nepers per peak; `log_power`, the squared error of log power at the
/// reference's bins; `price`, that of the work.
///
/// # Errors
/// [`ArgumentError`] if the batch does not fit the model.
pub fn loss(
    model: &LearnedWelchPeaks,
    gates: &Gates,
    batch: &PeaksBatch,
    section: &LossSection,
    work: Work,
    price: f64,
) -> Result<StepLoss, ArgumentError> {
    let k = model.config().k;
    let power = model.try_psd(batch.signal.clone(), gates)?;
    let per_peak = 1.0 / (batch.rows() * k) as f64;
    let parameters = PeakLossOptions::new(k)
        .with_temperature(section.temperature)
        .with_offset(RELATIVE_POWER_OFFSET)
        .with_weights([section.ranking * section.temperature * per_peak, section.log_power * per_peak]);
    let losses = peak_loss(power, batch.targets.clone(), &parameters)?;

    let price = work.per_frame * (price / work.of_fast_tier);
    let total = losses.clone().sum() + price.clone();
    let [ranking, log_power] = [0, 1].map(|loss| losses.clone().detach().narrow(1, loss, 1).sum());
    Ok(StepLoss { total, terms: vec![("ranking", ranking), ("log_power", log_power), ("price", price)] })
}
