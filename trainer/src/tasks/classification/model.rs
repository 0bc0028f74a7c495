//! Classifier of recordings: convolutions over a log-mel spectrum.

use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig, PaddingConfig2d};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use firefly_models::{ArgumentError, LogMel};

use super::config::ModelSection;

/// Range of log-mel values below the greatest of an example, in decades of power.
const RANGE: f64 = 5.0;
/// Added to a deviation that spectra are divided by.
const MIN_DEVIATION: f64 = 1e-3;

/// Convolution, normalisation, rectifier, and the greatest of each 2 × 2 values.
#[derive(Module, Debug)]
struct Block {
    convolution: Conv2d,
    normalisation: BatchNorm,
    pool: MaxPool2d,
}

impl Block {
    fn new(from: usize, to: usize, device: &Device) -> Self {
        let padding = PaddingConfig2d::Explicit(1, 1, 1, 1);
        Self {
            convolution: Conv2dConfig::new([from, to], [3, 3]).with_padding(padding).with_bias(false).init(device),
            normalisation: BatchNormConfig::new(to).init(device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
        }
    }

    fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        self.pool.forward(relu(self.normalisation.forward(self.convolution.forward(input))))
    }
}

/// Classifier of signals `[batch, samples]`: log-mel spectrum of 50 dB below its maximum, brought to mean 0 and deviation 1 per example, blocks of
/// convolutions, the mean over bands and frames, and one linear layer.
#[derive(Module, Debug)]
pub struct MelClassifier {
    spectrum: LogMel,
    blocks: Vec<Block>,
    output: Linear,
    /// Names of the classes.
    #[module(skip)]
    pub classes: Vec<String>,
}

impl MelClassifier {
    /// The untrained model.
    ///
    /// # Errors
    /// [`ArgumentError`] if the spectra are out of range.
    pub fn new(
        section: &ModelSection,
        samples: usize,
        classes: Vec<String>,
        device: &Device,
    ) -> Result<Self, ArgumentError> {
        let channels: Vec<usize> = std::iter::once(1).chain(section.channels.iter().copied()).collect();
        Ok(Self {
            spectrum: section.log_mel(samples).try_init(device)?,
            blocks: channels.windows(2).map(|pair| Block::new(pair[0], pair[1], device)).collect(),
            output: LinearConfig::new(channels[channels.len() - 1], classes.len()).init(device),
            classes,
        })
    }

    /// Logits `[batch, classes]` of signals `[batch, samples]`.
    ///
    /// # Errors
    /// [`ArgumentError`] for signals of half a frame or less.
    pub fn try_forward(&self, signal: Tensor<2>) -> Result<Tensor<2>, ArgumentError> {
        let spectrum: Tensor<3> = self.spectrum.try_forward(signal)?;
        let [batch, bands, frames] = spectrum.dims();
        // Loudness and colour of the recording as a whole do not count.
        let flat: Tensor<2> = spectrum.reshape([batch, bands * frames]);
        // Silence and zeros around a recording are not much below it.
        let floor = (flat.clone().max_dim(1) - RANGE).expand([batch, bands * frames]);
        let flat = flat.max_pair(floor);
        let centred = flat.clone() - flat.mean_dim(1);
        let deviation = centred.clone().square().mean_dim(1).sqrt() + MIN_DEVIATION;
        let image: Tensor<4> = (centred / deviation).reshape([batch, 1, bands, frames]);
        let features = self.blocks.iter().fold(image, |image, block| block.forward(image));
        let [batch, channels, ..] = features.dims();
        Ok(self.output.forward(features.mean_dim(3).mean_dim(2).reshape([batch, channels])))
    }
}
