//! Training and evaluation in memory: nothing is written to disk.

use burn::tensor::Device;
use burn_train::Interrupter;
use firefly_app::host::available_memory;
use firefly_models::{ArgumentError, LearnedWelchPeaks, Tier};

use super::{PeaksConfig, PeaksTask};
use crate::data::DataSets;
use crate::fit::{Checkpointing, Trainer};
use crate::progress::{Monitor, Silent};
use crate::run::RunError;
use crate::task::{Task, TaskError};
use crate::tasks::found_peaks::{Agreement, peaks_of};

/// A trained model, with its recall and an exact tier's on frames it was not trained on.
#[derive(Debug, Clone)]
pub struct TrainedPeaks {
    /// The model, without autodiff.
    pub model: LearnedWelchPeaks,
    /// Agreement of the model's peaks, with hard gates, with the reference's.
    pub learned: Agreement,
    /// Agreement of the exact tier's peaks with the reference's.
    pub exact: Agreement,
}

/// Trains by a configuration, then compares the model and the exact `tier` with the reference.
///
/// # Errors
/// If the configuration is out of range, the data can't be read, or training fails.
pub fn train_ephemeral(config: &PeaksConfig, tier: Tier, device: &Device) -> Result<TrainedPeaks, RunError> {
    config.validate()?;
    config.check_memory(available_memory())?;
    let data = PeaksTask::open(config, &device.clone().inner(), &Monitor::none())?;
    let mut trainer = Trainer::<PeaksTask>::new(config, &data, device)?;
    trainer.fit(&mut Checkpointing::Off, &Interrupter::new(), &mut Silent)?;
    let trained = compare(config, &data.sets, trainer.model(), tier, device);
    Ok(trained.map_err(TaskError::Argument)?)
}

/// Compares a model of a configuration and the exact `tier` with the reference, on the configuration's data.
///
/// # Errors
/// If the configuration is out of range, the data can't be read, or the device fails.
pub fn evaluate_ephemeral(
    config: &PeaksConfig,
    model: LearnedWelchPeaks,
    tier: Tier,
    device: &Device,
) -> Result<TrainedPeaks, RunError> {
    config.validate()?;
    config.check_memory(available_memory())?;
    let data = config.data.open(config.model.frame(), config.seed).map_err(TaskError::Data)?;
    Ok(compare(config, &data, model, tier, device).map_err(TaskError::Argument)?)
}

fn compare(
    config: &PeaksConfig,
    data: &DataSets,
    model: LearnedWelchPeaks,
    tier: Tier,
    device: &Device,
) -> Result<TrainedPeaks, ArgumentError> {
    let (plain, k) = (device.clone().inner(), config.model.k);
    let frames = &data.evaluation[0].frames;
    let exact_peaks = |tier| {
        let exact = config.model.exact(tier).try_init(&plain)?;
        peaks_of(frames, &plain, |signal| exact.try_forward(signal))
    };
    let reference = exact_peaks(Tier::Reference)?;
    let gates = model.hard_gates();
    let found = peaks_of(frames, &plain, |signal| model.try_forward(signal, &gates))?;
    Ok(TrainedPeaks {
        learned: Agreement::of(&found, &reference, k),
        exact: Agreement::of(&exact_peaks(tier)?, &reference, k),
        model,
    })
}
