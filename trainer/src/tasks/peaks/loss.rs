//! The loss: distance of the model's power from ranking and from equalling the reference peaks, plus the price of
//! compute.

use crate::metrics::StepLoss;
use burn::tensor::{Tensor, activation::relu};
use firefly_models::{ArgumentError, Gates, LearnedWelchPeaks, Tier};
use firefly_ops::top_k;

use super::batch::{PeaksBatch, RELATIVE_POWER_FLOOR};
use super::config::LossSection;

/// The loss of `model` with `gates` on a batch. `butterflies` `[1]` is the number of open butterflies per frame, and
/// `price` the price of as many butterflies as the exact fast tier has.
///
/// Ranking is a logistic loss on each bin's log power around a boundary halfway between the model's own ranks K and
/// K + 1: the reference's peaks belong above it, all other bins below.
///
/// The terms: `ranking`, the logistic loss in nepers per peak; `log_power`, the squared error of log power at the
/// reference's bins; `price`, that of the open butterflies.
///
/// # Errors
/// [`ArgumentError`] if the batch does not fit the model.
pub fn loss(
    model: &LearnedWelchPeaks,
    gates: &Gates,
    batch: &PeaksBatch,
    section: &LossSection,
    butterflies: Tensor<1>,
    price: f64,
) -> Result<StepLoss, ArgumentError> {
    let k = model.config().k;
    let options = model.options();
    let power = model.try_psd(batch.signal.clone(), gates)?;
    let relative_log = |power: Tensor<2>| (power / batch.level.clone() + RELATIVE_POWER_FLOOR).log();

    // The boundary is a constant of the step: gradients move bins, not the boundary.
    let ranked = (k + 1).min(options.bins());
    let strongest = top_k(power.clone().detach(), ranked)?.power;
    let boundary = relative_log(strongest.slice([0..batch.rows(), k - 1..ranked])).mean_dim(1);
    let log_power = relative_log(power);
    // +1 at the reference's peaks, −1 at all other bins.
    let side = batch.peaks.clone() * 2.0 - 1.0;
    let wrong = (boundary - log_power.clone()) * side / section.temperature;
    let peaks = (batch.rows() * k) as f64;
    let ranking = softplus(wrong).sum() * (section.ranking * section.temperature / peaks);

    let error = (log_power - batch.log_reference.clone()).square() * batch.peaks.clone();
    let log_power = error.sum() * (section.log_power / peaks);

    let fast = options.with_segments(Tier::Fast.segments());
    let price = butterflies * (price / fast.butterflies() as f64);
    let total = ranking.clone() + log_power.clone() + price.clone();
    Ok(StepLoss { total, terms: vec![("ranking", ranking), ("log_power", log_power), ("price", price)] })
}

/// ln(1 + eˣ) as max(x, 0) + ln(1 + e^−|x|), which is exact to rounding for every x. Burn's `softplus` computes
/// ln(1 + eˣ) up to a threshold, with other bits.
fn softplus(x: Tensor<2>) -> Tensor<2> {
    relu(x.clone()) + (-x.abs()).exp().log1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn softplus_neither_overflows_nor_loses_small_values() {
        let x = Tensor::<2>::from_floats([[-200.0, -1.0, 0.0, 1.0, 200.0]], &Device::flex());
        let values: Vec<f32> = softplus(x).into_data().try_to_vec().unwrap();
        let expected = [0.0, 0.313_261_7, std::f32::consts::LN_2, 1.313_261_7, 200.0];
        for (value, expected) in values.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-6, "{value} for {expected}");
        }
    }
}
