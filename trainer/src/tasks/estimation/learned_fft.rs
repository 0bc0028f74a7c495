//! Gated transform beside the exact one.

use burn::tensor::{Device, Tensor};
use firefly_models::{ArgumentError, LearnedFft, SpectralFeatures};
use firefly_ops::{PeakLossOptions, peak_loss};

use super::LossSection;
use super::estimator::{Compared, Estimate, Estimator, Output};
use crate::metrics::StepLoss;
use crate::tasks::gate_noise::GateNoise;
use crate::tasks::peak_targets::{MIN_LEVEL, peak_targets};

/// Width of the boundary around rank K, in nepers of power.
const TEMPERATURE: f64 = 0.3;
/// Weight of the squared error of log power at the exact peaks, beside the ranking.
const LOG_POWER: f64 = 0.1;

impl Estimator for LearnedFft {
    fn frame(&self) -> usize {
        self.config().n_fft
    }

    fn loss(
        &self,
        frames: Tensor<2>,
        section: &LossSection,
        noise: Option<GateNoise>,
    ) -> Result<StepLoss, ArgumentError> {
        let (gates, open) = match noise {
            Some(mut noise) => {
                (self.try_sample_gates_from(noise.like(self.gate_logits.val()))?, self.expected_open_gates())
            }
            None => (self.hard_gates(), self.hard_gates().sum()),
        };
        let error = error(self, frames, gates, section.floor)?;
        let price = open * (section.price / gate_count(self) as f64);
        Ok(StepLoss { total: error.clone() + price.clone(), terms: vec![("error", error), ("price", price)] })
    }

    fn estimate(&self, frames: Tensor<2>) -> Result<Estimate, ArgumentError> {
        let gates = self.hard_gates();
        let output = match self.config().features {
            SpectralFeatures::Power => Output::Power(self.try_forward(frames, gates)?),
            SpectralFeatures::LogMel => Output::LogPower(self.try_forward(frames, gates)?),
            SpectralFeatures::Peaks => Output::Peaks(self.try_peaks(frames, gates)?),
        };
        Ok(Estimate { output, segments: None })
    }

    fn open_share(&self) -> Option<f64> {
        Some(self.hard_gates().sum().into_scalar::<f64>() / gate_count(self) as f64)
    }

    fn exact(&self, device: &Device) -> Vec<Compared<'static>> {
        let twin = self.config().init(device);
        let estimate = move |frames| {
            let output = match twin.config().features {
                SpectralFeatures::Power => Output::Power(twin.try_exact(frames)?),
                SpectralFeatures::LogMel => Output::LogPower(twin.try_exact(frames)?),
                SpectralFeatures::Peaks => Output::Peaks(twin.try_exact_peaks(frames)?),
            };
            Ok(Estimate { output, segments: None })
        };
        vec![Compared {
            name: "exact transform".into(),
            is_learned: false,
            open_share: Some(1.0),
            estimate: Box::new(estimate),
        }]
    }
}

fn gate_count(model: &LearnedFft) -> usize {
    model.gate_logits.dims().iter().product()
}

/// Error of the features with `gates` in place of the exact ones, `[1]`: the mean squared difference of relative log
/// power, or for peaks the ranking and power losses of the task `peaks`, because a difference of the power of ranks
/// would not tell which bins they are.
fn error(model: &LearnedFft, frames: Tensor<2>, gates: Tensor<2>, floor: f64) -> Result<Tensor<1>, ArgumentError> {
    let config = model.config();
    match config.features {
        SpectralFeatures::Power => {
            Ok(squared_log_difference(model.try_forward(frames.clone(), gates)?, model.try_exact(frames)?, floor))
        }
        SpectralFeatures::LogMel => {
            let (learned, exact) = (model.try_forward(frames.clone(), gates)?, model.try_exact(frames)?);
            Ok(squared_log_difference(learned.exp(), exact.exp(), floor))
        }
        SpectralFeatures::Peaks => {
            let per_peak = 1.0 / (frames.dims()[0] * config.k) as f64;
            let options = PeakLossOptions::new(config.k)
                .with_temperature(TEMPERATURE)
                .with_offset(floor)
                .with_weights([TEMPERATURE * per_peak, LOG_POWER * per_peak]);
            let targets = peak_targets(model.try_exact_power(frames.clone())?, config.k)?;
            Ok(peak_loss(model.try_power(frames, gates)?, targets, &options)?.sum())
        }
    }
}

/// Mean squared difference of the logarithms of powers `[rows, values]`, `[1]`, in nepers squared. Both are relative to
/// the mean of the row of `exact`, so that the floor of the logarithm has no unit.
pub(super) fn squared_log_difference(power: Tensor<2>, exact: Tensor<2>, floor: f64) -> Tensor<1> {
    let level = exact.clone().mean_dim(1) + MIN_LEVEL;
    let relative_log = |power: Tensor<2>| (power / level.clone() + floor).log();
    (relative_log(power) - relative_log(exact)).square().mean()
}

#[cfg(test)]
mod tests {
    use burn::tensor::Distribution;
    use firefly_models::LearnedFftConfig;

    use super::*;

    /// The loss and its terms, error and price.
    fn values(loss: StepLoss) -> [f64; 3] {
        let [error, price] = [0, 1].map(|term: usize| loss.terms[term].1.clone().into_scalar::<f64>());
        [loss.total.into_scalar::<f64>(), error, price]
    }

    #[test]
    fn an_untrained_model_with_hard_gates_has_no_error_and_the_whole_price() {
        let device = Device::flex();
        device.seed(1);
        let frames = Tensor::<2>::random([5, 64], Distribution::Normal(0.0, 1.0), &device);
        let section = LossSection { price: 0.5, floor: 1e-6 };
        for features in [SpectralFeatures::Power, SpectralFeatures::LogMel] {
            let model = LearnedFftConfig::new().with_n_fft(64).with_features(features).with_bands(8).init(&device);
            let [total, error, price] = values(model.loss(frames.clone(), &section, None).unwrap());
            assert!((0.0..1e-6).contains(&error), "{features:?}: {error}");
            assert!((price - 0.5).abs() < 1e-6 && (total - error - price).abs() < 1e-6, "{features:?}: {price}");
            let noise = || Some(GateNoise::new(3, 7));
            let [_, drawn, expected] = values(model.loss(frames.clone(), &section, noise()).unwrap());
            assert!(drawn > 1e-3 && (0.45..0.5).contains(&expected), "{features:?}: {drawn} and {expected}");
            assert_eq!(values(model.loss(frames.clone(), &section, noise()).unwrap())[1], drawn, "the same draw");
        }
    }

    #[test]
    fn differences_of_logarithms_have_no_unit() {
        let device = Device::flex();
        let power = Tensor::<2>::from_floats([[1.0, 3.0], [2.0, 6.0]], &device);
        let difference = |unit: f64, factor: f64| {
            let found = squared_log_difference(power.clone() * (unit * factor), power.clone() * unit, 1e-9);
            found.into_scalar::<f64>()
        };
        for unit in [1e-12, 1.0, 1e12] {
            assert!((difference(unit, 2.0) - 2f64.ln().powi(2)).abs() < 1e-5, "{unit}");
        }
        let silence = squared_log_difference(Tensor::zeros([1, 3], &device), Tensor::zeros([1, 3], &device), 1e-9);
        assert_eq!(silence.into_scalar::<f64>(), 0.0);
    }
}
