//! Sections of a configuration that are the task's own, and the model that they name.

use burn::tensor::Device;
use firefly_models::zoo::{Settings, ZooError, ZooModel};
use serde::{Deserialize, Serialize};

use super::EstimationConfig;
use super::estimator::estimator;
use crate::config::{ConfigError, MAX_FRAMES, Training, ensure};
use crate::task::TaskError;

/// Family whose twiddles train.
const LEARNED_FFT: &str = "learned_fft";

/// Section `[training]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSection {
    /// Steps.
    pub steps: usize,
    /// Frames per step.
    pub batch: usize,
    /// Learning rate of gates or thresholds, at the start or after the warm-up.
    pub learning_rate: f64,
    /// Learning rate of the twiddles, as a share of that.
    pub twiddle_rate: f64,
}

impl Default for TrainingSection {
    fn default() -> Self {
        Self { steps: 2000, batch: 64, learning_rate: 0.05, twiddle_rate: 0.3 }
    }
}

impl Training for TrainingSection {
    fn steps(&self) -> Option<usize> {
        Some(self.steps)
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }
}

/// Section `[loss]`: the error in place of the exact estimate + price · work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossSection {
    /// Price of all butterflies of a transform, or of a segment of a frame.
    pub price: f64,
    /// Floor of the logarithm of power, relative to the mean power of the exact frame.
    pub floor: f64,
}

impl Default for LossSection {
    fn default() -> Self {
        Self { price: 1.0, floor: 1e-3 }
    }
}

/// The untrained model of a configuration.
///
/// # Errors
/// If the zoo has no such model, or a setting is out of range.
pub(super) fn untrained(config: &EstimationConfig, device: &Device) -> Result<ZooModel, ZooError> {
    config.model.create(Settings::new(), config.seed, device)
}

/// Samples in a frame of a configuration's model.
///
/// # Errors
/// As [`untrained`].
pub(super) fn frame(config: &EstimationConfig) -> Result<usize, TaskError> {
    Ok(estimator(&untrained(config, &Device::flex())?)?.frame())
}

/// Checks every value of the task's sections.
pub(super) fn validate(config: &EstimationConfig) -> Result<(), ConfigError> {
    config.model.validate()?;
    frame(config).map_err(|error| ConfigError::Value {
        key: "model.settings".into(),
        got: config.model.settings.to_string(),
        expected: format!("settings of {} ({error})", config.model.name),
    })?;
    let frames = config.data.synthetic_frames;
    ensure(frames <= MAX_FRAMES, "data.synthetic_frames", frames, "at most 1,048,576")?;
    let (loss, rate) = (&config.loss, config.training.twiddle_rate);
    ensure((0.0..=1e6).contains(&loss.price), "loss.price", loss.price, "from 0 to 1e6")?;
    ensure((1e-12..=1.0).contains(&loss.floor), "loss.floor", loss.floor, "from 1e-12 to 1")?;
    ensure(rate > 0.0 && rate <= 1.0, "training.twiddle_rate", rate, "above 0 and at most 1")?;
    validate_use(config)
}

/// Checks that no key is set which the model's family ignores.
fn validate_use(config: &EstimationConfig) -> Result<(), ConfigError> {
    let has_twiddles = config.model.family() == Some(LEARNED_FFT);
    let (rate, floor) = (config.training.twiddle_rate, config.loss.floor);
    let unused = (TrainingSection::default().twiddle_rate, LossSection::default().floor);
    let expected = "left out where the model is no learned_fft";
    ensure(has_twiddles || rate == unused.0, "training.twiddle_rate", rate, expected)?;
    ensure(has_twiddles || floor == unused.1, "loss.floor", floor, expected)
}
