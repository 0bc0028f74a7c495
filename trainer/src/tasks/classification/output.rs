//! Layer from the features of a model to the scores of the classes.

use std::fs;
use std::path::Path;

use burn::module::Module;
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use firefly_app::files::write_atomically;
use firefly_models::weights;

use super::ClassificationConfig;
use crate::task::ModelError;

/// File of the layer in a model's folder.
const OUTPUT: &str = "output.safetensors";
/// Added to a variance before its square root.
const VARIANCE_OFFSET: f64 = 1e-6;

/// Batch normalisation of features and one linear layer, for models without scores.
#[derive(Module, Debug)]
pub struct OutputLayer {
    normalisation: BatchNorm,
    linear: Linear,
}

impl OutputLayer {
    /// The untrained layer of a run's model, drawn from the device's seed; none where the model has scores.
    pub fn of(config: &ClassificationConfig, classes: usize, device: &Device) -> Option<Self> {
        let setting = |key| config.model.count(key);
        let features = match config.model.family()? {
            "log_mel" => 2 * setting("bands")?,
            "mfcc" => 2 * setting("coefficients")?,
            "fnet" => setting("width")?,
            _ => return None,
        };
        Some(Self {
            normalisation: BatchNormConfig::new(features).init(device),
            linear: LinearConfig::new(features, classes).init(device),
        })
    }

    /// Scores `[batch, classes]` of features `[batch, features]`.
    pub fn forward(&self, features: Tensor<2>) -> Tensor<2> {
        self.linear.forward(self.normalisation.forward(features))
    }

    /// Writes the layer into a model's folder.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn save(&self, folder: &Path) -> Result<(), ModelError> {
        let path = folder.join(OUTPUT);
        let bytes = weights::serialize(self, ("firefly", "output layer"))
            .map_err(|error| ModelError::Weights(path.clone(), error.to_string()))?;
        write_atomically(&path, &bytes).map_err(|source| ModelError::File(path, source))
    }

    /// The layer with the parameters in a model's folder.
    ///
    /// # Errors
    /// If there is no file, or it is damaged or that of another layer.
    pub fn restored(mut self, folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join(OUTPUT);
        let bytes = fs::read(&path).map_err(|source| ModelError::File(path.clone(), source))?;
        weights::apply(&mut self, bytes).map_err(|error| ModelError::Weights(path, error.to_string()))?;
        Ok(self)
    }
}

/// Mean and standard deviation over frames of features `[batch, features, frames]`: `[batch, 2 · features]`.
pub(super) fn statistics(features: Tensor<3>) -> Tensor<2> {
    let mean = features.clone().mean_dim(2);
    let variance = (features - mean.clone()).square().mean_dim(2);
    Tensor::cat(vec![mean, (variance + VARIANCE_OFFSET).sqrt()], 1).squeeze_dim(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_mean_and_deviation_over_frames() {
        let features = Tensor::<3>::from_floats([[[1.0, 3.0], [2.0, 2.0]]], &Device::flex());
        let found: Vec<f32> = statistics(features).into_data().iter().collect();
        let expected = [2.0, 2.0, 1.0, 0.001];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5), "{found:?}");
    }
}
