//! A run from its first step to its report.

use burn::tensor::Device;
use burn_train::Interrupter;
use firefly_app::host::available_memory;
use firefly_models::{ArgumentError, LearnedWelchPeaks, StoreError};
use thiserror::Error;

use crate::checkpoint::{CheckpointError, Checkpoints};
use crate::config::{ConfigError, Resolved, RunConfig};
use crate::data::{DataError, DataSets, Frames};
use crate::evaluate::{self, EvaluateError, EvaluationRow};
use crate::fit::{Checkpointing, FitEnd, FitError, Trainer};
use crate::manifest::sha256;
use crate::metrics::{self, MetricsError, MetricsLog};
use crate::progress::{Event, Progress};
use crate::report::Report;
use crate::run_folder::{FolderError, RunFolder};

/// Failure of a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The configuration is out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The recordings can't be read, or the settings of the data are out of range.
    #[error("can't open the data")]
    Data(#[source] DataError),
    /// The data do not fit a model.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// Training fails.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The evaluation fails.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// The run's folder can't be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The checkpoints can't be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The metrics can't be opened or read.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// The model can't be written, or the best one not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configuration can't be written as TOML: a path is not text.
    #[error("the configuration can't be written as TOML")]
    Toml(#[from] toml::ser::Error),
}

impl RunError {
    /// Whether training itself broke down, rather than its data, files or settings.
    pub fn is_divergence(&self) -> bool {
        matches!(self, Self::Fit(error) if error.is_divergence())
    }
}

/// The frames a run is reported on, with their name: test frames, or else validation frames.
pub fn evaluation_set<'a>(config: &RunConfig, data: &'a DataSets) -> (String, &'a Frames) {
    let name = match &config.data.recordings {
        Some(recordings) => match (&recordings.test, &data.test) {
            (Some(test), _) => test.display().to_string(),
            (None, Some(_)) => format!("{} (test files)", recordings.train.display()),
            (None, None) => format!("{} (validation files)", recordings.train.display()),
        },
        None => "synthetic".to_string(),
    };
    (name, data.test.as_ref().unwrap_or(&data.validation))
}

/// Trains in `folder` from the start, or from the last checkpoint with `resume`, then evaluates and reports. Returns
/// the evaluation, or none if the run was interrupted.
///
/// # Errors
/// If the folder holds another run, the data can't be read, training fails, or an output can't be written.
pub fn train(
    folder: &RunFolder,
    resolved: &Resolved,
    device: &Device,
    resume: bool,
    interrupter: &Interrupter,
    progress: &mut dyn Progress,
) -> Result<Option<Vec<EvaluationRow>>, RunError> {
    let config = &resolved.config;
    config.check_memory(available_memory())?;
    // Data and model first, so that a run that can't start leaves no folder behind.
    let data = config.data.open(config.model.frame(), config.seed).map_err(RunError::Data)?;
    let mut trainer = Trainer::new(config, &data, device)?;
    let lock = if resume { folder.resume(resolved)? } else { folder.start(resolved)? };
    if lock.taken_over() {
        progress.on(Event::TakenOver { folder: folder.path() });
    }
    if data.skipped > 0 {
        progress.on(Event::RecordingsSkipped { count: data.skipped });
    }

    let run = sha256(resolved.to_toml()?.as_bytes());
    let checkpoints = Checkpoints::new(folder.checkpoints(), run, config.schedule.keep_checkpoints);
    if resume {
        let latest = checkpoints.latest()?;
        for checkpoint in &latest.damaged {
            progress.on(Event::CheckpointDamaged { checkpoint });
        }
        match latest.checkpoint {
            Some(checkpoint) => {
                trainer.restore(checkpoint)?;
                progress.on(Event::Resumed { step: trainer.state().step });
            }
            None => progress.on(Event::NoCheckpoint),
        }
    }
    let written = trainer.state().metrics_bytes;
    let kept = metrics::salvage(&folder.metrics(), written)?;
    if kept != written {
        progress.on(Event::MetricsDamaged { path: &folder.metrics() });
    }
    let metrics = MetricsLog::open(&folder.metrics(), kept)?;
    let mut checkpointing = Checkpointing::On { metrics, checkpoints, best: folder.best() };
    let model = match trainer.fit(&mut checkpointing, interrupter, progress)? {
        FitEnd::Interrupted => return Ok(None),
        FitEnd::Finished => trainer.model(),
        FitEnd::StoppedEarly => {
            let (step, patience) = (trainer.state().step, config.schedule.patience);
            progress.on(Event::StoppedEarly { step, patience });
            LearnedWelchPeaks::load(&folder.best(), &device.clone().inner())?
        }
    };
    model.save(&folder.model())?;
    let rows = evaluate_on(resolved, &data, &[("learned".to_string(), model.clone())], device)?;
    let history = metrics::read(&folder.metrics())?;
    publish(folder, &Report::of_run(resolved, &history, &model, rows.clone())?)?;
    Ok(Some(rows))
}

/// Evaluates learned models with their names on the frames that a run is reported on.
pub(crate) fn evaluate_on(
    resolved: &Resolved,
    data: &DataSets,
    learned: &[(String, LearnedWelchPeaks)],
    device: &Device,
) -> Result<Vec<EvaluationRow>, EvaluateError> {
    let (name, frames) = evaluation_set(&resolved.config, data);
    evaluate::compare(&name, frames, &resolved.config.model, learned, &device.clone().inner())
}

/// Writes the evaluation, then the report: a run with a report is complete.
pub(crate) fn publish(folder: &RunFolder, report: &Report) -> Result<(), FolderError> {
    folder.write_evaluation(&report.rows)?;
    folder.write_report(&report.render())
}
