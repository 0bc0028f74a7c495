//! The trained model: a model of the zoo between what it takes of recordings and the scores of the classes, which a
//! layer computes where the model has none.

use std::fs;

use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use burn::tensor::Int;
use burn::tensor::activation::softmax;
use firefly_app::files::write_atomically;
use firefly_framework::graph::{Input, capture};
use firefly_framework::onnx::{self, Description, OnnxError};
use firefly_models::log_mel::standardised_spectrum;
use firefly_models::zoo::ZooError;
use firefly_models::{LogMel, LogMelConfig, weights};
use serde_json::json;

use super::ClassificationConfig;
use crate::tasks::prelude::*;

/// Name in errors.
const TASK: &str = "classification";
/// File of the layer in a model's folder.
const OUTPUT: &str = "output.safetensors";
/// Added to a variance before its square root.
const VARIANCE_OFFSET: f64 = 1e-6;

/// Form of a model's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants' texts explain their fields")]
pub enum InputForm {
    /// Samples, `[batch, samples]`.
    Samples,
    /// Groups of `patch` consecutive samples as channels, `[batch, patch, samples / patch]`.
    Steps { patch: usize },
    /// A token for each sample, `[batch, samples]`, one of `vocabulary` different ones.
    Tokens { vocabulary: usize },
    /// Log-mel spectra as square images, `[batch, 1, side, side]`: bands by frames.
    Image { side: usize },
}

impl InputForm {
    /// The form that the model of a run takes.
    pub fn of(config: &ClassificationConfig) -> Self {
        let setting = |key| config.model.count(key).unwrap_or(1);
        match config.model.family() {
            Some("long_conv" | "s4d" | "hyena") => Self::Steps { patch: config.data.patch },
            Some("fnet") => Self::Tokens { vocabulary: setting("vocabulary") },
            Some("gfnet") => Self::Image { side: setting("image") },
            _ => Self::Samples,
        }
    }
}

/// Groups of `patch` consecutive samples of a signal `[batch, samples]` as channels, `[batch, patch, samples / patch]`.
fn steps(signal: Tensor<2>, patch: usize) -> Tensor<3> {
    let [batch, samples] = signal.dims();
    signal.reshape([batch, samples / patch, patch]).swap_dims(1, 2)
}

/// Levels of samples among `levels`, from 0, after compression by the μ-law (ITU-T G.711) with μ = levels − 1. The
/// greatest magnitude of each row is the outermost level.
fn tokens(signal: Tensor<2>, levels: usize) -> Tensor<2, Int> {
    let mu = (levels - 1) as f64;
    let greatest = signal.clone().abs().max_dim(1).clamp_min(f64::from(f32::MIN_POSITIVE));
    let relative = signal / greatest;
    let compressed = relative.clone().sign() * (relative.abs() * mu).log1p() / mu.ln_1p();
    ((compressed + 1.0) * (mu / 2.0)).round().int()
}

/// The log-mel spectra that images of `side` bands and `side` frames are of.
pub(super) fn image_spectrum(config: &ClassificationConfig, side: usize) -> LogMelConfig {
    let data = &config.data;
    let hop = data.samples / (side.max(2) - 1);
    let spectrum = LogMelConfig::new().with_sample_rate(data.sample_rate).with_n_fft(data.n_fft).with_bands(side);
    spectrum.with_hop(hop).with_samples(data.samples)
}

/// Standardised spectra of a signal `[batch, samples]` as images `[batch, 1, side, side]`.
fn image(signal: Tensor<2>, spectrum: &LogMel) -> Result<Tensor<4>, ArgumentError> {
    let bands = standardised_spectrum(spectrum.try_forward(signal)?);
    let [_, side, _] = bands.dims();
    Ok(bands.narrow(2, 0, side).unsqueeze_dim(1))
}

/// Classifier of recordings.
#[derive(Module, Debug)]
pub struct Classifier {
    /// The model of the zoo.
    pub model: ZooModel,
    /// Spectrum of images, for models of images.
    pub(super) spectrum: Option<LogMel>,
    /// Layer from features to scores, for models without scores.
    pub(super) output: Option<OutputLayer>,
    #[module(skip)]
    pub(super) form: InputForm,
    /// Names of the classes, in the order of the scores.
    #[module(skip)]
    pub classes: Vec<String>,
}

/// The settings of the model that follow from the form of its input and the names of the classes.
fn derived(config: &ClassificationConfig, form: InputForm, classes: &[String]) -> Settings {
    let (settings, samples) = (Settings::new(), config.data.samples);
    match (form, config.model.family()) {
        (InputForm::Steps { patch }, _) => {
            settings.with("length", samples / patch).with("in_channels", patch).with("outputs", classes.len())
        }
        (InputForm::Tokens { .. }, _) => settings.with("length", samples),
        (InputForm::Image { .. }, _) => settings.with("in_channels", 1).with("classes", classes.len()),
        (InputForm::Samples, Some("mel_classifier")) => settings.with("samples", samples).with("classes", classes),
        (InputForm::Samples, Some("log_mel")) => settings.with("samples", samples),
        (InputForm::Samples, _) => settings,
    }
}

impl Classifier {
    /// The untrained classifier of a run. An error if a setting of the model is out of range.
    pub fn new(config: &ClassificationConfig, classes: Vec<String>, device: &Device) -> Result<Self, ZooError> {
        let form = InputForm::of(config);
        let spectrum = match form {
            InputForm::Image { side } => Some(image_spectrum(config, side).try_init(device)?),
            _ => None,
        };
        let model = config.model.create(derived(config, form, &classes), config.seed, device)?;
        Ok(Self { model, spectrum, output: OutputLayer::of(config, classes.len(), device), form, classes })
    }

    /// Probabilities `[batch, classes]` of recordings `[batch, samples]`. Errors as of
    /// [`try_forward`](Self::try_forward).
    pub fn probabilities(&self, signal: Tensor<2>) -> Result<Tensor<2>> {
        Ok(softmax(self.try_forward(signal)?, 1))
    }

    /// The classifier as an ONNX file that maps recordings to scores. Errors as of [`ZooModel::to_onnx`].
    pub fn to_onnx(&self, config: &ClassificationConfig) -> Result<onnx::Model, OnnxError> {
        let ClassificationConfig { data, .. } = config;
        let description = Description {
            name: self.model.family().name.into(),
            text: self.model.family().summary.into(),
            inputs: vec![format!("[batch, samples]: recordings at {} Hz", data.sample_rate)],
            outputs: vec![(
                "scores".into(),
                format!("[batch, classes]: a value per class: {}", self.classes.join(", ")),
            )],
            metadata: vec![("firefly.classes".into(), json!(self.classes).to_string())],
        };
        let model = self.valid();
        let graph = |batch| {
            capture(&[Input::new("signal", [batch, data.samples])], |signal: Tensor<2>, device: &Device| {
                model.clone().to_device(device).try_forward(signal)
            })
        };
        onnx::export(graph, 1, &description)
    }

    /// Scores `[batch, classes]` of recordings `[batch, samples]`. An error if recordings are too short for the model,
    /// or it has no output.
    pub fn try_forward(&self, signal: Tensor<2>) -> Result<Tensor<2>> {
        let input = match (self.form, &self.spectrum) {
            (InputForm::Steps { patch }, _) => steps(signal, patch).into(),
            (InputForm::Tokens { vocabulary }, _) => tokens(signal, vocabulary).into(),
            (_, Some(spectrum)) => image(signal, spectrum)?.into(),
            _ => signal.into(),
        };
        // A model with several outputs has that of the whole sequence last.
        let output = self.model.try_forward(vec![input])?.into_iter().next_back();
        let output = output.ok_or_else(|| zoo_model::without_output(&self.model))?;
        Ok(match &self.output {
            None => output.try_float(TASK, "scores")?,
            Some(layer) if output.dims().len() == 3 => layer.forward(statistics(output.try_float(TASK, "features")?)),
            Some(layer) => layer.forward(output.try_float(TASK, "features")?),
        })
    }
}

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

    /// Writes the layer into a model's folder. An error if the file can't be written.
    pub fn save(&self, folder: &Path) -> Result<(), ModelError> {
        let path = folder.join(OUTPUT);
        let bytes = weights::serialize(self, ("firefly", "output layer"))
            .map_err(|error| ModelError::Weights(path.clone(), error.to_string()))?;
        write_atomically(&path, &bytes).map_err(|source| ModelError::File(path, source))
    }

    /// The layer with the parameters in a model's folder. An error if there is no file, or it is damaged or that of
    /// another layer.
    pub fn restored(mut self, folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join(OUTPUT);
        let bytes = fs::read(&path).map_err(|source| ModelError::File(path.clone(), source))?;
        weights::apply(&mut self, bytes).map_err(|error| ModelError::Weights(path, error.to_string()))?;
        Ok(self)
    }
}

/// Mean and standard deviation over frames of features `[batch, features, frames]`: `[batch, 2 · features]`.
fn statistics(features: Tensor<3>) -> Tensor<2> {
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

    #[test]
    fn steps_are_groups_of_consecutive_samples() {
        let signal = Tensor::<2>::from_floats([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]], &Device::flex());
        let steps = steps(signal, 2);
        assert_eq!(steps.dims(), [1, 2, 3]);
        assert_eq!(steps.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    }

    #[test]
    fn tokens_are_levels_that_are_denser_near_zero() {
        let signal = Tensor::<2>::from_floats([[-2.0, -0.02, 0.0, 0.02, 2.0], [0.0; 5]], &Device::flex());
        let tokens: Vec<i64> = tokens(signal, 255).into_data().iter::<i64>().collect();
        // ln(1 + 254 · 0.01) / ln 255 = 0.228, of 127 levels on each side.
        assert_eq!(tokens, [0, 98, 127, 156, 254, 127, 127, 127, 127, 127]);
    }

    #[test]
    fn images_have_as_many_bands_as_frames() {
        let mut config = ClassificationConfig::default();
        for (samples, side) in [(6000, 64), (1000, 7), (4096, 32)] {
            config.data.samples = samples;
            let device = Device::flex();
            let spectrum = image_spectrum(&config, side).try_init(&device).unwrap();
            let images = image(Tensor::ones([3, samples], &device), &spectrum).unwrap();
            assert_eq!(images.dims(), [3, 1, side, side]);
        }
    }
}
