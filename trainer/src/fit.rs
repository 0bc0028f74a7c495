//! The loop over steps: validation, metrics, checkpoints and early stopping.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use burn_train::Interrupter;
use firefly_models::{ArgumentError, LearnedWelchPeaks, StoreError, Tier, WelchPeaks};
use firefly_ops::HostPeaks;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::batch::{Batch, Batches, frames_to_tensor};
use crate::checkpoint::{Checkpoint, CheckpointError, Checkpoints, RunState};
use crate::config::RunConfig;
use crate::data::{DataSets, Frames, Source};
use crate::evaluate::{Agreement, active_share, has_power, peaks_of};
use crate::loss::loss_terms;
use crate::metrics::{MetricsError, MetricsLog, PendingPoint, StepInfo, TrainingPoint, Validated};
use crate::progress::{Event, Progress};
use crate::step::{StepError, Stepper};

/// Frames of either kind that the fingerprint of recordings is taken of.
const FINGERPRINT_FRAMES: usize = 256;

/// Failure of training.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FitError {
    /// The data have no validation frames.
    #[error("there are no validation frames")]
    NoValidationFrames,
    /// No validation frame has power.
    #[error("no validation frame has power: the samples are silent, or too small or too large to be squared in f32")]
    NoPower,
    /// The recordings have changed since the run was started.
    #[error("the recordings are not those that the run was started with: put them back, or train into another --out")]
    OtherRecordings,
    /// The configuration or the data do not fit the model.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
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
    Store(#[from] StoreError),
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

    fn save_best(&self, model: &LearnedWelchPeaks) -> Result<(), StoreError> {
        match self {
            Self::Off => Ok(()),
            Self::On { best, .. } => model.save(best),
        }
    }

    fn checkpoint(&mut self, state: &mut RunState, stepper: &Stepper<'_>) -> Result<(), FitError> {
        if let Self::On { metrics, checkpoints, .. } = self {
            state.metrics_bytes = metrics.sync()?;
            stepper.save(checkpoints, *state)?;
        }
        Ok(())
    }
}

/// A run in progress.
pub struct Trainer<'a> {
    config: &'a RunConfig,
    stepper: Stepper<'a>,
    validation: ValidationSet,
    state: RunState,
}

impl<'a> Trainer<'a> {
    /// A run at its first step, on `device`.
    ///
    /// # Errors
    /// If the configuration and the data do not fit each other.
    pub fn new(config: &'a RunConfig, data: &DataSets, device: &Device) -> Result<Self, FitError> {
        let plain = device.clone().inner();
        let reference = config.model.exact(Tier::Reference).try_init(&plain)?;
        let frames = data.validation.evenly_spaced(config.schedule.validation_frames);
        let validation = ValidationSet::new(frames, &reference, &plain)?;
        let batches = Batches::new(data.train.clone(), reference, config.training.batch, plain);
        let state = RunState { recordings: fingerprint(data), ..RunState::default() };
        Ok(Self { config, stepper: Stepper::new(config, batches, device)?, validation, state })
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
    pub fn model(&self) -> LearnedWelchPeaks {
        self.stepper.model().valid()
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
        let (steps, schedule) = (self.config.training.steps, &self.config.schedule);
        let mut timer = StepTimer::default();
        while self.state.step < steps && !self.has_stalled() {
            let (mut point, learning_rate) = timer.time(|| self.step())?;
            let done = self.state.step;
            let last = done == steps;

            let validate = last || done.is_multiple_of(schedule.validate_every);
            if validate && self.validate(&mut point)? && schedule.patience > 0 {
                checkpointing.save_best(&self.model())?;
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
                progress.on(Event::Measured { point: &point, steps });
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
        let (terms, learning_rate) = self.stepper.step(self.state.step)?;
        self.state.step += 1;
        Ok((PendingPoint::new(self.state.step, terms), learning_rate))
    }

    /// Validates the model and counts validations without improvement. Returns whether the loss is the lowest so far.
    fn validate(&mut self, point: &mut PendingPoint) -> Result<bool, FitError> {
        let validated = self.validation.measure(&self.model(), self.config)?;
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
        let butterflies = self.stepper.model().count_open_butterflies();
        let active_share = active_share(&self.config.model, butterflies);
        StepInfo { butterflies, active_share, learning_rate, step_milliseconds }
    }
}

/// Number that follows from the samples of recordings: of training frames as they are drawn, which changes with every
/// file that is added or removed, and of validation frames. 0 for synthetic signals, which a seed determines.
fn fingerprint(data: &DataSets) -> u64 {
    if matches!(data.train, Source::Synthetic(_)) {
        return 0;
    }
    let mut drawn = vec![0.0f32; FINGERPRINT_FRAMES * data.train.frame()];
    data.train.fill_batch(0, &mut drawn);
    let validation = data.validation.evenly_spaced(FINGERPRINT_FRAMES);
    let mut hasher = Sha256::new();
    for sample in drawn.iter().chain(validation.iter().flatten()) {
        hasher.update(sample.to_le_bytes());
    }
    hasher.finalize().iter().take(size_of::<u64>()).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Validation frames with their reference.
struct ValidationSet {
    frames: Frames,
    batch: Batch,
    reference: HostPeaks,
}

impl ValidationSet {
    fn new(frames: Frames, reference: &WelchPeaks, device: &Device) -> Result<Self, FitError> {
        if frames.is_empty() {
            return Err(FitError::NoValidationFrames);
        }
        let peaks = peaks_of(&frames, device, |signal| reference.try_forward(signal))?;
        if !has_power(&peaks) {
            return Err(FitError::NoPower);
        }
        Ok(Self {
            batch: Batch::new(frames_to_tensor(frames.rows(0..frames.len()), frames.frame(), device), reference)?,
            reference: peaks,
            frames,
        })
    }

    /// Loss and recall with hard gates, which the finished model runs with.
    fn measure(&self, model: &LearnedWelchPeaks, config: &RunConfig) -> Result<Validated, ArgumentError> {
        let gates = model.hard_gates();
        let device = self.batch.signal.device();
        let butterflies = Tensor::from_floats([model.count_open_butterflies() as f32], &device);
        let terms = loss_terms(model, &gates, &self.batch, &config.loss, butterflies, config.loss.price)?;
        let loss = f64::from(terms.total().into_scalar::<f32>());
        let found = peaks_of(&self.frames, &device, |signal| model.try_forward(signal, &gates))?;
        let recall = Agreement::of(&found, &self.reference, config.model.k).recall;
        Ok(Validated { loss, recall })
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
