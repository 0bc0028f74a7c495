//! The trained model: a classifier of the zoo with the names of its classes.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use firefly_models::zoo::{Settings, ZooError, ZooModel};

use super::ClassificationConfig;
use crate::task::TaskError;

/// Classifier of recordings.
#[derive(Module, Debug)]
pub struct Classifier {
    /// The model of scores.
    pub model: ZooModel,
    /// Names of the classes, in the order of the scores.
    #[module(skip)]
    pub classes: Vec<String>,
}

/// The settings of the model that follow from the samples of an example and the names of the classes.
fn derived(config: &ClassificationConfig, classes: &[String]) -> Settings {
    let samples = config.data.samples;
    // Every other family of the task takes channels of a sequence, and has as many outputs.
    if config.model.family() == Some("mel_classifier") {
        Settings::new().with("samples", samples).with("classes", classes)
    } else {
        Settings::new().with("length", samples).with("in_channels", 1).with("outputs", classes.len())
    }
}

impl Classifier {
    /// The untrained classifier of a run.
    ///
    /// # Errors
    /// If a setting of the model is out of range.
    pub fn new(config: &ClassificationConfig, classes: Vec<String>, device: &Device) -> Result<Self, ZooError> {
        Ok(Self { model: config.model.create(derived(config, &classes), config.seed, device)?, classes })
    }

    /// Scores `[batch, classes]` of recordings `[batch, samples]`.
    ///
    /// # Errors
    /// If recordings are too short for the model, or it has no output.
    pub fn try_forward(&self, signal: Tensor<2>) -> Result<Tensor<2>, TaskError> {
        let input = match self.model.inputs(1).first().map(|input| input.shape.len()) {
            Some(3) => signal.unsqueeze_dim::<3>(1).into(),
            _ => signal.into(),
        };
        let output = self.model.try_forward(vec![input])?.into_iter().next();
        let output = output.ok_or_else(|| TaskError::Unsuitable {
            model: self.model.family().name.into(),
            reason: "it has no output".into(),
        })?;
        Ok(output.try_float::<2>("classification", "scores")?)
    }
}
