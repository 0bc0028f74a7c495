//! The optimisation itself: steps, validations, checkpoints, and when to stop.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use burn::module::{Module, ParamGroup};
use burn::optim::lr_scheduler::LrSchedulerConfig;
use burn::optim::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::optim::lr_scheduler::module_lr_scheduler::{ModuleLearningRate, ModuleLrScheduler, ModuleLrSchedulerConfig};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor, TensorData};
use burn_train::Interrupter;
use firefly_models::{Gates, LearnedWelchPeaks, Tier};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::batch::{Batch, Batches, tensor};
use crate::checkpoint::{Checkpoints, Restored, State};
use crate::config::{Parameters, RunConfig};
use crate::data::{DataSets, Frames};
use crate::evaluate::{Agreement, HostPeaks, active_share, peaks_of};
use crate::loss::terms;
use crate::metrics::{MetricsLog, PendingPoint};
use crate::progress::Progress;

/// Why a run's steps ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every step is done.
    Finished,
    /// Validation stopped getting better.
    StoppedEarly,
    /// Somebody asked for it; a checkpoint holds the run.
    Interrupted,
}

/// A run in progress.
pub struct Trainer<'a> {
    config: &'a RunConfig,
    model: LearnedWelchPeaks,
    optimizer: ModuleOptimizer,
    scheduler: ModuleLrScheduler,
    batches: Batches,
    validation: Validation,
    state: State,
}

/// Frames that training is watched on, with what the reference finds there.
struct Validation {
    frames: Frames,
    batch: Batch,
    reference: HostPeaks,
}

impl<'a> Trainer<'a> {
    /// A run at its first step, on `device`.
    ///
    /// # Errors
    /// If the configuration and the data don't make a run.
    pub fn new(config: &'a RunConfig, data: &DataSets, device: &Device) -> Result<Self> {
        let plain = device.clone().inner();
        let reference = config.model.exact(Tier::Reference).try_init(&plain)?;
        let frames = data.validation.spread(config.schedule.validation_frames);
        ensure!(!frames.is_empty(), "there are no validation frames");
        let validation = Validation {
            batch: Batch::new(tensor(frames.samples().to_vec(), frames.frame(), &plain), &reference)?,
            reference: peaks_of(&frames, &plain, |signal| reference.try_forward(signal))?,
            frames,
        };
        let model = config.model.learned().try_init(&device.clone().autodiff())?;
        Ok(Self {
            config,
            model: freeze(model, &config.training.learn),
            optimizer: AdamConfig::new().with_epsilon(1e-8).init(),
            scheduler: scheduler(config)?,
            batches: Batches::new(data.train.clone(), reference, config.training.batch, plain),
            validation,
            state: State::default(),
        })
    }

    /// Continues from a checkpoint.
    ///
    /// # Errors
    /// If the checkpoint does not fit the model.
    pub fn restore(&mut self, restored: Restored) -> Result<()> {
        let model = self.model.clone().try_load_record(restored.model);
        let model = model.map_err(|error| anyhow!("the checkpoint does not fit the model: {error}"))?;
        self.model = freeze(model, &self.config.training.learn);
        self.optimizer = self.optimizer.clone().load_record(restored.optimizer);
        self.scheduler = self.scheduler.clone().load_record(restored.scheduler);
        self.state = restored.state;
        Ok(())
    }

    /// Where the run stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// The model as it is, off the tape.
    pub fn model(&self) -> LearnedWelchPeaks {
        self.model.valid()
    }

    /// Does the remaining steps. A run that may stop early keeps its best model in the folder `best`.
    ///
    /// # Errors
    /// If the loss is no longer finite, or a file can't be written.
    pub fn run(
        &mut self,
        checkpoints: &Checkpoints,
        best: &Path,
        metrics: &mut MetricsLog,
        interrupter: &Interrupter,
        progress: &mut dyn Progress,
    ) -> Result<End> {
        let (steps, schedule) = (self.config.training.steps, &self.config.schedule);
        let mut spent = (Duration::ZERO, 0u32);
        while self.state.step < steps && !self.has_stalled() {
            let start = Instant::now();
            let (mut point, learning_rate) = self.step()?;
            spent = (spent.0 + start.elapsed(), spent.1 + 1);
            let done = self.state.step;
            let last = done == steps;
            let validate = last || done.is_multiple_of(schedule.validate_every);
            if validate && self.validate(&mut point)? && schedule.patience > 0 {
                self.model().save(best)?;
            }
            let interrupted = interrupter.should_stop() && !last;
            let checkpoint =
                last || interrupted || self.has_stalled() || done.is_multiple_of(schedule.checkpoint_every);
            if checkpoint {
                point.check()?;
            }
            if validate || done.is_multiple_of(schedule.log_every) {
                let milliseconds = spent.0.as_secs_f64() * 1e3 / f64::from(spent.1);
                let line = point.complete(
                    self.model.count_open_butterflies(),
                    self.active_share(),
                    learning_rate,
                    milliseconds,
                )?;
                progress.point(&line, steps);
                metrics.append(&line)?;
                spent = (Duration::ZERO, 0);
            }
            if checkpoint {
                self.state.metrics_bytes = metrics.sync()?;
                checkpoints.save(self.state, &self.model, &self.optimizer, self.scheduler.to_record())?;
            }
            if interrupted {
                return Ok(End::Interrupted);
            }
        }
        Ok(if self.has_stalled() { End::StoppedEarly } else { End::Finished })
    }

    /// Whether validation has not got better for as long as the run is patient.
    fn has_stalled(&self) -> bool {
        let patience = self.config.schedule.patience;
        patience > 0 && self.state.stale >= patience
    }

    fn active_share(&self) -> f64 {
        active_share(&self.config.model, self.model.count_open_butterflies())
    }

    /// One step; what it measured is read back only if somebody looks.
    fn step(&mut self) -> Result<(PendingPoint, f64)> {
        let step = self.state.step;
        let batch = self.batches.at(step)?;
        let gates = self.gates(step)?;
        let butterflies = self.expected_butterflies(&gates);
        let terms = terms(&self.model, &gates, &batch, &self.config.loss, butterflies, self.price(step))?;
        let gradients = GradientsParams::from_grads(terms.total().backward(), &self.model);
        let rate: ModuleLearningRate = self.scheduler.step();
        let base = rate.base();
        self.model = self.optimizer.step(rate, self.model.clone(), gradients);
        self.state.step += 1;
        Ok((PendingPoint::at(self.state.step, terms), base))
    }

    /// The loss and recall with hard gates, which is what the finished model runs with. Returns whether the loss is the
    /// lowest so far.
    fn validate(&mut self, point: &mut PendingPoint) -> Result<bool> {
        let model = self.model.valid();
        let gates: Gates = model.hard_gates();
        let batch = &self.validation.batch;
        let butterflies = Tensor::from_floats([model.count_open_butterflies() as f32], &batch.signal.device());
        let terms = terms(&model, &gates, batch, &self.config.loss, butterflies, self.config.loss.price)?;
        let loss = f64::from(terms.total().into_scalar::<f32>());
        ensure!(loss.is_finite(), "the loss is {loss} at step {}: try a lower learning rate", self.state.step);
        let device = self.validation.batch.signal.device();
        let found = peaks_of(&self.validation.frames, &device, |signal| model.try_forward(signal, &gates))?;
        let recall = Agreement::of(&found, &self.validation.reference, self.config.model.k).recall;
        point.validated(loss, recall);
        let better = self.state.best_loss.is_none_or(|best| loss < best);
        if better {
            self.state.best_loss = Some(loss);
            self.state.stale = 0;
        } else {
            self.state.stale += 1;
        }
        Ok(better)
    }

    fn price(&self, step: usize) -> f64 {
        let ramp = self.config.loss.price_ramp * self.config.training.steps as f64;
        self.config.loss.price * if ramp > 0.0 { (step as f64 / ramp).min(1.0) } else { 1.0 }
    }

    /// The gates of a step: drawn where they are learned, hard where they are not.
    fn gates(&self, step: usize) -> Result<Gates> {
        let learned = |group| self.config.training.learn.contains(&group);
        let (butterflies, segments) = (learned(Parameters::Gates), learned(Parameters::Segments));
        let hard = || self.model.hard_gates();
        let drawn = || {
            let (butterflies, segments) = self.noise(step);
            self.model.sample_gates_from(butterflies, segments)
        };
        Ok(match (butterflies, segments) {
            (true, true) => drawn()?,
            (true, false) => Gates::new(drawn()?.butterflies().clone(), hard().segments().clone()),
            (false, true) => Gates::new(hard().butterflies().clone(), drawn()?.segments().clone()),
            (false, false) => hard(),
        })
    }

    /// Uniform noise of the butterflies' and the segments' gates at a step: the same whenever the step is run.
    fn noise(&self, step: usize) -> (Tensor<2>, Tensor<1>) {
        let mut generator = ChaCha8Rng::seed_from_u64(self.config.seed);
        generator.set_stream(step as u64);
        (
            uniform(self.model.gate_logits.val(), &mut generator),
            uniform(self.model.segment_logits.val(), &mut generator),
        )
    }

    /// What a step's price is on: the expected number of open gates where they are learned, their number where not.
    fn expected_butterflies(&self, gates: &Gates) -> Tensor<1> {
        let learned = |group| self.config.training.learn.contains(&group);
        let (model, hard) = (&self.model, |gates: Tensor<1>| gates.detach());
        let butterflies = match learned(Parameters::Gates) {
            true => model.expected_open_gates(),
            false => hard(gates.butterflies().clone().sum()),
        };
        let segments = match learned(Parameters::Segments) {
            true => model.expected_open_segments(),
            false => hard(gates.segments().clone().sum()),
        };
        butterflies * segments
    }
}

/// Uniform random numbers from 0 to 1 of the shape of `like`, on its device.
fn uniform<const D: usize>(like: Tensor<D>, generator: &mut ChaCha8Rng) -> Tensor<D> {
    let shape = like.dims();
    let draws: Vec<f32> = (0..shape.iter().product()).map(|_| generator.random()).collect();
    Tensor::from_data(TensorData::new(draws, shape), &like.device().inner())
}

/// Keeps what is not learned off the tape.
fn freeze(mut model: LearnedWelchPeaks, learn: &[Parameters]) -> LearnedWelchPeaks {
    let learned = |group| learn.contains(&group);
    model.taper = model.taper.set_require_grad(learned(Parameters::Taper));
    model.twiddles = model.twiddles.set_require_grad(learned(Parameters::Twiddles));
    model.gate_logits = model.gate_logits.set_require_grad(learned(Parameters::Gates));
    model.segment_logits = model.segment_logits.set_require_grad(learned(Parameters::Segments));
    model.log_gain = model.log_gain.set_require_grad(learned(Parameters::Gain));
    model
}

/// Half a cosine for every group of parameters.
fn scheduler(config: &RunConfig) -> Result<ModuleLrScheduler> {
    let training = &config.training;
    let cosine = |share: f64| -> LrSchedulerConfig {
        LrSchedulerConfig::Cosine(CosineAnnealingLrSchedulerConfig::new(training.learning_rate * share, training.steps))
    };
    ModuleLrSchedulerConfig::new(cosine(1.0))
        .with_group(ParamGroup::from_path("taper"), cosine(training.taper_rate))
        .with_group(ParamGroup::from_path("twiddles"), cosine(training.twiddle_rate))
        .init()
        .map_err(|reason| anyhow!(reason))
        .context("the learning rates make no schedule")
}
