//! One optimisation step: batches, their loss, its gradients, and the update.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::lr_scheduler::module_lr_scheduler::{ModuleLearningRate, ModuleLrScheduler};
use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::store::ModuleRecord;
use burn::tensor::{Device, Tensor};
use firefly_app::device::DeviceName;
use thiserror::Error;

use crate::average::blended;
use crate::checkpoint::{Checkpoint, CheckpointError, Checkpoints, RunState};
use crate::config::{RunConfig, Training};
use crate::gradients::clip_norm;
use crate::metrics::StepLoss;
use crate::optimizer::{optimizer, scheduler};
use crate::task::{DeviceRank, OpenRun, Task, TaskData, TaskError};

/// Failure of a step.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum StepError {
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error("the learning rates make no schedule: {0}")]
    Schedule(String),
    #[error("the checkpoint does not fit the model: {0}")]
    Checkpoint(String),
    #[error("device {device} failed: {cause}")]
    Device { device: String, cause: String },
}

/// Loss and gradients of a device's share of a batch, before the update.
pub struct StepGradients<T: Task> {
    /// The model before the step.
    pub model: T::Model,
    /// Loss of the share, weighted by its rows, still on the device.
    pub loss: StepLoss,
    /// Gradients of that loss.
    pub gradients: GradientsParams,
}

/// Model, optimizer and schedule between two steps, on one device.
pub struct Stepper<'a, T: Task> {
    config: &'a RunConfig<T>,
    data: &'a T::Data,
    steps: usize,
    device: Device,
    rank: DeviceRank,
    model: T::Model,
    optimizer: ModuleOptimizer,
    scheduler: ModuleLrScheduler,
    /// Moving average of the weights, without autodiff, if the configuration asks for one.
    average: Option<T::Model>,
}

impl<'a, T: Task> Stepper<'a, T> {
    /// The configured model before the first of `steps` steps, on `device`, the one at this position among several. An
    /// error if the configuration is out of range.
    pub fn new(
        config: &'a RunConfig<T>,
        data: &'a T::Data,
        steps: usize,
        device: &Device,
        rank: DeviceRank,
    ) -> Result<Self, StepError> {
        let model = T::init(&OpenRun { config, data }, &device.clone().autodiff())?;
        initialise(&model);
        let model = T::freeze(model, config);
        let rate = config.training.common().learning_rate;
        // The average is validated and kept, which the first device does.
        let has_average = config.optimizer.average_decay > 0.0 && rank.index == 0;
        Ok(Self {
            config,
            data,
            steps,
            device: device.clone(),
            rank,
            optimizer: optimizer(&config.optimizer),
            scheduler: scheduler(&config.optimizer, rate, steps, &T::rates(config)).map_err(StepError::Schedule)?,
            average: has_average.then(|| model.valid()),
            model,
        })
    }

    fn run(&self) -> OpenRun<'a, T> {
        OpenRun { config: self.config, data: self.data }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Name of the device, with its rank among several.
    pub fn name(&self) -> String {
        let (name, DeviceRank { index, devices }) = (DeviceName::of(&self.device), self.rank);
        if devices == 1 { name.to_string() } else { format!("{name} ({} of {devices})", index + 1) }
    }

    /// Takes over model, optimizer and schedule of another device. An error if its model is another one.
    pub fn follow(&mut self, first: &Self) -> Result<(), StepError> {
        self.load(first.model.clone().into_record())?;
        self.optimizer = self.optimizer.clone().load_record(first.optimizer.to_record());
        self.scheduler = self.scheduler.clone().load_record(first.scheduler.to_record());
        Ok(())
    }

    /// Takes over the parameters of a model.
    fn load(&mut self, record: ModuleRecord) -> Result<(), StepError> {
        let model = self.model.clone().try_load_record(record);
        self.model = T::freeze(model.map_err(|error| StepError::Checkpoint(error.to_string()))?, self.config);
        Ok(())
    }

    /// Continues from a checkpoint. An error if the checkpoint is of another model.
    pub fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), StepError> {
        let unfit = |error: String| StepError::Checkpoint(error);
        self.load(checkpoint.model)?;
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

    /// Writes a checkpoint. An error if a file can't be written.
    pub fn save(&self, checkpoints: &Checkpoints, state: RunState) -> Result<(), CheckpointError> {
        // A record of the model lacks the last step's running statistics of batch normalisation until they are read.
        drop(self.model.valid());
        checkpoints.save(state, &self.model, &self.optimizer, self.scheduler.to_record(), self.average.as_ref())
    }

    /// The model, tracked by autodiff.
    pub fn model(&self) -> &T::Model {
        &self.model
    }

    /// The model to validate and keep, without autodiff: the average of the weights where there is one. It is a copy:
    /// clones of a module share the running statistics of batch normalisation, which later steps change.
    pub fn result(&self) -> T::Model {
        self.average.as_ref().unwrap_or(&self.model).valid()
    }

    /// Loss and gradients of the step that follows `step` steps. An error if a batch does not fit the model.
    pub fn gradients(&self, step: usize) -> Result<StepGradients<T>, StepError> {
        let batches = self.config.optimizer.accumulate;
        let model = T::advance(&self.run(), self.model.clone(), step, self.steps)?;
        let mut accumulator = GradientsAccumulator::new();
        let mut sum: Option<StepLoss> = None;
        for batch in step * batches..(step + 1) * batches {
            let part = self.share_of_loss(&model, batch, step, 1.0 / batches as f64)?;
            accumulator.accumulate(&model, GradientsParams::from_grads(part.total.backward(), &model));
            let part = part.detached();
            sum = Some(match sum {
                Some(sum) => sum.plus(part),
                None => part,
            });
        }
        let loss = sum.ok_or_else(|| StepError::Schedule("optimizer.accumulate is 0".into()))?;
        Ok(StepGradients { model, loss, gradients: accumulator.grads() })
    }

    /// Loss of this device's share of a batch: its part of `weight` times the mean over the batch.
    fn share_of_loss(&self, model: &T::Model, batch: usize, step: usize, weight: f64) -> Result<StepLoss, StepError> {
        let rows = self.data.order().map_or_else(|| self.config.training.common().batch, |order| order.rows(batch));
        let (share, of_batch) = self.rank.share(batch, rows);
        let loss = T::loss(&self.run(), model, &share, step)?;
        let weight = weight * of_batch;
        Ok(if weight == 1.0 { loss } else { loss.scaled(weight) })
    }

    /// Updates the model by the gradients of a whole step. Returns the base learning rate.
    pub fn update(&mut self, step: usize, StepGradients { model, mut gradients, .. }: StepGradients<T>) -> f64 {
        let section = &self.config.optimizer;
        if section.clip_norm > 0.0 {
            gradients = clip_norm(&model, gradients, section.clip_norm);
        }
        let rate: ModuleLearningRate = self.scheduler.step();
        let base = rate.base();
        self.model = self.optimizer.step(rate, model, gradients);
        if let Some(average) = self.average.take() {
            self.average = Some(blended(average, &self.model.valid(), section.average_decay, step));
        }
        base
    }
}

/// Draws every parameter now, in the order of the module. Each would be drawn when it is first used, and the draws would
/// depend on the number of devices.
pub(crate) fn initialise(model: &impl Module) {
    struct Initialiser;
    impl ModuleVisitor for Initialiser {
        fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
            parameter.val();
        }
    }
    model.visit(&mut Initialiser);
}
