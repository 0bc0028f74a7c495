//! Classification of recordings by convolutions over their log-mel spectra.

use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{BatchNorm, BatchNormConfig, PaddingConfig2d};
use burn::tensor::activation::relu;

use crate::log_mel::{LogMel, LogMelConfig, standardised_spectrum};
use crate::prelude::*;
use crate::rows::Leading;

/// Name in errors.
const NAME: &str = "MelClassifier";

config! {
    /// Configuration of [`MelClassifier`].
    ///
    /// ```
    /// use firefly_models::MelClassifierConfig;
    ///
    /// let config = MelClassifierConfig::new().with_bands(32).with_channels(vec![8, 16]);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_channels(vec![]).validate().unwrap_err().to_string().contains("`channels` is empty"));
    /// ```
    MelClassifierConfig;
    /// Samples per second, in hertz.
    sample_rate: f64 = 8_000.0;
    /// Samples in a frame of the spectrum.
    n_fft: usize = 256;
    /// Samples from one frame's start to the next.
    hop: usize = 128;
    /// Mel bands.
    bands: usize = 40;
    /// Channels of each convolution; bands and frames are halved after it.
    channels: Vec<usize> = "vec![16, 32, 64]";
    /// Names of the classes, in the order of the scores.
    classes: Vec<String> = "digits()";
    /// Samples of a row of the declared inputs; rows of other lengths are accepted as well.
    samples: usize = 8_000;
}

fn digits() -> Vec<String> {
    names("0 1 2 3 4 5 6 7 8 9")
}

/// Names of classes, separated by spaces.
fn names(names: &str) -> Vec<String> {
    names.split(' ').map(String::from).collect()
}

impl MelClassifierConfig {
    /// The log-mel spectra that are classified.
    pub fn log_mel(&self) -> LogMelConfig {
        LogMelConfig::new()
            .with_sample_rate(self.sample_rate)
            .with_n_fft(self.n_fft)
            .with_hop(self.hop)
            .with_bands(self.bands)
            .with_samples(self.samples)
    }

    fn check_fields(&self) -> Result<()> {
        const NAME: &str = "MelClassifierConfig";
        self.log_mel().validate()?;
        let channels = &self.channels;
        ensure(!channels.is_empty(), NAME, "channels", "empty", "a number for each layer, at least one")?;
        ensure(!channels.contains(&0), NAME, "channels", format_args!("{channels:?}"), "numbers from 1 on")?;
        ensure(!self.classes.is_empty(), NAME, "classes", "empty", "at least one name")?;
        self.ensure_frames(NAME, "channels", self.samples / self.hop + 1)
    }

    /// Checks that bands and `frames` can be halved after each layer; `argument` is what the error names.
    fn ensure_frames(&self, operation: &'static str, argument: &'static str, frames: usize) -> Result<()> {
        let layers = self.channels.len();
        let least = u32::try_from(layers).ok().and_then(|layers| 1usize.checked_shl(layers)).unwrap_or(usize::MAX);
        let got = format!("for {layers} layers, {} bands and {frames} frames", self.bands);
        let expected = format!("so that bands and frames can be halved after each layer: {least} of both");
        ensure(self.bands.min(frames) >= least, operation, argument, got, expected)
    }
}

/// Convolution of 3 × 3, batch normalisation, rectifier, and the greatest of each 2 × 2 values.
#[derive(Module, Debug)]
struct ConvolutionBlock {
    convolution: Conv2d,
    normalisation: BatchNorm,
    pool: MaxPool2d,
}

impl ConvolutionBlock {
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

/// Classifier of recordings: blocks of convolutions over the log-mel spectrum, the mean over bands and frames, and one
/// linear layer.
///
/// The spectrum is cut off 50 dB below its maximum and brought to mean 0 and deviation 1 per recording, so that
/// loudness and silence around a recording do not count. While gradients are tracked, batch normalisation uses the mean
/// and variance of the batch; else their running means.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::MelClassifierConfig;
///
/// let device = Device::flex();
/// let model = MelClassifierConfig::new().with_channels(vec![4, 8]).init(&device);
/// assert_eq!(model.forward(Tensor::<2>::ones([3, 4_000], &device)).dims(), [3, 10]);
/// assert_eq!(model.config().classes[7], "7");
/// ```
#[derive(Module, Debug)]
pub struct MelClassifier {
    spectrum: LogMel,
    blocks: Vec<ConvolutionBlock>,
    output: Linear,
    #[module(skip)]
    config: MelClassifierConfig,
}

configured! { MelClassifier by MelClassifierConfig }

impl MelClassifier {
    fn new(config: &MelClassifierConfig, device: &Device) -> Result<Self> {
        let channels: Vec<usize> = [1].into_iter().chain(config.channels.iter().copied()).collect();
        Ok(Self {
            spectrum: config.log_mel().try_init(device)?,
            blocks: channels.windows(2).map(|pair| ConvolutionBlock::new(pair[0], pair[1], device)).collect(),
            output: LinearConfig::new(channels[channels.len() - 1], config.classes.len()).init(device),
            config: config.clone(),
        })
    }

    or_panic! { forward<const D> = try_forward(signal: Tensor<D>) -> Tensor<D> }

    /// Scores of the classes `[.., classes]` of recordings `[.., samples]`; their softmax are probabilities.
    ///
    /// # Errors
    /// [`ArgumentError`] for recordings of half a frame or less, or of too few frames for the layers.
    pub fn try_forward<const D: usize>(&self, signal: Tensor<D>) -> Result<Tensor<D>> {
        let leading = Leading::of(signal.dims());
        let spectrum: Tensor<3> = self.spectrum.try_forward(leading.flatten(signal))?;
        let [batch, bands, frames] = spectrum.dims();
        self.config.ensure_frames(NAME, "signal", frames)?;
        let image: Tensor<4> = standardised_spectrum(spectrum).reshape([batch, 1, bands, frames]);
        let features = self.blocks.iter().fold(image, |image, block| block.forward(image));
        let [batch, channels, ..] = features.dims();
        let scores = self.output.forward(features.mean_dim(3).mean_dim(2).reshape([batch, channels]));
        Ok(leading.unflatten(scores))
    }
}

impl Family for MelClassifier {
    configured_by! { MelClassifierConfig, "mel_classifier" }

    fn variants() -> Vec<Variant<MelClassifierConfig>> {
        let config = MelClassifierConfig::new();
        let spoken = config.clone().with_hop(80).with_channels(vec![24, 48, 96]).with_samples(6_000);
        let bearing = config.clone().with_sample_rate(12_000.0).with_hop(64).with_samples(2_048);
        let faults = "ball-007 ball-014 ball-021 inner-007 inner-014 inner-021 normal outer-007 outer-014 outer-021";
        let bearing = bearing.with_classes(names(faults));
        let tiny = config.clone().with_sample_rate(800.0).with_n_fft(40).with_hop(16).with_bands(8);
        let tiny = tiny.with_channels(vec![4, 6]).with_classes(names("low high noise")).with_samples(100);
        vec![
            Variant::new("mel_classifier", "40 bands of one second at 8 kHz, 3 layers", config),
            Variant::new("mel_classifier_digits", "spoken digits at 8 kHz", spoken)
                .with_weights(include_bytes!("../weights/mel_classifier_digits.safetensors")),
            Variant::new("mel_classifier_bearing", "faults of bearings in frames of 2,048 samples at 12 kHz", bearing)
                .with_weights(include_bytes!("../weights/mel_classifier_bearing.safetensors")),
            Variant::new("mel_classifier_tiny", "8 bands of frames of 40 samples, 2 layers", tiny),
        ]
    }

    applied_to! { signal [samples]: Tensor<2> => Tensor<2>, NAME }
}
