//! Training and evaluation in memory: nothing is written to disk.

use burn::tensor::Device;
use firefly_models::{ArgumentError, LearnedWelchPeaks, WelchPeaksConfig};
use firefly_recordings::available_memory;

use super::evaluate::{Agreement, peaks_of};
use super::{PeaksConfig, PeaksTask, REFERENCE_SEGMENTS};
use crate::data::DataSets;
use crate::fit::{Checkpointing, Trainer};
use crate::progress::{Interrupter, Monitor, Silent};
use crate::run::RunError;
use crate::task::{Task, TaskError};

/// A trained model, with its recall and an exact estimate's on frames it was not trained on.
#[derive(Debug, Clone)]
pub struct TrainedPeaks {
    /// The model, without autodiff.
    pub model: LearnedWelchPeaks,
    /// Agreement of the model's peaks, with hard gates, with the reference's.
    pub learned: Agreement,
    /// Agreement of the exact estimate's peaks with the reference's.
    pub exact: Agreement,
}

/// Trains by a configuration, then compares the best model on validation and an exact estimate with the reference. An
/// error if the configuration is out of range, the data can't be read, or training fails.
pub fn train_ephemeral(
    config: &PeaksConfig,
    exact: &WelchPeaksConfig,
    device: &Device,
) -> Result<TrainedPeaks, RunError> {
    config.validate()?;
    config.check_memory(available_memory())?;
    let data = PeaksTask::open(config, &device.clone().inner(), &Monitor::none())?;
    let mut trainer = Trainer::<PeaksTask>::new(config, &data, device)?;
    trainer.fit(&mut Checkpointing::Off, &Interrupter::new(), &mut Silent)?;
    let model = trainer.best().cloned().unwrap_or_else(|| trainer.model());
    let trained = compare(config, &data.sets, model, exact, device);
    Ok(trained.map_err(TaskError::Argument)?)
}

/// Compares a model of a configuration and an exact estimate with the reference, on the configuration's data. An error
/// if the configuration is out of range, the data can't be read, or the device fails.
pub fn evaluate_ephemeral(
    config: &PeaksConfig,
    model: LearnedWelchPeaks,
    exact: &WelchPeaksConfig,
    device: &Device,
) -> Result<TrainedPeaks, RunError> {
    config.validate()?;
    config.check_memory(available_memory())?;
    let data = config.data.open(config.model.frame(), config.seed).map_err(TaskError::Data)?;
    Ok(compare(config, &data, model, exact, device).map_err(TaskError::Argument)?)
}

fn compare(
    config: &PeaksConfig,
    data: &DataSets,
    model: LearnedWelchPeaks,
    exact: &WelchPeaksConfig,
    device: &Device,
) -> Result<TrainedPeaks, ArgumentError> {
    let (plain, k) = (device.clone().inner(), config.model.k);
    let frames = &data.evaluation[0].frames;
    let exact_peaks = |exact: &WelchPeaksConfig| {
        let exact = exact.try_init(&plain)?;
        peaks_of(frames, &plain, |signal| exact.try_forward(signal))
    };
    let reference = exact_peaks(&config.model.exact(REFERENCE_SEGMENTS))?;
    let gates = model.hard_gates();
    let found = peaks_of(frames, &plain, |signal| model.try_forward(signal, &gates))?;
    Ok(TrainedPeaks {
        learned: Agreement::of(&found, &reference, k),
        exact: Agreement::of(&exact_peaks(exact)?, &reference, k),
        model,
    })
}
