//! A run from its first step to its report.

use std::path::Path;

use burn::tensor::Device;
use burn_train::Interrupter;
use firefly_app::host::available_memory;
use thiserror::Error;

use crate::checkpoint::{CheckpointError, Checkpoints};
use crate::config::{ConfigError, Resolved, RunConfig};
use crate::fit::{Checkpointing, FitEnd, FitError, Trainer};
use crate::manifest::sha256;
use crate::metrics::{self, MetricsError, MetricsLog};
use crate::progress::{Event, Monitor, Progress};
use crate::report::Report;
use crate::run_folder::{FolderError, RunFolder, default_folder};
use crate::task::{ModelError, Task, TaskError};

/// Failure of a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The configuration is out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data can't be opened, or the evaluation fails.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Training fails.
    #[error(transparent)]
    Fit(#[from] FitError),
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
    Store(#[from] ModelError),
    /// The configuration can't be written as TOML: a path is not text.
    #[error("the configuration can't be written as TOML")]
    Toml(#[from] toml::ser::Error),
}

impl RunError {
    /// Whether training diverged (the loss is not finite), rather than failed by its data, files or settings.
    pub fn is_divergence(&self) -> bool {
        matches!(self, Self::Fit(error) if error.is_divergence())
    }
}

/// Folder of a run and its evaluation, or none if the run was interrupted.
pub type Trained<T> = (RunFolder, Option<Vec<<T as Task>::Row>>);

/// Trains as [`train`], in `folder` or, without one, in the first free one of `runs/NAME`, `runs/NAME-2` and so on; a
/// run that is resumed is the last of the same configuration that is not complete.
///
/// # Errors
/// As [`train`].
pub fn train_in<T: Task>(
    folder: Option<&Path>,
    resolved: &Resolved<T>,
    devices: &[Device],
    resume: bool,
    interrupter: &Interrupter,
    progress: &mut dyn Progress,
) -> Result<Trained<T>, RunError> {
    loop {
        let chosen = folder.map_or_else(|| default_folder(resolved, resume), RunFolder::new);
        match train(&chosen, resolved, devices, resume, interrupter, progress) {
            // Another process took the number meanwhile: the next one is free.
            Err(RunError::Folder(FolderError::InUse { .. } | FolderError::HoldsRun { .. }))
                if folder.is_none() && !resume => {}
            trained => return Ok((chosen, trained?)),
        }
    }
}

/// Trains in `folder` from the start, or from the last checkpoint with `resume`, on `devices` of one kind, at least
/// one; then evaluates and reports. Returns the evaluation, or none if the run was interrupted.
///
/// # Errors
/// If the folder holds another run, the data can't be read, training fails, or an output can't be written.
pub fn train<T: Task>(
    folder: &RunFolder,
    resolved: &Resolved<T>,
    devices: &[Device],
    resume: bool,
    interrupter: &Interrupter,
    progress: &mut dyn Progress,
) -> Result<Option<Vec<T::Row>>, RunError> {
    let config = &resolved.config;
    config.check_memory(available_memory())?;
    // Data and model first, so that a run that can't start leaves no folder behind.
    let data = match open::<T>(config, devices, &Monitor::new(interrupter, progress)) {
        Err(TaskError::Interrupted) => return Ok(None),
        data => data?,
    };
    let mut trainer = Trainer::<T>::on_devices(config, &data, devices)?;
    let (plain, data) = (devices[0].clone().inner(), &data[0]);
    let lock = if resume { folder.resume(resolved)? } else { folder.start(resolved)? };
    if lock.taken_over() {
        progress.on(Event::TakenOver { folder: folder.path() });
    }
    if T::skipped(data) > 0 {
        progress.on(Event::RecordingsSkipped { count: T::skipped(data) });
    }

    // Checkpoints are those of the configuration that the run was started with, on whatever devices it continues.
    let started = folder.resolved::<T>()?;
    if started.device != resolved.device {
        progress.on(Event::OtherDevices { started: &started.device, now: &resolved.device });
    }
    let run = sha256(started.to_toml()?.as_bytes());
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
    let kept = metrics::repair(&folder.metrics(), written)?;
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
            T::load(&folder.best(), config, &plain)?.model
        }
    };
    T::save(&model, config, &folder.model())?;
    let rows = T::evaluate(config, data, &[("learned".to_string(), model.clone())])?;
    let history = metrics::read(&folder.metrics())?;
    let parts = T::report(resolved, data, &model, &rows)?;
    publish::<T>(folder, &Report::of_run(resolved, history, parts)?, &rows)?;
    Ok(Some(rows))
}

/// The data of a run on each of its devices, which are at least one.
fn open<T: Task>(config: &RunConfig<T>, devices: &[Device], monitor: &Monitor<'_>) -> Result<Vec<T::Data>, TaskError> {
    let mut plain = devices.iter().map(|device| device.clone().inner());
    let first = plain.next().unwrap_or_default();
    let mut data = vec![T::open(config, &first, monitor)?];
    for device in plain {
        data.push(T::replicate(config, &data[0], &device)?);
    }
    Ok(data)
}

/// Writes the evaluation, then the report: a run with a report is complete.
pub(crate) fn publish<T: Task>(folder: &RunFolder, report: &Report, rows: &[T::Row]) -> Result<(), FolderError> {
    folder.write_evaluation(rows)?;
    folder.write_report(&report.render())
}
