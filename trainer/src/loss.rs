//! The loss: how far learned power is from ranking, and from equalling, the reference peaks; and what its compute costs.

use burn::tensor::{Tensor, activation::relu};
use firefly_models::{ArgumentError, Gates, LearnedWelchPeaks, Tier, WelchOptions};

use crate::batch::{Batch, FLOOR};
use crate::config::LossSection;

/// The terms of the loss, each `[1]` and as it enters the total.
#[derive(Debug, Clone)]
pub struct Terms {
    /// How far bins are from the right side of the boundary around rank K, in nepers a peak.
    pub ranking: Tensor<1>,
    /// Squared error of log power at the reference bins.
    pub log_power: Tensor<1>,
    /// Price of the open butterflies.
    pub price: Tensor<1>,
}

impl Terms {
    /// The loss.
    pub fn total(&self) -> Tensor<1> {
        self.ranking.clone() + self.log_power.clone() + self.price.clone()
    }
}

/// The loss of `model` with `gates` on a batch, `butterflies` `[1]` of a frame priced at `price` for as many as the fast tier's.
///
/// Ranking is a logistic loss on each bin's log power around a boundary halfway between the model's own ranks K and K + 1:
/// the reference's peaks belong above it, all other bins below.
///
/// # Errors
/// [`ArgumentError`] if the batch does not fit the model.
pub fn terms(
    model: &LearnedWelchPeaks,
    gates: &Gates,
    batch: &Batch,
    section: &LossSection,
    butterflies: Tensor<1>,
    price: f64,
) -> Result<Terms, ArgumentError> {
    let k = model.config().k;
    let options = model.options();
    let power = model.try_psd(batch.signal.clone(), gates)?;
    let log = |power: Tensor<2>| (power / batch.level.clone() + FLOOR).log();
    let log_power = log(power);

    // Ranked anew from the signal: a transform costs less than sorting every row does.
    let ranked = (k + 1).min(options.bins());
    let strongest = model.strongest(batch.signal.clone(), gates, ranked)?.power.detach();
    let boundary = log(strongest.slice([0..batch.rows(), k - 1..ranked])).mean_dim(1);
    let side = batch.peaks.clone() * 2.0 - 1.0;
    let wrong = (boundary - log_power.clone()) * side / section.temperature;
    let peaks = (batch.rows() * k) as f64;
    let ranking = softplus(wrong).sum() * (section.temperature / peaks);

    let error = (log_power - batch.log_reference.clone()).square() * batch.peaks.clone();
    let log_power = error.sum() * (section.log_power / peaks);

    let fast = WelchOptions { segments: Tier::Fast.segments(), ..options };
    let price = butterflies * (price / fast.butterflies() as f64);
    Ok(Terms { ranking, log_power, price })
}

/// ln(1 + eˣ), without overflow.
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
