//! Evaluation of models, compared with the noisy signals and classical estimates.

use burn::tensor::{Device, Tensor};
use firefly_models::zoo::ZooModel;

use super::baselines::{Noisy, SpectralSubtraction, WienerFilter, tuned};
use super::examples::{Condition, Examples, NoisyBatch};
use super::quality::{si_snr, snr};
use super::{BATCH, DenoisingConfig, denoised};
use crate::metrics::Metric;
use crate::task::TaskError;
use crate::tasks::scores::ScoreRow;

/// Training examples that classical estimates are tuned on, for each kind of noise and ratio.
const TUNED_ON: usize = 48;
/// Name of the rows over all kinds of noise.
pub(super) const ALL_NOISES: &str = "all noises";
/// Score by which rows over all kinds of noise are drawn.
pub(super) const INPUT_SNR: &str = "input_snr_db";
/// Score that is drawn.
pub(super) const SI_SNR: &str = "si_snr_db";

/// Sums of the ratios of estimates.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ratios {
    si_snr: f64,
    snr: f64,
    examples: usize,
}

impl Ratios {
    /// Adds those of the rows of a batch whose clean signal has power.
    pub(super) fn add(&mut self, estimate: Tensor<2>, clean: Tensor<2>) {
        let samples = clean.dims()[1];
        let [estimate, clean] = [estimate, clean].map(|rows| rows.into_data().iter().collect::<Vec<f32>>());
        for (estimate, clean) in estimate.chunks(samples).zip(clean.chunks(samples)) {
            if let (Some(si_snr), Some(snr)) = (si_snr(estimate, clean), snr(estimate, clean)) {
                self.si_snr += si_snr;
                self.snr += snr;
                self.examples += 1;
            }
        }
    }

    fn plus(self, other: Self) -> Self {
        let (si_snr, snr) = (self.si_snr + other.si_snr, self.snr + other.snr);
        Self { si_snr, snr, examples: self.examples + other.examples }
    }

    /// Mean scale-invariant ratio in decibels.
    pub(super) fn si_snr(&self) -> f64 {
        self.si_snr / self.examples as f64
    }

    /// Mean ratio in decibels.
    pub(super) fn snr(&self) -> f64 {
        self.snr / self.examples as f64
    }
}

/// Estimate of the clean signals: name, whether it was trained, and ratios.
type EstimateRatios = (String, bool, Ratios);

/// Models that are compared on test examples with classical estimates, which are tuned on training examples.
pub(super) struct Comparison<'a> {
    pub(super) config: &'a DenoisingConfig,
    pub(super) train: &'a Examples,
    pub(super) test: &'a Examples,
    pub(super) models: &'a [(String, ZooModel)],
    pub(super) device: &'a Device,
}

impl Comparison<'_> {
    /// Scores of the noisy signals, of spectral subtraction, of a Wiener filter that knows the noise, and of models:
    /// for each kind of noise and all together, at each ratio. `name` is that of the test examples. An error if no
    /// example has power, or a model does not fit.
    pub(super) fn rows(&self, name: &str) -> Result<Vec<ScoreRow>, TaskError> {
        let data = &self.config.data;
        let mut rows = Vec::new();
        let mut of_all: Vec<Vec<EstimateRatios>> = Vec::new();
        for kind in &data.noises {
            for (place, snr_db) in data.test_snr_db.iter().enumerate() {
                let condition = Condition { kind: *kind, snr_db: *snr_db };
                let estimates = self.estimates(condition)?;
                if estimates.iter().any(|(.., ratios)| ratios.examples == 0) {
                    return Err(TaskError::NoFrames(name.into()));
                }
                let data_set = format!("{name}, {} noise", kind.as_str());
                rows.extend(estimates.iter().map(|estimate| row(&data_set, *snr_db, &estimates[0].2, estimate)));
                match of_all.get_mut(place) {
                    None => of_all.push(estimates),
                    Some(all) => {
                        all.iter_mut().zip(estimates).for_each(|(all, other)| all.2 = all.2.plus(other.2));
                    }
                }
            }
        }
        if data.noises.len() > 1 {
            let data_set = format!("{name}, {ALL_NOISES}");
            for (snr_db, estimates) in data.test_snr_db.iter().zip(&of_all) {
                rows.extend(estimates.iter().map(|estimate| row(&data_set, *snr_db, &estimates[0].2, estimate)));
            }
        }
        Ok(rows)
    }

    /// Ratios of every estimate of the test examples with noise of one condition; the noisy signals come first.
    fn estimates(&self, condition: Condition) -> Result<Vec<EstimateRatios>, TaskError> {
        let Self { config, test, models, device, .. } = *self;
        let (subtraction, filter) = self.classical(condition)?;
        let baselines = ["noisy input", "spectral subtraction", "Wiener filter, known noise"];
        let mut estimates: Vec<EstimateRatios> =
            baselines.iter().map(|name| (name.to_string(), false, Ratios::default())).collect();
        estimates.extend(models.iter().map(|(name, _)| (name.clone(), true, Ratios::default())));
        let indices: Vec<usize> = (0..test.len()).collect();
        for indices in indices.chunks(BATCH) {
            let NoisyBatch { clean, noisy } = test.mixed(indices, |_| condition, device);
            let spectra = Noisy::new(noisy.clone(), config.data.sample_rate)?;
            let noise = noisy.clone() - clean.clone();
            let mut found = vec![noisy.clone(), spectra.subtracted(&subtraction)?, spectra.filtered(&filter, noise)?];
            for (_, model) in models {
                found.push(denoised(model, noisy.clone())?);
            }
            estimates.iter_mut().zip(found).for_each(|((.., ratios), estimate)| ratios.add(estimate, clean.clone()));
        }
        Ok(estimates)
    }

    /// The settings that are best for training examples with noise of one condition.
    fn classical(&self, condition: Condition) -> Result<(SpectralSubtraction, WienerFilter), TaskError> {
        let Self { config, train, device, .. } = *self;
        let count = train.len().min(TUNED_ON);
        let indices: Vec<usize> = (0..count).map(|index| index * train.len() / count).collect();
        let NoisyBatch { clean, noisy } = train.mixed(&indices, |_| condition, device);
        let (noise, noisy) = (noisy.clone() - clean.clone(), Noisy::new(noisy, config.data.sample_rate)?);
        let ratio = |estimate: Tensor<2>| {
            let mut ratios = Ratios::default();
            ratios.add(estimate, clean.clone());
            Ok::<_, TaskError>(ratios.si_snr())
        };
        let subtraction = tuned(|settings| ratio(noisy.subtracted(settings)?))?;
        Ok((subtraction, tuned(|settings| ratio(noisy.filtered(settings, noise.clone())?))?))
    }
}

fn row(data_set: &str, snr_db: f64, noisy: &Ratios, (name, is_learned, ratios): &EstimateRatios) -> ScoreRow {
    ScoreRow {
        name: name.clone(),
        is_learned: *is_learned,
        data_set: data_set.into(),
        scores: vec![
            Metric::real(INPUT_SNR, snr_db),
            Metric::real(SI_SNR, ratios.si_snr()),
            Metric::real("si_snr_improvement_db", ratios.si_snr() - noisy.si_snr()),
            Metric::real("snr_db", ratios.snr()),
            Metric::whole("examples", ratios.examples),
        ],
    }
}
