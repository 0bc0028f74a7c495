//! Mel-frequency cepstral coefficients.

use std::f64::consts::PI;

use firefly_ops::options::{LogUnit, MelNorm, MelScale};

use crate::log_mel::{LogMel, LogMelConfig, times_columns};
use crate::prelude::*;

config! {
    /// Configuration of [`Mfcc`].
    ///
    /// ```
    /// use firefly_models::{LogMelConfig, MfccConfig};
    ///
    /// let config = MfccConfig::new(LogMelConfig::new().with_bands(40)).with_coefficients(13);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_coefficients(41).validate().unwrap_err().to_string().contains("`coefficients` is 41"));
    /// ```
    MfccConfig;
    /// The mel spectra.
    mel: LogMelConfig;
    /// Coefficients per frame: from 1 to the number of bands.
    coefficients: usize = 40;
}

impl MfccConfig {
    fn check_fields(&self) -> Result<()> {
        self.mel.validate()?;
        ensure_table("MfccConfig", "coefficients", self.coefficients, self.mel.bands)?;
        let expected = format!("from 1 to the number of bands, {}", self.mel.bands);
        let are_of_bands = (1..=self.mel.bands).contains(&self.coefficients);
        ensure(are_of_bands, "MfccConfig", "coefficients", self.coefficients, expected)
    }
}

/// Value of the orthonormal cosine transform of type II of `bands` values.
fn cosine(row: usize, band: usize, bands: usize) -> f64 {
    let scale = if row == 0 { 1.0 } else { 2.0 } / bands as f64;
    scale.sqrt() * (PI * row as f64 * (band as f64 + 0.5) / bands as f64).cos()
}

/// Mel-frequency cepstral coefficients: the lowest coefficients of the orthonormal cosine transform (type II) of the
/// log-mel spectrum of each frame, as `torchaudio.transforms.MFCC` without its limit `top_db`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::{LogMelConfig, MfccConfig};
///
/// let device = Device::flex();
/// let model = MfccConfig::new(LogMelConfig::new().with_bands(40)).with_coefficients(13).init(&device);
/// let coefficients: Tensor<3> = model.forward(Tensor::<2>::ones([2, 16_000], &device));
/// assert_eq!(coefficients.dims(), [2, 13, 101]);
/// ```
#[derive(Module, Debug)]
pub struct Mfcc {
    /// The mel spectra.
    pub mel: LogMel,
    /// Cosine transform, `[coefficients, bands]`.
    cosines: Tensor<2>,
    #[module(skip)]
    config: MfccConfig,
}

configured! { Mfcc by MfccConfig }

impl Mfcc {
    fn new(config: &MfccConfig, device: &Device) -> Result<Self> {
        let shape = [config.coefficients, config.mel.bands];
        let cosines = (0..shape[0]).flat_map(|row| (0..shape[1]).map(move |band| cosine(row, band, shape[1]) as f32));
        let cosines = Tensor::from_data(TensorData::new(cosines.collect::<Vec<_>>(), shape), device);
        Ok(Self { mel: config.mel.try_init(device)?, cosines, config: config.clone() })
    }

    or_panic! { forward<const D, const E> = try_forward(signal: Tensor<D>) -> Tensor<E> }

    /// Coefficients of each frame of `signal` `[.., samples]`: `[.., coefficients, frames]`, one dimension more.
    ///
    /// # Errors
    /// [`ArgumentError`] for rows of half a frame or less.
    pub fn try_forward<const D: usize, const E: usize>(&self, signal: Tensor<D>) -> Result<Tensor<E>> {
        Ok(times_columns(self.cosines.clone(), self.mel.try_forward::<D, E>(signal)?))
    }
}

impl Family for Mfcc {
    configured_by! { MfccConfig, "mfcc" }

    fn variants() -> Vec<Variant<MfccConfig>> {
        let torchaudio = LogMelConfig::new().with_hop(200).with_bands(128).with_unit(LogUnit::Decibel);
        let torchaudio = torchaudio.with_scale(MelScale::Htk).with_norm(MelNorm::None);
        let low_rate = LogMelConfig::new().with_sample_rate(8_000.0).with_n_fft(256).with_hop(80).with_bands(40);
        let low_rate = MfccConfig::new(low_rate.with_samples(8_000)).with_coefficients(20);
        let tiny = LogMelConfig::new().with_sample_rate(800.0).with_n_fft(40).with_hop(16).with_bands(4);
        let tiny = tiny.with_samples(100).with_learned(true);
        let phrase = "40 coefficients of 128 bands of 16 kHz, as torchaudio's defaults";
        vec![
            Variant::new("mfcc", phrase, MfccConfig::new(torchaudio)),
            Variant::new("mfcc_8khz", "20 coefficients of 40 bands of 8 kHz", low_rate),
            Variant::new("mfcc_tiny", "3 coefficients of 4 learned bands", MfccConfig::new(tiny).with_coefficients(3)),
        ]
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        Family::inputs(&self.mel, batch)
    }

    applied_to! { signal: Tensor<2> => Tensor<3>, "Mfcc" }
}
