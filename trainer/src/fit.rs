//! The loop over steps: validation, metrics, checkpoints and early stopping.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use burn_train::Interrupter;
use thiserror::Error;

use crate::checkpoint::{Checkpoint, CheckpointError, Checkpoints, RunState};
use crate::config::{Length, RunConfig, Training};
use crate::metrics::{MetricsError, MetricsLog, PendingPoint, StepInfo, TrainingPoint};
use crate::progress::{Event, Progress};
use crate::step::{StepError, Stepper};
use crate::task::{ModelError, Task, TaskError};

/// Failure of training.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FitError {
    /// The training data have no end, and the length of the run is in epochs.
    #[error("training.epochs can't be given: the training data have no end; give training.steps")]
    EndlessData,
    /// The recordings have changed since the run was started.
    #[error("the recordings are not those that the run was started with: put them back, or train into another --out")]
    OtherRecordings,
    /// The configuration or the data do not fit the model.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A step can't be taken.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The loss is not finite, or the metrics can't be written.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// The loss on validation frames is NaN or infinite.
    #[error("the loss is {loss} at step {step}: try a lower learning rate")]
    ValidationLossNotFinite {
        /// The loss.
        loss: f64,
        /// Steps done.
        step: usize,
    },
    /// A checkpoint can't be written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The best model can't be written.
    #[error(transparent)]
    Store(#[from] ModelError),
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
pub enum Checkpointing {
    /// None: model and metrics are in memory alone.
    Off,
    /// Files in a run's folder.
    On {
        /// Metrics, one line per logged step.
        metrics: MetricsLog,
        /// Checkpoints to resume from.
        checkpoints: Checkpoints,
        /// Folder of the best model of a run that may stop early.
        best: PathBuf,
    },
}

impl FitError {
    /// Whether training itself broke down, rather than its data, files or settings.
    pub fn is_divergence(&self) -> bool {
        matches!(self, Self::ValidationLossNotFinite { .. } | Self::Metrics(MetricsError::LossNotFinite { .. }))
    }
}

impl Checkpointing {
    fn append(&mut self, point: &TrainingPoint) -> Result<(), MetricsError> {
        match self {
            Self::Off => Ok(()),
            Self::On { metrics, .. } => metrics.append(point),
        }
    }

    fn save_best<T: Task>(&self, model: &T::Model, config: &RunConfig<T>) -> Result<(), ModelError> {
        match self {
            Self::Off => Ok(()),
            Self::On { best, .. } => T::save(model, config, best),
        }
    }

    fn checkpoint<T: Task>(&mut self, state: &mut RunState, stepper: &Stepper<'_, T>) -> Result<(), FitError> {
        if let Self::On { metrics, checkpoints, .. } = self {
            state.metrics_bytes = metrics.sync()?;
            stepper.save(checkpoints, *state)?;
        }
        Ok(())
    }
}

/// A run in progress.
pub struct Trainer<'a, T: Task> {
    config: &'a RunConfig<T>,
    data: &'a T::Data,
    stepper: Stepper<'a, T>,
    steps: usize,
    state: RunState,
}

impl<'a, T: Task> Trainer<'a, T> {
    /// A run at its first step, on `device`.
    ///
    /// # Errors
    /// If the configuration and the data do not fit each other.
    pub fn new(config: &'a RunConfig<T>, data: &'a T::Data, device: &Device) -> Result<Self, FitError> {
        let steps = match config.training.length() {
            Length::Steps(steps) => steps,
            Length::Epochs(epochs) => {
                let batches = T::batches_per_epoch(config, data).ok_or(FitError::EndlessData)?;
                epochs.saturating_mul(batches).div_ceil(config.optimizer.accumulate).max(1)
            }
        };
        let stepper = Stepper::new(config, data, steps, device)?;
        let state = RunState { recordings: T::fingerprint(data), ..RunState::default() };
        Ok(Self { config, data, stepper, steps, state })
    }

    /// Continues from a checkpoint.
    ///
    /// # Errors
    /// If the checkpoint is of another model, or of a run on other recordings.
    pub fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), FitError> {
        let state = checkpoint.state;
        if state.recordings != self.state.recordings {
            return Err(FitError::OtherRecordings);
        }
        self.stepper.restore(checkpoint)?;
        self.state = state;
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

    /// Takes the remaining steps.
    ///
    /// # Errors
    /// If the loss is no longer finite, or a file can't be written.
    pub fn fit(
        &mut self,
        checkpointing: &mut Checkpointing,
        interrupter: &Interrupter,
        progress: &mut dyn Progress,
    ) -> Result<FitEnd, FitError> {
        let (steps, schedule) = (self.steps, &self.config.schedule);
        let mut timer = StepTimer::default();
        while self.state.step < steps && !self.has_stalled() {
            let (mut point, learning_rate) = timer.time(|| self.step())?;
            let done = self.state.step;
            let last = done == steps;

            let validate = last || done.is_multiple_of(schedule.validate_every);
            if validate && self.validate(&mut point)? && schedule.patience > 0 {
                checkpointing.save_best(&self.model(), self.config)?;
            }

            let interrupted = interrupter.should_stop() && !last;
            let checkpoint =
                last || interrupted || self.has_stalled() || done.is_multiple_of(schedule.checkpoint_every);
            if checkpoint {
                // A checkpoint of a run that has broken down is not worth keeping.
                point.finite_loss()?;
            }
            if validate || done.is_multiple_of(schedule.log_every) {
                let point = point.complete(self.step_info(learning_rate, timer.take_mean_milliseconds()))?;
                progress.on(Event::Measured { point: &point, steps, text: &T::describe(&point) });
                checkpointing.append(&point)?;
            }
            if checkpoint {
                checkpointing.checkpoint(&mut self.state, &self.stepper)?;
            }
            if interrupted {
                return Ok(FitEnd::Interrupted);
            }
        }
        Ok(if self.has_stalled() { FitEnd::StoppedEarly } else { FitEnd::Finished })
    }

    /// One step; its loss stays on the device until it is read.
    fn step(&mut self) -> Result<(PendingPoint, f64), StepError> {
        let (loss, learning_rate) = self.stepper.step(self.state.step)?;
        self.state.step += 1;
        Ok((PendingPoint::new(self.state.step, loss), learning_rate))
    }

    /// Validates the model and counts validations without improvement. Returns whether the loss is the lowest so far.
    fn validate(&mut self, point: &mut PendingPoint) -> Result<bool, FitError> {
        let validated = T::measure(self.config, self.data, &self.model())?;
        let loss = validated.loss;
        if !loss.is_finite() {
            return Err(FitError::ValidationLossNotFinite { loss, step: self.state.step });
        }
        point.set_validation(validated);
        let improved = self.state.best_loss.is_none_or(|best| loss < best);
        if improved {
            self.state.best_loss = Some(loss);
            self.state.stale = 0;
        } else {
            self.state.stale += 1;
        }
        Ok(improved)
    }

    /// Whether as many validations as the run's patience brought no improvement.
    fn has_stalled(&self) -> bool {
        let patience = self.config.schedule.patience;
        patience > 0 && self.state.stale >= patience
    }

    fn step_info(&self, learning_rate: f64, step_milliseconds: f64) -> StepInfo {
        StepInfo { properties: T::properties(self.config, self.stepper.model()), learning_rate, step_milliseconds }
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
        let start = Instant::now();
        let result = step();
        self.total += start.elapsed();
        self.steps += 1;
        result
    }

    fn take_mean_milliseconds(&mut self) -> f64 {
        let Self { total, steps } = std::mem::take(self);
        total.as_secs_f64() * 1e3 / f64::from(steps)
    }
}
