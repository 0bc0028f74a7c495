//! The loop over steps: validation, metrics, checkpoints and early stopping.

use std::path::PathBuf;
use std::slice;
use std::thread;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use firefly_app::guard::guarded;
use firefly_app::remote::explained_failure;
use thiserror::Error;

use crate::checkpoint::{Checkpoint, CheckpointError, Checkpoints, RunState};
use crate::config::{ConfigError, Length, RunConfig, Training};
use crate::metrics::{MetricsError, MetricsLog, PendingPoint, Validation};
use crate::parallel::Replicas;
use crate::progress::{Event, Interrupter, Progress};
use crate::step::{StepError, Stepper};
use crate::task::{DeviceRank, ModelError, OpenRun, Task, TaskData, TaskError};

/// Failure of training.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum FitError {
    #[error("no device is named")]
    NoDevice,
    #[error("training.epochs can't be given: the training data have no end; give training.steps")]
    EndlessData,
    #[error("the recordings are not those that the run was started with: put them back, or train into another --out")]
    OtherRecordings,
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Step(#[from] StepError),
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error(transparent)]
    Store(#[from] ModelError),
    #[error("device {device} failed after step {step}: {cause}; {}", resumable(*saved))]
    Device { device: String, step: usize, cause: String, saved: Option<usize> },
}

/// Sentence that says how to continue a run after the failure of a device, from the step of its last checkpoint.
fn resumable(saved: Option<usize>) -> String {
    saved.map_or("the run has no checkpoint yet: --resume starts it at its first step".into(), |step| {
        format!("the checkpoint of step {step} holds the run: --resume continues it, on other devices too")
    })
}

/// Reason for the end of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitEnd {
    /// Every step is done.
    Finished,
    /// Validation stopped improving.
    StoppedEarly,
    /// The interrupter was set; the last checkpoint holds the run.
    Interrupted,
}

/// Files that a fit writes as it goes on.
#[allow(missing_docs, reason = "the variants' texts explain their fields")]
pub enum Checkpointing {
    /// None: model and metrics are in memory alone.
    Off,
    /// Files in a run's folder: metrics, one line per logged step; checkpoints to resume from; and the folder of the
    /// model of the lowest validation loss so far.
    On { metrics: MetricsLog, checkpoints: Checkpoints, best: PathBuf },
}

/// A run in progress, on one device or several.
pub struct Trainer<'a, T: Task> {
    config: &'a RunConfig<T>,
    data: &'a T::Data,
    /// The first device, which validates and is saved.
    stepper: Stepper<'a, T>,
    others: Vec<Stepper<'a, T>>,
    steps: usize,
    state: RunState,
    saved: Option<usize>,
    best: Option<T::Model>,
}

impl<'a, T: Task> Trainer<'a, T> {
    /// A run at its first step, on `device`. An error if the configuration and the data do not fit each other.
    pub fn new(config: &'a RunConfig<T>, data: &'a T::Data, device: &Device) -> Result<Self, FitError> {
        Self::on_devices(config, slice::from_ref(data), slice::from_ref(device))
    }

    /// A run at its first step on several devices of one kind, at least one; `data` are those of each. An error if
    /// there are several and the loss is not a mean over examples, or if the configuration and the data do not fit each
    /// other.
    pub fn on_devices(config: &'a RunConfig<T>, data: &'a [T::Data], devices: &[Device]) -> Result<Self, FitError> {
        let count = devices.len();
        if let Some(reason) = T::batch_statistics(config).filter(|_| count > 1) {
            let (got, expected) = (format!("{count} devices"), format!("a single device: {reason}"));
            return Err(TaskError::Config(ConfigError::Value { key: "devices".into(), got, expected }).into());
        }
        let first = data.first().ok_or(FitError::NoDevice)?;
        let steps = match config.training.length() {
            Length::Steps(steps) => steps,
            Length::Epochs(epochs) => {
                let batches = first.order().ok_or(FitError::EndlessData)?.batches_per_epoch();
                epochs.saturating_mul(batches).div_ceil(config.optimizer.accumulate).max(1)
            }
        };
        let on = |(index, (data, device)): (usize, (&'a T::Data, &Device))| {
            Stepper::new(config, data, steps, device, DeviceRank { index, devices: count })
        };
        let mut steppers = data.iter().zip(devices).enumerate().map(on);
        let stepper = steppers.next().ok_or(FitError::NoDevice)??;
        let others = steppers.collect::<Result<Vec<_>, _>>()?;
        let state = RunState { recordings: first.fingerprint(), ..RunState::default() };
        let mut trainer = Self { config, data: first, stepper, others, steps, state, saved: None, best: None };
        trainer.align()?;
        Ok(trainer)
    }

    /// Makes the other devices continue from the first.
    fn align(&mut self) -> Result<(), StepError> {
        self.others.iter_mut().try_for_each(|other| other.follow(&self.stepper))
    }

    /// Continues from a checkpoint. An error if it is of another model, or of a run on other recordings.
    pub fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), FitError> {
        let state = checkpoint.state;
        if state.recordings != self.state.recordings {
            return Err(FitError::OtherRecordings);
        }
        self.stepper.restore(checkpoint)?;
        self.align()?;
        (self.state, self.saved) = (state, Some(state.step));
        Ok(())
    }

    /// State of the run.
    pub fn state(&self) -> RunState {
        self.state
    }

    /// The current model, without autodiff.
    pub fn model(&self) -> T::Model {
        self.stepper.result()
    }

    /// The model of the lowest validation loss, without autodiff; none where that was before the run was resumed.
    pub fn best(&self) -> Option<&T::Model> {
        self.best.as_ref()
    }

    /// Takes the remaining steps. An error if the loss is no longer finite, a device fails, or a file can't be written.
    pub fn fit(
        &mut self,
        checkpointing: &mut Checkpointing,
        interrupter: &Interrupter,
        progress: &mut dyn Progress,
    ) -> Result<FitEnd, FitError> {
        let (config, data, steps) = (self.config, self.data, self.steps);
        let Self { stepper, others, state, saved, best, .. } = self;
        thread::scope(move |scope| {
            let replicas = Replicas::start(scope, stepper, others);
            let mut fit = Fit { config, data, replicas, steps, state, saved, best, untrained: None };
            let ended = guarded(|| fit.run(checkpointing, interrupter, progress));
            ended.unwrap_or_else(|cause| {
                let first = fit.replicas.first();
                Err(fit.failure(first.name(), explained_failure(first.device(), cause)))
            })
        })
    }
}

/// The loop over steps.
struct Fit<'f, 'a, T: Task> {
    config: &'a RunConfig<T>,
    data: &'a T::Data,
    replicas: Replicas<'f, 'a, T>,
    steps: usize,
    state: &'f mut RunState,
    saved: &'f mut Option<usize>,
    best: &'f mut Option<T::Model>,
    /// Validation of the untrained model, if the task has one.
    untrained: Option<Validation>,
}

impl<T: Task> Fit<'_, '_, T> {
    fn run(
        &mut self,
        checkpointing: &mut Checkpointing,
        interrupter: &Interrupter,
        progress: &mut dyn Progress,
    ) -> Result<FitEnd, FitError> {
        let (steps, schedule) = (self.steps, &self.config.schedule);
        let mut timer = StepTimer::default();
        self.validate_untrained(checkpointing)?;
        while self.state.step < steps && !self.has_stalled() {
            let (mut point, learning_rate) = match timer.time(|| self.step()) {
                Err(StepError::Device { device, cause }) => {
                    return Err(self.save_after_failure(device, cause, checkpointing));
                }
                stepped => stepped?,
            };
            let done = self.state.step;
            let last = done == steps;

            let validate = last || done.is_multiple_of(schedule.validate_every);
            let is_logged = validate || done.is_multiple_of(schedule.log_every);
            if is_logged {
                // Devices compute behind the host: their part of the steps counts, that of a validation does not.
                timer.wait(|| point.finite_loss())?;
            }
            if validate {
                self.validate(&mut point, checkpointing)?;
            }

            let interrupted = interrupter.should_stop() && !last;
            let checkpoint =
                last || interrupted || self.has_stalled() || done.is_multiple_of(schedule.checkpoint_every);
            if checkpoint {
                // A checkpoint of a run that has broken down is not worth keeping.
                point.finite_loss()?;
            }
            if is_logged {
                let properties = T::properties(self.config, self.replicas.first().model());
                let point = point.complete(properties, learning_rate, timer.take_mean_milliseconds())?;
                progress.on(Event::Measured { point: &point, steps, text: &T::describe(&point) });
                if let Checkpointing::On { metrics, .. } = checkpointing {
                    metrics.append(&point)?;
                }
            }
            if checkpoint {
                self.checkpoint(checkpointing)?;
            }
            if interrupted {
                return Ok(FitEnd::Interrupted);
            }
        }
        Ok(if self.has_stalled() { FitEnd::StoppedEarly } else { FitEnd::Finished })
    }

    /// One step; its loss stays on the devices until it is read.
    fn step(&mut self) -> Result<(PendingPoint, f64), StepError> {
        let (losses, learning_rate) = self.replicas.step(self.state.step)?;
        self.state.step += 1;
        Ok((PendingPoint::new(self.state.step, losses), learning_rate))
    }

    fn checkpoint(&mut self, checkpointing: &mut Checkpointing) -> Result<(), FitError> {
        if let Checkpointing::On { metrics, checkpoints, .. } = checkpointing {
            self.state.metrics_bytes = metrics.sync()?;
            self.replicas.first().save(checkpoints, *self.state)?;
            *self.saved = Some(self.state.step);
        }
        Ok(())
    }

    /// The error of a device that failed in a step. The state before that step is saved if the first device still has
    /// it.
    fn save_after_failure(&mut self, device: String, cause: String, checkpointing: &mut Checkpointing) -> FitError {
        let is_saved = self.saved.unwrap_or(0) == self.state.step;
        if self.replicas.is_intact() && !is_saved {
            // A failure to save leaves the previous checkpoint as the last one.
            let _ = guarded(|| self.checkpoint(checkpointing));
        }
        self.failure(device, cause)
    }

    fn failure(&self, device: String, cause: String) -> FitError {
        FitError::Device { device, step: self.state.step, cause, saved: *self.saved }
    }

    /// Validates the untrained model, which is the best one before the first step.
    fn validate_untrained(&mut self, checkpointing: &Checkpointing) -> Result<(), FitError> {
        let (run, device) = (OpenRun { config: self.config, data: self.data }, self.replicas.first().device());
        if let Some(model) = T::untrained(&run, &device.clone().inner())? {
            let validated = T::measure(&run, &model)?;
            if self.state.step == 0 && validated.loss.is_finite() {
                self.keep(model, checkpointing)?;
                self.state.best_loss = Some(validated.loss);
            }
            self.untrained = Some(validated);
        }
        Ok(())
    }

    /// Validates the model, keeps it if it is the best so far, and counts validations without improvement.
    fn validate(&mut self, point: &mut PendingPoint, checkpointing: &Checkpointing) -> Result<(), FitError> {
        let (run, model) = (OpenRun { config: self.config, data: self.data }, self.replicas.first().result());
        let validated = T::measure(&run, &model)?;
        let loss = validated.loss;
        if !loss.is_finite() {
            return Err(MetricsError::LossNotFinite { loss, step: self.state.step }.into());
        }
        let is_worse = self.untrained.as_ref().is_some_and(|of| T::is_worse(&validated, of));
        if !is_worse && self.state.best_loss.is_none_or(|best| loss < best) {
            if self.config.schedule.patience > 0 || T::keeps_best(self.config) {
                self.keep(model, checkpointing)?;
            }
            self.state.best_loss = Some(loss);
            self.state.stale = 0;
        } else {
            self.state.stale += 1;
        }
        point.validation = Some(validated);
        Ok(())
    }

    /// Keeps the best model so far.
    fn keep(&mut self, model: T::Model, checkpointing: &Checkpointing) -> Result<(), FitError> {
        if let Checkpointing::On { best, .. } = checkpointing {
            T::save(&model, self.config, best)?;
        }
        self.state.best_step = Some(self.state.step);
        *self.best = Some(model);
        Ok(())
    }

    /// Whether as many validations as the run's patience brought no improvement.
    fn has_stalled(&self) -> bool {
        let patience = self.config.schedule.patience;
        patience > 0 && self.state.stale >= patience
    }
}

/// Mean wall time per step since it was last read.
#[derive(Default)]
struct StepTimer {
    total: Duration,
    steps: u32,
}

impl StepTimer {
    fn time<T>(&mut self, step: impl FnOnce() -> T) -> T {
        self.steps += 1;
        self.wait(step)
    }

    /// Adds the time of waiting for the steps before.
    fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = wait();
        self.total += start.elapsed();
        result
    }

    fn take_mean_milliseconds(&mut self) -> f64 {
        let Self { total, steps } = std::mem::take(self);
        total.as_secs_f64() * 1e3 / f64::from(steps)
    }
}
