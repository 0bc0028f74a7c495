//! A run from its first step to its report.

use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::tensor::Device;
use firefly_recordings::available_memory;
use thiserror::Error;

use crate::checkpoint::{CheckpointError, Checkpoints, RunState};
use crate::config::{ConfigError, Resolved, RunConfig};
use crate::fit::{Checkpointing, FitEnd, FitError, Trainer};
use crate::manifest::sha256;
use crate::metrics::{self, MetricsError, MetricsLog};
use crate::progress::{Event, Interrupter, Monitor, Progress};
use crate::report::Report;
use crate::run_folder::{FolderError, RunFolder, default_folder, write, write_rows};
use crate::task::{ModelError, OpenRun, Task, TaskData, TaskError};

/// Parameters of a model from which a run says how many there are: its first line of metrics may take long.
const MANY_PARAMETERS: usize = 1_000_000;

/// Failure of a run.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum RunError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    #[error(transparent)]
    Store(#[from] ModelError),
    #[error("the configuration can't be written as TOML")]
    Toml(#[from] toml::ser::Error),
    #[error("{0} runs for {1} values: a sweep needs one run per value")]
    RunCount(usize, usize),
    #[error("{0} changes the reference or the data, so that the runs can't be compared: train them one by one")]
    Incomparable(String),
    #[error("{} holds a sweep over {}: choose another --out", .0.display(), .1)]
    OtherSweep(PathBuf, String),
    #[error("{} holds another run: choose another --out", .0.display())]
    OtherRun(PathBuf),
}

impl RunError {
    /// Whether training diverged (the loss is not finite), rather than failed by its data, files or settings.
    pub fn is_divergence(&self) -> bool {
        matches!(self, Self::Fit(FitError::Metrics(MetricsError::LossNotFinite { .. })))
    }
}

/// Folder of a run and its evaluation, or none if the run was interrupted.
pub type Trained<T> = (RunFolder, Option<Vec<<T as Task>::Row>>);

/// Trains as [`train`], in `folder` or, without one, in the first free one of `runs/NAME`, `runs/NAME-2` and so on; a
/// run that is resumed is the last of the same configuration that is not complete.
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
            Err(RunError::Folder(FolderError::InUse(..) | FolderError::HoldsRun(..)))
                if folder.is_none() && !resume => {}
            trained => return Ok((chosen, trained?)),
        }
    }
}

/// Trains in `folder` from the start, or from the last checkpoint with `resume`, on `devices` of one kind, at least
/// one; then evaluates and reports. Returns the evaluation, or none if the run was interrupted. An error if the folder
/// holds another run, the data can't be read, training fails, or an output can't be written.
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
        progress.on(Event::TakenOver(folder.path()));
    }

    let parameters = trainer.model().num_params();
    if parameters >= MANY_PARAMETERS {
        progress.on(Event::LargeModel(parameters));
    }

    // Checkpoints are those of the configuration that the run was started with, on whatever devices it continues.
    let started = folder.resolved::<T>()?;
    if started.device != resolved.device {
        progress.on(Event::OtherDevices { started: &started.device, now: &resolved.device });
    }
    let run = sha256(toml::to_string(&started)?.as_bytes());
    let checkpoints = Checkpoints::new(folder.checkpoints(), run, config.schedule.keep_checkpoints);
    if resume {
        let (latest, damaged) = checkpoints.latest()?;
        for checkpoint in &damaged {
            progress.on(Event::CheckpointDamaged(checkpoint));
        }
        match latest {
            Some(checkpoint) => {
                trainer.restore(checkpoint)?;
                progress.on(Event::Resumed(trainer.state().step));
            }
            None => progress.on(Event::NoCheckpoint),
        }
    }
    let written = trainer.state().metrics_bytes;
    let kept = metrics::repair(&folder.metrics(), written)?;
    if kept != written {
        progress.on(Event::MetricsDamaged(&folder.metrics()));
    }
    let metrics = MetricsLog::open(&folder.metrics(), kept)?;
    let mut checkpointing = Checkpointing::On { metrics, checkpoints, best: folder.best() };
    let end = trainer.fit(&mut checkpointing, interrupter, progress)?;
    let RunState { step, best_step, .. } = trainer.state();
    match end {
        FitEnd::Interrupted => return Ok(None),
        FitEnd::Finished => {}
        FitEnd::StoppedEarly => progress.on(Event::StoppedEarly { step, patience: config.schedule.patience }),
    }
    let model = match (trainer.best(), best_step) {
        (_, None) => trainer.model(),
        (Some(best), _) => best.clone(),
        (None, Some(_)) => T::load(&folder.best(), config, &plain)?.model,
    };
    if let Some(step) = best_step.filter(|best| *best < step) {
        progress.on(Event::BestKept(step));
    }
    T::save(&model, config, &folder.model())?;
    let run = OpenRun { config, data };
    let rows = T::evaluate(&run, &[("learned".to_string(), model.clone())])?;
    let history = metrics::read(&folder.metrics())?;
    let parts = T::report(&run, &model, &rows)?;
    publish::<T>(folder, &Report::of_run(resolved, history, parts)?, &rows)?;
    Ok(Some(rows))
}

/// The data of a run on each of its devices, which are at least one.
fn open<T: Task>(config: &RunConfig<T>, devices: &[Device], monitor: &Monitor<'_>) -> Result<Vec<T::Data>, TaskError> {
    let mut plain = devices.iter().map(|device| device.clone().inner());
    let first = plain.next().unwrap_or_default();
    let mut data = vec![T::open(config, &first, monitor)?];
    for device in plain {
        data.push(data[0].on_device(&device));
    }
    Ok(data)
}

/// Writes the evaluation, then the report: a run with a report is complete.
pub(crate) fn publish<T: Task>(folder: &RunFolder, report: &Report, rows: &[T::Row]) -> Result<(), FolderError> {
    write_rows(&folder.evaluation(), rows)?;
    write(&folder.report(), report.render().as_bytes())
}
