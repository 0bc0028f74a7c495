//! One optimisation step: a batch, gates, the loss, its gradients, and the update.

use burn::module::{Module, ParamGroup};
use burn::optim::lr_scheduler::LrSchedulerConfig;
use burn::optim::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::optim::lr_scheduler::module_lr_scheduler::{ModuleLearningRate, ModuleLrScheduler, ModuleLrSchedulerConfig};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::{ArgumentError, Gates, LearnedWelchPeaks};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::batch::Batches;
use crate::checkpoint::{Checkpoint, CheckpointError, Checkpoints, RunState};
use crate::config::{Parameters, RunConfig};
use crate::loss::{LossTerms, loss_terms};

/// Failure of a step.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StepError {
    /// The configuration or the data do not fit the model.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The learning rates make no schedule.
    #[error("the learning rates make no schedule: {0}")]
    Schedule(String),
    /// A checkpoint is of another model.
    #[error("the checkpoint does not fit the model: {0}")]
    Checkpoint(String),
}

/// Model, optimizer and schedule between two steps.
pub struct Stepper<'a> {
    config: &'a RunConfig,
    model: LearnedWelchPeaks,
    optimizer: ModuleOptimizer,
    scheduler: ModuleLrScheduler,
    batches: Batches,
}

impl<'a> Stepper<'a> {
    /// The configured model at its first step, on `device`.
    ///
    /// # Errors
    /// If the configuration is out of range.
    pub fn new(config: &'a RunConfig, batches: Batches, device: &Device) -> Result<Self, StepError> {
        let model = config.model.learned().try_init(&device.clone().autodiff())?;
        Ok(Self {
            config,
            model: freeze(model, &config.training.learn),
            optimizer: AdamConfig::new().with_epsilon(1e-8).init(),
            scheduler: scheduler(config)?,
            batches,
        })
    }

    /// Continues from a checkpoint.
    ///
    /// # Errors
    /// If the checkpoint is of another model.
    pub fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), StepError> {
        let model = self.model.clone().try_load_record(checkpoint.model);
        let model = model.map_err(|error| StepError::Checkpoint(error.to_string()))?;
        self.model = freeze(model, &self.config.training.learn);
        self.optimizer = self.optimizer.clone().load_record(checkpoint.optimizer);
        self.scheduler = self.scheduler.clone().load_record(checkpoint.scheduler);
        Ok(())
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn save(&self, checkpoints: &Checkpoints, state: RunState) -> Result<(), CheckpointError> {
        checkpoints.save(state, &self.model, &self.optimizer, self.scheduler.to_record())
    }

    /// The model, tracked by autodiff.
    pub fn model(&self) -> &LearnedWelchPeaks {
        &self.model
    }

    /// Takes the step that follows `step` steps. Returns its loss, still on the device, and its base learning rate.
    ///
    /// # Errors
    /// If the batch does not fit the model.
    pub fn step(&mut self, step: usize) -> Result<(LossTerms, f64), StepError> {
        let batch = self.batches.at(step)?;
        let gates = self.gates(step)?;
        let butterflies = self.expected_butterflies(&gates);
        let terms = loss_terms(&self.model, &gates, &batch, &self.config.loss, butterflies, self.price(step))?;
        let gradients = GradientsParams::from_grads(terms.total().backward(), &self.model);
        let rate: ModuleLearningRate = self.scheduler.step();
        let base = rate.base();
        self.model = self.optimizer.step(rate, self.model.clone(), gradients);
        Ok((terms, base))
    }

    /// Price of butterflies: it rises linearly from zero over the first steps.
    fn price(&self, step: usize) -> f64 {
        let ramp = self.config.loss.price_ramp * self.config.training.steps as f64;
        self.config.loss.price * if ramp > 0.0 { (step as f64 / ramp).min(1.0) } else { 1.0 }
    }

    fn learns(&self, group: Parameters) -> bool {
        self.config.training.learn.contains(&group)
    }

    /// The gates of a step: sampled where they are learned, hard where they are not.
    fn gates(&self, step: usize) -> Result<Gates, ArgumentError> {
        let hard = || self.model.hard_gates();
        let sampled = || {
            let (butterflies, segments) = self.gate_noise(step);
            self.model.sample_gates_from(butterflies, segments)
        };
        Ok(match (self.learns(Parameters::Gates), self.learns(Parameters::Segments)) {
            (true, true) => sampled()?,
            (true, false) => Gates::new(sampled()?.butterflies().clone(), hard().segments().clone()),
            (false, true) => Gates::new(hard().butterflies().clone(), sampled()?.segments().clone()),
            (false, false) => hard(),
        })
    }

    /// Uniform noise for the gates of butterflies and of segments, a function of the seed and the step alone.
    fn gate_noise(&self, step: usize) -> (Tensor<2>, Tensor<1>) {
        let mut generator = ChaCha8Rng::seed_from_u64(self.config.seed);
        generator.set_stream(step as u64);
        let butterflies = uniform_like(self.model.gate_logits.val(), &mut generator);
        (butterflies, uniform_like(self.model.segment_logits.val(), &mut generator))
    }

    /// Open butterflies per frame, `[1]`: the expected number where gates are learned, their number where they are not.
    fn expected_butterflies(&self, gates: &Gates) -> Tensor<1> {
        let butterflies = match self.learns(Parameters::Gates) {
            true => self.model.expected_open_gates(),
            false => gates.butterflies().clone().sum().detach(),
        };
        let segments = match self.learns(Parameters::Segments) {
            true => self.model.expected_open_segments(),
            false => gates.segments().clone().sum().detach(),
        };
        butterflies * segments
    }
}

/// Uniform random numbers from 0 to 1 of the shape of `like`, on its device.
fn uniform_like<const D: usize>(like: Tensor<D>, generator: &mut ChaCha8Rng) -> Tensor<D> {
    let shape = like.dims();
    let draws: Vec<f32> = (0..shape.iter().product()).map(|_| generator.random()).collect();
    Tensor::from_data(TensorData::new(draws, shape), &like.device().inner())
}

/// Excludes parameters that are not learned from autodiff.
fn freeze(mut model: LearnedWelchPeaks, learn: &[Parameters]) -> LearnedWelchPeaks {
    let learned = |group| learn.contains(&group);
    model.taper = model.taper.set_require_grad(learned(Parameters::Taper));
    model.twiddles = model.twiddles.set_require_grad(learned(Parameters::Twiddles));
    model.gate_logits = model.gate_logits.set_require_grad(learned(Parameters::Gates));
    model.segment_logits = model.segment_logits.set_require_grad(learned(Parameters::Segments));
    model.log_gain = model.log_gain.set_require_grad(learned(Parameters::Gain));
    model
}

/// Learning rates that fall along half a cosine, one per group of parameters.
fn scheduler(config: &RunConfig) -> Result<ModuleLrScheduler, StepError> {
    let training = &config.training;
    let cosine = |share: f64| -> LrSchedulerConfig {
        LrSchedulerConfig::Cosine(CosineAnnealingLrSchedulerConfig::new(training.learning_rate * share, training.steps))
    };
    ModuleLrSchedulerConfig::new(cosine(1.0))
        .with_group(ParamGroup::from_path("taper"), cosine(training.taper_rate))
        .with_group(ParamGroup::from_path("twiddles"), cosine(training.twiddle_rate))
        .init()
        .map_err(StepError::Schedule)
}
