//! The loss: distance of the model's power from ranking and from equalling the reference peaks, plus the price of
//! compute.

use crate::metrics::StepLoss;
use burn::tensor::Tensor;
use firefly_models::{ArgumentError, Gates, LearnedWelchPeaks};
use firefly_ops::{PeakLossOptions, PeakTargets, peak_loss};

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

/// The terms of the loss that are on peaks.
pub struct PeakLosses {
    /// Ranking loss and squared error of log power of each frame, `[batch, 2]`.
    losses: Tensor<2>,
    /// Loss of the peaks that are missed, `[1]`, if bins are left out.
    missed: Option<Tensor<1>>,
}

/// The loss of the peaks of `model` with `gates` on a batch. Blocks of bins are open for it, but peaks are missed by the
/// share of each block that is closed, `closed` `[blocks]`, or by the gates where that is not given; and those that a
/// halved transform has no bins for.
///
/// Ranking is a logistic loss on each bin's log power around a boundary halfway between the model's own ranks K and
/// K + 1: the reference's peaks belong above it, all other bins below.
///
/// The terms: `ranking`, the logistic loss in nepers per peak, in which a missed peak counts
/// [`missed`](LossSection::missed); `log_power`, the squared error of log power at the reference's bins.
///
/// # Errors
/// [`ArgumentError`] if the batch does not fit the model.
pub fn peak_losses(
    model: &LearnedWelchPeaks,
    gates: &Gates,
    batch: &PeaksBatch,
    closed: Option<Tensor<1>>,
    section: &LossSection,
) -> Result<PeakLosses, ArgumentError> {
    let k = model.config().k;
    let targets = &batch.targets;
    // Bins that a halved transform does not have are missed too.
    let bins = model.options_with(gates).bins();
    let here = |tensor: &Tensor<2>| if gates.halved() { tensor.clone().narrow(1, 0, bins) } else { tensor.clone() };
    let power = model.try_psd(batch.signal.clone(), &gates.clone().with_open_blocks())?;
    let per_peak = 1.0 / (batch.rows() * k) as f64;
    let parameters = PeakLossOptions::new(k)
        .with_temperature(section.temperature)
        .with_offset(RELATIVE_POWER_OFFSET)
        .with_weights([section.ranking * section.temperature * per_peak, section.log_power * per_peak]);
    let of_bins = PeakTargets::new(here(&targets.peaks), here(&targets.power), targets.reference_power.clone());
    let losses = peak_loss(here(&power), of_bins, &parameters)?;

    let peaks = || targets.peaks.clone().sum_dim(0).squeeze_dim::<1>(0);
    let closed = closed.or_else(|| closed_by(gates)).and_then(|closed| model.at_bins(closed, 0.0, gates));
    let in_closed = closed.map(|closed| (peaks().narrow(0, 0, bins) * closed).sum());
    let beyond = gates.halved().then(|| peaks().slice(bins..).sum());
    let missed = sum_of([in_closed, beyond]).map(|peaks| peaks * (section.ranking * section.missed * per_peak));
    Ok(PeakLosses { losses, missed })
}

/// 1 for each block of bins that gates close and 0 for others, `[blocks]`, if blocks have gates.
pub fn closed_by(gates: &Gates) -> Option<Tensor<1>> {
    gates.blocks().map(|open| (-open.clone() + 1.0).detach())
}

/// The sum of the terms that there are.
fn sum_of(terms: [Option<Tensor<1>>; 2]) -> Option<Tensor<1>> {
    terms.into_iter().flatten().reduce(|sum, term| sum + term)
}

impl PeakLosses {
    /// The mean of these losses, with the weight `share` `[1]`, and of others.
    pub fn mixed(self, others: Self, share: Tensor<1>) -> Self {
        let rest = -share.clone() + 1.0;
        let losses = self.losses * share.clone().unsqueeze::<2>() + others.losses * rest.clone().unsqueeze::<2>();
        let missed = sum_of([self.missed.map(|missed| missed * share), others.missed.map(|missed| missed * rest)]);
        Self { losses, missed }
    }

    /// The loss with `work`, where `price` is that of the fast tier's.
    pub fn total(self, work: Work, price: f64) -> StepLoss {
        let price = work.per_frame * (price / work.of_fast_tier);
        let total = self.losses.clone().sum() + price.clone();
        let [ranking, log_power] = [0, 1].map(|loss| self.losses.clone().detach().narrow(1, loss, 1).sum());
        let (total, ranking) = match self.missed {
            Some(missed) => (total + missed.clone(), ranking + missed.detach()),
            None => (total, ranking),
        };
        StepLoss { total, terms: vec![("ranking", ranking), ("log_power", log_power), ("price", price)] }
    }
}
