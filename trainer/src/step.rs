//! One optimisation step: batches, their loss, its gradients, and the update.

use burn::module::Module;
use burn::optim::lr_scheduler::module_lr_scheduler::{ModuleLearningRate, ModuleLrScheduler};
use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::tensor::Device;
use thiserror::Error;

use crate::average::blended;
use crate::checkpoint::{Checkpoint, CheckpointError, Checkpoints, RunState};
use crate::config::{RunConfig, Training};
use crate::gradients::clip_norm;
use crate::metrics::StepLoss;
use crate::optimizer::{optimizer, scheduler};
use crate::task::{Task, TaskError};

/// Failure of a step.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StepError {
    /// The configuration or the data do not fit the model.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The learning rates make no schedule.
    #[error("the learning rates make no schedule: {0}")]
    Schedule(String),
    /// A checkpoint is of another model.
    #[error("the checkpoint does not fit the model: {0}")]
    Checkpoint(String),
}

/// Model, optimizer and schedule between two steps.
pub struct Stepper<'a, T: Task> {
    config: &'a RunConfig<T>,
    data: &'a T::Data,
    steps: usize,
    model: T::Model,
    optimizer: ModuleOptimizer,
    scheduler: ModuleLrScheduler,
    /// Moving average of the weights, without autodiff, if the configuration asks for one.
    average: Option<T::Model>,
}

impl<'a, T: Task> Stepper<'a, T> {
    /// The configured model at the first of `steps` steps, on `device`.
    ///
    /// # Errors
    /// If the configuration is out of range.
    pub fn new(config: &'a RunConfig<T>, data: &'a T::Data, steps: usize, device: &Device) -> Result<Self, StepError> {
        let model = T::freeze(T::init(config, data, &device.clone().autodiff())?, config);
        let rate = config.training.learning_rate();
        Ok(Self {
            config,
            data,
            steps,
            optimizer: optimizer(&config.optimizer),
            scheduler: scheduler(&config.optimizer, rate, steps, &T::rates(config)).map_err(StepError::Schedule)?,
            average: (config.optimizer.average_decay > 0.0).then(|| model.valid()),
            model,
        })
    }

    /// Continues from a checkpoint.
    ///
    /// # Errors
    /// If the checkpoint is of another model.
    pub fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), StepError> {
        let unfit = |error: String| StepError::Checkpoint(error);
        let model = self.model.clone().try_load_record(checkpoint.model);
        self.model = T::freeze(model.map_err(|error| unfit(error.to_string()))?, self.config);
        self.optimizer = self.optimizer.clone().load_record(checkpoint.optimizer);
        self.scheduler = self.scheduler.clone().load_record(checkpoint.scheduler);
        self.average = match (self.average.take(), checkpoint.average) {
            (None, None) => None,
            (Some(average), Some(record)) => {
                Some(average.try_load_record(record).map_err(|error| unfit(error.to_string()))?)
            }
            (Some(_), None) => return Err(unfit("it has no average of the weights".into())),
            (None, Some(_)) => return Err(unfit("it has an average of the weights".into())),
        };
        Ok(())
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn save(&self, checkpoints: &Checkpoints, state: RunState) -> Result<(), CheckpointError> {
        checkpoints.save(state, &self.model, &self.optimizer, self.scheduler.to_record(), self.average.as_ref())
    }

    /// The model, tracked by autodiff.
    pub fn model(&self) -> &T::Model {
        &self.model
    }

    /// The model to validate and keep, without autodiff: the average of the weights where there is one.
    pub fn result(&self) -> T::Model {
        self.average.clone().unwrap_or_else(|| self.model.valid())
    }

    /// Takes the step that follows `step` steps. Returns its loss, still on the device, and its base learning rate.
    ///
    /// # Errors
    /// If a batch does not fit the model.
    pub fn step(&mut self, step: usize) -> Result<(StepLoss, f64), StepError> {
        let section = &self.config.optimizer;
        self.model = T::advance(self.model.clone(), self.config, self.data, step, self.steps)?;
        let (loss, mut gradients) = self.gradients(step, section.accumulate)?;
        if section.clip_norm > 0.0 {
            gradients = clip_norm(&self.model, gradients, section.clip_norm);
        }
        let rate: ModuleLearningRate = self.scheduler.step();
        let base = rate.base();
        self.model = self.optimizer.step(rate, self.model.clone(), gradients);
        if let Some(average) = self.average.take() {
            self.average = Some(blended(average, &self.model.valid(), section.average_decay, step));
        }
        Ok((loss, base))
    }

    /// Mean loss of a step's batches, and its gradients.
    fn gradients(&self, step: usize, batches: usize) -> Result<(StepLoss, GradientsParams), StepError> {
        if batches == 1 {
            let loss = T::loss(self.config, self.data, &self.model, step, step)?;
            let gradients = GradientsParams::from_grads(loss.total.backward(), &self.model);
            return Ok((loss, gradients));
        }
        let mut accumulator = GradientsAccumulator::new();
        let mut sum: Option<StepLoss> = None;
        for batch in step * batches..(step + 1) * batches {
            let part = T::loss(self.config, self.data, &self.model, batch, step)?.scaled(1.0 / batches as f64);
            accumulator.accumulate(&self.model, GradientsParams::from_grads(part.total.backward(), &self.model));
            let part = part.detached();
            sum = Some(match sum {
                Some(sum) => sum.plus(part),
                None => part,
            });
        }
        let loss = sum.ok_or_else(|| StepError::Schedule("optimizer.accumulate is 0".into()))?;
        Ok((loss, accumulator.grads()))
    }
}
