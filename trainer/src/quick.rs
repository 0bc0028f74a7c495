//! A model trained in passing, with nothing left on disk: for measurements.

use anyhow::{Context, Result};
use burn::tensor::Device;
use burn_train::Interrupter;
use firefly_models::{LearnedWelchPeaks, Tier};

use crate::checkpoint::Checkpoints;
use crate::config::RunConfig;
use crate::evaluate::{Agreement, peaks_of};
use crate::metrics::{MetricsLog, TrainingPoint};
use crate::progress::Progress;
use crate::run::evaluation_set;
use crate::train::Trainer;

/// A model, and how well it and an exact tier find the reference's peaks on frames it was not trained on.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The model, off the tape.
    pub model: LearnedWelchPeaks,
    /// The model's peaks with hard gates, beside the reference's.
    pub learned: Agreement,
    /// The exact tier's peaks beside the reference's.
    pub exact: Agreement,
}

/// Trains as `config` says, then compares the model and the exact `tier` with the reference.
///
/// # Errors
/// If the configuration is out of range, the data can't be read, or training fails.
pub fn train(config: &RunConfig, tier: Tier, device: &Device) -> Result<Trained> {
    config.validate()?;
    let data = config.data.open(config.model.frame(), config.seed).context("data")?;
    let mut trainer = Trainer::new(config, &data, device)?;
    let scratch = tempfile::tempdir().context("making a temporary folder")?;
    let checkpoints = Checkpoints::new(scratch.path().join("checkpoints"), 1);
    let mut metrics = MetricsLog::open(&scratch.path().join("metrics.jsonl"), 0)?;
    trainer.run(&checkpoints, &scratch.path().join("best"), &mut metrics, &Interrupter::new(), &mut Silent)?;
    let model = trainer.model();

    let (plain, k) = (device.clone().inner(), config.model.k);
    let (_, frames) = evaluation_set(config, &data);
    let peaks = |tier| -> Result<_> {
        let exact = config.model.exact(tier).try_init(&plain)?;
        Ok(peaks_of(frames, &plain, |signal| exact.try_forward(signal))?)
    };
    let reference = peaks(Tier::Reference)?;
    let gates = model.hard_gates();
    let found = peaks_of(frames, &plain, |signal| model.try_forward(signal, &gates))?;
    Ok(Trained {
        learned: Agreement::of(&found, &reference, k),
        exact: Agreement::of(&peaks(tier)?, &reference, k),
        model,
    })
}

/// Nobody watches.
struct Silent;

impl Progress for Silent {
    fn point(&mut self, _line: &TrainingPoint, _steps: usize) {}

    fn say(&mut self, _text: &str) {}
}
