//! Forms in which the models of the task take recordings.

use burn::tensor::{Int, Tensor};
use firefly_models::log_mel::standardised_spectrum;
use firefly_models::{ArgumentError, LogMel, LogMelConfig};

use super::ClassificationConfig;

/// Form of a model's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputForm {
    /// Samples, `[batch, samples]`.
    Samples,
    /// Groups of consecutive samples as channels, `[batch, patch, samples / patch]`.
    Steps {
        /// Samples of a group.
        patch: usize,
    },
    /// A token for each sample, `[batch, samples]`.
    Tokens {
        /// Number of different tokens.
        vocabulary: usize,
    },
    /// Log-mel spectra as square images, `[batch, 1, side, side]`: bands by frames.
    Image {
        /// Rows and columns.
        side: usize,
    },
}

impl InputForm {
    /// The form that the model of a run takes.
    pub fn of(config: &ClassificationConfig) -> Self {
        let setting = |key| config.model.count(key).unwrap_or(1);
        match config.model.family() {
            Some("long_conv" | "s4d" | "hyena") => Self::Steps { patch: config.data.patch },
            Some("fnet") => Self::Tokens { vocabulary: setting("vocabulary") },
            Some("gfnet" | "afno") => Self::Image { side: setting("image") },
            _ => Self::Samples,
        }
    }
}

/// Groups of `patch` consecutive samples of a signal `[batch, samples]` as channels, `[batch, patch, samples / patch]`.
pub(super) fn steps(signal: Tensor<2>, patch: usize) -> Tensor<3> {
    let [batch, samples] = signal.dims();
    signal.reshape([batch, samples / patch, patch]).swap_dims(1, 2)
}

/// Levels of samples among `levels`, from 0, after compression by the μ-law (ITU-T G.711) with μ = levels − 1. The
/// greatest magnitude of each row is the outermost level.
pub(super) fn tokens(signal: Tensor<2>, levels: usize) -> Tensor<2, Int> {
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
pub(super) fn image(signal: Tensor<2>, spectrum: &LogMel) -> Result<Tensor<4>, ArgumentError> {
    let bands = standardised_spectrum(spectrum.try_forward(signal)?);
    let [_, side, _] = bands.dims();
    Ok(bands.narrow(2, 0, side).unsqueeze_dim(1))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

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
