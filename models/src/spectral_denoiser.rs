//! Denoising by a mask on the short-time spectrum.

use burn::nn::PaddingConfig1d;
use burn::nn::conv::{Conv1d, Conv1dConfig};
use burn::tensor::activation::{gelu, sigmoid, softmax};
use firefly_ops::StftOptions;
use firefly_ops::fft::{istft, stft};

use crate::prelude::*;
use crate::rows::Leading;

/// Constant added to power before its logarithm, and to a variance before its root.
const OFFSET: f64 = 1e-8;
/// Sharpness of the softmax that weighs the frames of a noise profile: the factor of their negative mean.
const PROFILE_SHARPNESS: f64 = 4.0;

config! {
    /// Configuration of [`SpectralDenoiser`].
    ///
    /// ```
    /// use firefly_models::SpectralDenoiserConfig;
    ///
    /// let config = SpectralDenoiserConfig::new().with_n_fft(256).with_hop(64);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_hop(200).validate().unwrap_err().to_string().contains("`hop` is 200"));
    /// ```
    SpectralDenoiserConfig;
    /// Samples in a frame, an even number.
    n_fft: usize = 512;
    /// Samples from one frame's start to the next: at most half a frame.
    hop: usize = 128;
    /// Channels between the layers.
    hidden: usize = 64;
    /// Layers between the first and the last one; layer i has a dilation of 2^i frames.
    layers: usize = 4;
    /// Whether the input of the layers is power relative to a noise profile, the mean of each bin over the quiet
    /// frames.
    profile: bool = false;
    /// Samples of a row of the declared inputs; rows of other lengths are accepted as well.
    samples: usize = 16_000;
}

impl SpectralDenoiserConfig {
    /// Frames of the transform: periodic Hann windows, centred.
    pub fn options(&self) -> StftOptions {
        StftOptions::new(self.n_fft).with_hop(self.hop)
    }

    fn check_fields(&self) -> Result<()> {
        const NAME: &str = "SpectralDenoiserConfig";
        let Self { n_fft, hop, hidden, layers, samples, .. } = *self;
        let half = n_fft / 2;
        ensure(n_fft >= 4 && n_fft.is_multiple_of(2), NAME, "n_fft", n_fft, "an even number from 4 on")?;
        ensure((1..=half).contains(&hop), NAME, "hop", hop, format_args!("from 1 to half a frame, {half}"))?;
        ensure(hidden >= 1, NAME, "hidden", hidden, "at least 1 channel")?;
        ensure_most(NAME, "layers", layers, 16)?;
        ensure(samples > half, NAME, "samples", samples, format_args!("more than half a frame, {half}"))
    }
}

/// Denoiser of recordings: convolutions over the frames of a short-time spectrum compute a mask in `[0, 1]` for each
/// bin; the masked spectrum is transformed back.
///
/// The input of the convolutions is the logarithm of power, standardised to mean 0 and variance 1 per recording, so
/// that the output is proportional to the level of the recording. With a noise profile, power is relative to the mean
/// of each bin over the quiet frames (weighted by a softmax of the negative level), and a linear layer on that mean is
/// added to the output of the first layer. Hidden layers are residual, with dilations 1, 2, 4, …; weights are drawn
/// uniformly from ±1/√(inputs of a channel).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::SpectralDenoiserConfig;
///
/// let device = Device::flex();
/// let model = SpectralDenoiserConfig::new().with_n_fft(64).with_hop(16).with_hidden(8).init(&device);
/// let noisy = Tensor::<2>::ones([2, 400], &device);
/// let mask: Tensor<3> = model.mask(noisy.clone());
/// assert_eq!((mask.dims(), model.forward(noisy).dims()), ([2, 33, 26], [2, 400]));
/// ```
#[derive(Module, Debug)]
pub struct SpectralDenoiser {
    window: Tensor<1>,
    first: Conv1d,
    hidden: Vec<Conv1d>,
    last: Conv1d,
    profile: Option<Linear>,
    #[module(skip)]
    config: SpectralDenoiserConfig,
}

configured! { SpectralDenoiser by SpectralDenoiserConfig }

impl SpectralDenoiser {
    fn new(config: &SpectralDenoiserConfig, device: &Device) -> Result<Self> {
        let (bins, hidden) = (config.options().bins(), config.hidden);
        let layer = |from, to, dilation| {
            let padding = PaddingConfig1d::Explicit(dilation, dilation);
            Conv1dConfig::new(from, to, 3).with_dilation(dilation).with_padding(padding).init(device)
        };
        Ok(Self {
            window: Window::Hann.tensor(config.n_fft, WindowSymmetry::Periodic, FloatDType::F32, device),
            first: layer(bins, hidden, 1),
            hidden: (0..config.layers).map(|index| layer(hidden, hidden, 1 << index)).collect(),
            last: Conv1dConfig::new(hidden, bins, 1).init(device),
            profile: config.profile.then(|| LinearConfig::new(bins, hidden).with_bias(false).init(device)),
            config: config.clone(),
        })
    }

    or_panic! { forward<const D> = try_forward(signal: Tensor<D>) -> Tensor<D> }

    /// Each row of `signal` `[.., samples]` without noise, of the same shape.
    ///
    /// # Errors
    /// [`ArgumentError`] for rows of half a frame or less.
    pub fn try_forward<const D: usize>(&self, signal: Tensor<D>) -> Result<Tensor<D>> {
        let leading = Leading::of(signal.dims());
        let samples = signal.dims()[D - 1];
        let spectra = self.spectra(leading.flatten(signal))?;
        let masked = spectra.clone().scale(self.mask_of(&spectra));
        let rows = istft(masked, Some(self.window.clone()), &self.config.options(), Some(samples))?;
        Ok(leading.unflatten(rows))
    }

    or_panic! { mask<const D, const E> = try_mask(signal: Tensor<D>) -> Tensor<E> }

    /// Mask of each bin of each frame of `signal` `[.., samples]`: `[.., bins, frames]`, from 0 to 1, one dimension
    /// more.
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_mask<const D: usize, const E: usize>(&self, signal: Tensor<D>) -> Result<Tensor<E>> {
        const { assert!(E == D + 1, "masks have one dimension more than the signal") };
        let dims = signal.dims();
        let mask = self.mask_of(&self.spectra(Leading::of(dims).flatten(signal))?);
        let [_, bins, frames] = mask.dims();
        let mut shape = [0; E];
        shape[..D - 1].copy_from_slice(&dims[..D - 1]);
        shape[E - 2..].copy_from_slice(&[bins, frames]);
        Ok(mask.reshape(shape))
    }

    fn spectra(&self, signal: Tensor<2>) -> Result<ComplexTensor<3>> {
        stft(signal, Some(self.window.clone()), &self.config.options())
    }

    fn mask_of(&self, spectra: &ComplexTensor<3>) -> Tensor<3> {
        // Power in decades of its mean per recording, whatever the recording's level.
        let power = spectra.clone().abs_squared();
        let level = power.clone().mean_dim(1).mean_dim(2);
        let log = (power / (level + OFFSET) + OFFSET).log();
        let centred = log.clone() - log.mean_dim(1).mean_dim(2);
        let deviation = (centred.clone().square().mean_dim(1).mean_dim(2) + OFFSET).sqrt();
        let values = gelu(self.first_layer(centred / deviation));
        let values = self.hidden.iter().fold(values, |values, layer| values.clone() + gelu(layer.forward(values)));
        sigmoid(self.last.forward(values))
    }

    /// The first layer on standardised log power `[batch, bins, frames]`.
    fn first_layer(&self, values: Tensor<3>) -> Tensor<3> {
        let Some(layer) = &self.profile else { return self.first.forward(values) };
        let weights = softmax(values.clone().mean_dim(1) * -PROFILE_SHARPNESS, 2);
        let profile: Tensor<3> = (values.clone() * weights).sum_dim(2);
        let of_profile = layer.forward(profile.clone().swap_dims(1, 2)).swap_dims(1, 2);
        self.first.forward(values - profile) + of_profile
    }
}

impl Family for SpectralDenoiser {
    configured_by! { SpectralDenoiserConfig, "spectral_denoiser" }

    fn variants() -> Vec<Variant<SpectralDenoiserConfig>> {
        let config = SpectralDenoiserConfig::new();
        let low_rate = config.clone().with_n_fft(256).with_hop(64).with_samples(8_000);
        let speech = low_rate.clone().with_layers(6).with_profile(true);
        let tiny = config.clone().with_n_fft(16).with_hop(4).with_hidden(4).with_layers(1).with_samples(60);
        vec![
            Variant::new("spectral_denoiser", "frames of 512 samples", config),
            Variant::new("spectral_denoiser_8khz", "frames of 256 samples, as 32 ms of 8 kHz", low_rate),
            Variant::new("spectral_denoiser_speech", "the same with a noise profile and more layers", speech)
                .with_weights(include_bytes!("../weights/spectral_denoiser_speech.safetensors")),
            Variant::new("spectral_denoiser_tiny", "frames of 16 samples", tiny.clone()),
            Variant::new("spectral_denoiser_profile_tiny", "the same with a noise profile", tiny.with_profile(true)),
        ]
    }

    applied_to! { signal [samples]: Tensor<2> => Tensor<2>, "SpectralDenoiser" }
}
